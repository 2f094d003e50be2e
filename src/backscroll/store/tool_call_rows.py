"""Tool calls as reports need them. Times are in microseconds since 1970."""

from typing import Literal, NamedTuple

ToolCallDimension = Literal["tool", "project", "model"]


class CallStep(NamedTuple):
    """A call in its thread, and how it ended."""

    id: int
    file: int
    sidechain: int
    """1 in what a file repeats of an agent."""
    time: int | None
    tool: str | None
    state: str | None
    """None where there is no result."""
    signature: str | None
    """Of an error."""
    copies: int

    @property
    def name(self) -> str:
        """The tool."""
        return self.tool or "-"


class CallPlace(NamedTuple):
    """Where a call stands, and what it is about."""

    id: int
    source: str
    start: int
    length: int
    block: int
    tool: str | None
    target: str | None
    """The file that it reads or changes, where the tool is one of those that do."""


class CallThread(NamedTuple):
    """The calls of one conversation: that of a chat, or of one agent."""

    chat: int
    steps: list[CallStep]


class CallSums(NamedTuple):
    """Calls of one name that ended in the same way."""

    name: str | None
    """The tool, the project or the model."""
    state: str | None
    calls: int
    copies: int
    """How often they stand again elsewhere."""
    input: int
    output: int
    took: list[int | None]
    """How long each took, in microseconds; None where a time is missing."""


class ToolCallRow(NamedTuple):
    """A call with its result."""

    id: int
    """Of its passage; in a file, later calls have higher ones."""
    file: int
    is_sidechain: bool
    number: int
    block: int
    chat: int
    chat_id: str | None
    session: str | None
    agent: str | None
    project: str | None
    started: int | None
    source: str
    start: int
    length: int
    time: int | None
    uuid: str | None
    model: str | None
    tool: str | None
    target: str | None
    """The file that it reads or changes, where the tool is one of those that do."""
    size: int | None
    digest: int | None
    copies: int
    state: str | None
    """None where there is no result."""
    result_size: int | None
    signature: str | None
    result_block: int | None
    result_time: int | None
    result_uuid: str | None
    result_start: int | None
    result_length: int | None
    result_source: str | None

    @property
    def name(self) -> str:
        """The tool."""
        return self.tool or "-"

    @property
    def took(self) -> int | None:
        """How long it took, in microseconds."""
        return None if self.time is None or self.result_time is None else self.result_time - self.time

    @property
    def thread(self) -> tuple[int, str | None, bool]:
        """The conversation that it is a step of: that of the chat, or of one agent."""
        return (self.chat, self.agent, self.is_sidechain)
