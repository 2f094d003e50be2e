"""Rows of tool calls, for reports. Times are in microseconds since 1970."""

from typing import Literal, NamedTuple

ToolCallDimension = Literal["tool", "project", "model"]


class CallStep(NamedTuple):
    """A call in its thread, with its state."""

    id: int
    file: int
    sidechain: int
    """1 in the part of a file that repeats an agent."""
    time: int | None
    tool: str | None
    state: str | None
    """The state in which the call ended; None without a result."""
    signature: str | None
    """The signature of an error."""
    copies: int

    @property
    def name(self) -> str:
        """The name of the tool; `-` if there is none."""
        return self.tool or "-"


class CallPlace(NamedTuple):
    """The position of a call, and the file that it is about."""

    id: int
    source: str
    start: int
    length: int
    block: int
    tool: str | None
    target: str | None
    """The file that the call reads or changes, if its tool works on files."""


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
    """The number of further copies of the calls."""
    input: int
    output: int
    took: list[int | None]
    """The duration of each call in microseconds; None if a time is missing."""


class ToolCallRow(NamedTuple):
    """A call with its result."""

    id: int
    """The id of the call's passage; in a file, later calls have higher ids."""
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
    """The file that the call reads or changes, if its tool works on files."""
    size: int | None
    digest: int | None
    copies: int
    state: str | None
    """The state in which the call ended; None without a result."""
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
        """The name of the tool; `-` if there is none."""
        return self.tool or "-"

    @property
    def took(self) -> int | None:
        """The duration in microseconds."""
        return None if self.time is None or self.result_time is None else self.result_time - self.time

    @property
    def thread(self) -> tuple[int, str | None, bool]:
        """The conversation that the call is a step of: that of the chat, or of one agent."""
        return (self.chat, self.agent, self.is_sidechain)
