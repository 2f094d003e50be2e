"""The rows of reports about spending. Times are in microseconds since 1970, money in nanodollars."""

from typing import NamedTuple


class SpentAnswer(NamedTuple):
    """An answer with its cost, and the state before it in the same conversation."""

    message: str
    time: int | None
    model: str | None
    input: int
    output: int
    cache_write: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    tier: str | None
    speed: str | None
    geo: str | None
    cost: int | None
    chat: str | None
    project: str | None
    agent: str | None
    """The agent that wrote the answer; `inline` if its file also has the main conversation; None for that itself."""
    gap: int | None
    """The time since the previous answer; None for the first."""
    model_before: str | None
    """The model of the previous answer, if it differs."""
    context_before: int | None
    """The tokens of the previous answer's context."""
    is_final: bool = True
    """Whether the final output count is known; if not, output and cost are lower bounds."""
    begun: int | None = None
    """The start of the answer's part of the conversation: for an agent the start of its file, else its own time."""

    @property
    def context(self) -> int:
        """The tokens of the context."""
        return self.input + self.cache_read + self.cache_write


class AnswerTool(NamedTuple):
    """The number of calls of a tool in an answer."""

    message: str
    tool: str | None
    calls: int
