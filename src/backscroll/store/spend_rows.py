"""The rows that reports about spending are made of. Times are in microseconds since 1970, money in nanodollars."""

from typing import NamedTuple


class SpentAnswer(NamedTuple):
    """An answer with its cost, and what came before it in the same conversation."""

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
    """The agent that wrote it; `inline` if its file holds the main conversation too; None for the main conversation."""
    gap: int | None
    """Time since the previous answer; None for the first."""
    model_before: str | None
    """The model of the previous answer, if it is another one."""
    context_before: int | None
    """The tokens of the previous answer's context."""

    @property
    def context(self) -> int:
        """The tokens of its context."""
        return self.input + self.cache_read + self.cache_write


class AnswerTool(NamedTuple):
    """How often an answer calls a tool."""

    message: str
    tool: str | None
    calls: int
