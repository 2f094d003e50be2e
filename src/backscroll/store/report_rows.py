"""The rows of reports, with names and types.

Times are in microseconds since 1970, money in nanodollars.
"""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from backscroll.records.tools import FILE_TOOLS
from backscroll.store.batches import EPOCH

UsageDimension = Literal["model", "project", "chat", "agent", "git-branch", "version", "machine"]
TimeUnit = Literal["quarter", "hour", "day"]
"""A quarter is one of an hour: in every time zone, days begin with one."""


class UsageSums(NamedTuple):
    """The totals of some answers."""

    messages: int = 0
    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0
    web_fetches: int = 0
    cost: int = 0
    unpriced: int = 0
    """The number of answers without a price."""
    placeholders: int = 0
    """The number of answers whose output is only a lower bound."""
    reported_cost: int = 0
    records: int = 0
    copies: int = 0
    """The number of other files that contain the answers again."""

    @property
    def tokens(self) -> int:
        """The sum of all tokens."""
        return self.input + self.output + self.cache_write + self.cache_read


class UsageByName(NamedTuple):
    """The usage of one model under a name: a project, a chat, a version…"""

    name: str | None
    model: str | None
    sums: UsageSums


class UsageByPeriod(NamedTuple):
    """The usage of one model in a period: its number since 1970, 0 for answers without a time."""

    period: int
    model: str | None
    sums: UsageSums


class UsageSpan(NamedTuple):
    """The first and the last quarter of an hour with an answer."""

    first: int
    last: int


class ReportedCosts(NamedTuple):
    """The costs that the client recorded, and the costs of the same answers by our prices."""

    answers: int
    reported: int
    cost: int
    unpriced: int


class UnrecordedUsage(NamedTuple):
    """The usage of one model in requests without a record of a chat, by the client's own totals."""

    model: str
    chat: str | None
    project: str | None
    input: int
    output: int
    cache_write: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    cost: int
    unpriced: bool
    """Whether some of it has no price."""

    @property
    def tokens(self) -> int:
        """The sum of all tokens."""
        return self.input + self.output + self.cache_write + self.cache_read


class AnswerRow(NamedTuple):
    """An answer that was counted."""

    message: str
    time: int | None
    model: str | None
    chat: str | None
    session: str | None
    agent: str | None
    input: int
    output: int
    cache_write: int
    cache_read: int
    cost: int | None
    is_final: bool
    records: int
    files: int
    path: str
    reported_cost: int | None


class ChatMoment(NamedTuple):
    """A row of a chat with its time. A row in several files occurs once for each."""

    chat: int
    uuid: str
    time: int | None
    kind: str
    model: str | None
    project: str | None
    is_abandoned: bool
    chat_id: str
    is_decision: bool
    """Whether the row is a result that waited for the user: a question, a plan, or a call that was denied."""
    text: str | None
    """The beginning of a prompt."""
    size: int | None
    """The number of characters of a prompt."""


class ToolCount(NamedTuple):
    """The number of calls of a tool, and of those that failed."""

    tool: str | None
    calls: int
    failed: int


class TurnStart(NamedTuple):
    """The first record of a turn."""

    file: int
    is_sidechain: bool
    number: int


class FileCallRow(NamedTuple):
    """A call of a tool that reads or changes a file."""

    call: str | None
    tool: str
    file: str
    time: int | None
    """The time of the result, or else of the call."""
    chat: str | None
    agent: str | None
    uuid: str | None
    source: str
    start: int
    length: int
    block: int
    state: str | None
    result_source: str | None
    result_start: int | None
    result_length: int | None
    result_uuid: str | None
    number: int
    is_abandoned: bool
    project: str | None
    machine: str
    """The machine of the file: the same path on another machine is another file."""

    @property
    def changes(self) -> bool:
        """Whether the tool changes files."""
        return self.tool in FILE_TOOLS

    @property
    def is_done(self) -> bool:
        """Whether the call succeeded."""
        return self.state == "done"

    @property
    def when(self) -> datetime | None:
        """The time as a datetime."""
        return moment_of(self.time)


class TypedPrompt(NamedTuple):
    """A prompt and its position."""

    source: str
    number: int
    time: int | None
    uuid: str
    text: str
    """The beginning of the text."""
    in_agent: bool
    chat: str | None = None
    agent: str | None = None
    """The agent that got the prompt, if it has a file of its own."""
    starts_turn: bool = True
    """Whether a turn begins with the prompt. A prompt typed while the model works is part of the turn that goes on."""


class RowTime(NamedTuple):
    """The time of a row, with each id that the row has."""

    uuid: str
    original: str
    """The row that this one is a copy of, or itself."""
    message: str | None
    time: int


class ContextPart(NamedTuple):
    """The number of passages of one kind in a chat, and their characters."""

    chat: str | None
    role: str
    tool: str | None
    is_agent: bool
    passages: int
    size: int
    unsized: int
    """The number of passages whose size the store does not know."""


class ContextPassage(NamedTuple):
    """A passage of a chat itself, without its agents."""

    source: str
    number: int
    time: int | None
    role: str
    tool: str | None
    size: int
    start: int
    length: int
    block: int
    is_unsized: bool


class UnsizedPassage(NamedTuple):
    """A passage whose size the store does not know."""

    chat: str | None
    source: str
    start: int
    length: int
    block: int


class ContextAnswer(NamedTuple):
    """An answer with the size of its context."""

    chat: str | None
    time: int | None
    model: str | None
    input: int
    cache_read: int
    cache_write: int
    output: int

    @property
    def context(self) -> int:
        """The tokens of the context."""
        return self.input + self.cache_read + self.cache_write


class CompactionPlace(NamedTuple):
    """The position of the record of a compaction."""

    chat: str | None
    time: int | None
    source: str
    start: int
    length: int


class TurnPassage(NamedTuple):
    """A passage that a turn begins or ends with, and the passage whose turn it is."""

    block: int
    """The passage whose turn it is."""
    which: Literal["prompt", "conclusion"]
    start: int
    length: int
    number: int
    role: str
    uuid: str | None


class FollowingStep(NamedTuple):
    """A call, result or answer after a result; or the call of that result."""

    start: int
    length: int
    number: int
    role: str
    uuid: str | None
    tool: str | None
    target: str | None
    """The file that the step reads or changes, if its tool works on files."""
    call: str | None
    state: str | None
    """For a result, the state in which the call ended."""
    signature: str | None
    time: int | None
    is_before: bool
    """Whether the step is the call of the result."""


def moment_of(time: int | None) -> datetime | None:
    """Return a time of the store as a datetime."""
    return EPOCH + timedelta(microseconds=time) if time is not None else None
