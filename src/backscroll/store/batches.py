"""A batch of writes: rows as plain columns, and the current state of chats."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.conversation.overview import Overview


class FileColumns(NamedTuple):
    """A file and the progress of reading it."""

    id: int
    source: str
    """The id of the file: an opaque string."""
    machine: str
    home: str
    path: str
    """The path on its machine, for display."""
    kind: str
    session: str | None
    agent: str | None
    project: str | None
    first_typed: str
    started: int | None
    last_active: int | None
    size: int
    archived: bool
    bookmark: str | None
    state: bytes | None
    lines: int = 0
    modified: int = 0
    has_image: bool = False
    has_thinking: bool = False
    has_diff: bool = False


ROW_BEFORE: Final = ""


class RecordColumns(NamedTuple):
    """A record and its position in its file. Times are in microseconds since 1970."""

    id: int
    file: int
    number: int
    start: int
    length: int
    uuid: str | None
    parent: str | None
    """The row that this one answers; `ROW_BEFORE` if that is the row just before it in the file, as nearly always."""
    kind: str
    time: int | None
    is_sidechain: bool
    message: str | None
    model: str | None
    text: str | None
    forked_session: str | None
    forked_uuid: str | None


class BlockColumns(NamedTuple):
    """A passage of a record; for calls and results, also their details."""

    id: int
    record: int
    number: int
    role: str
    call: str | None = None
    tool: str | None = None
    file: str | None = None
    detail: str | None = None
    state: str | None = None
    """The state in which the call of a result ended; see `conversation.CallState`."""
    size: int | None = None
    """Characters of text; for a call, bytes of its input."""
    digest: int | None = None
    """For a call, a checksum that distinguishes its input from others."""
    has_image: bool = False


class UsageColumns(NamedTuple):
    """The token counts of a record."""

    record: int
    message: str
    """The key that counts once: the message, otherwise the row."""
    model: str | None
    agent: bool
    """Whether a sub-agent wrote the record, in any file."""
    input: int
    output: int
    cache_write: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    web_fetches: int
    tier: str | None
    speed: str | None
    geo: str | None
    is_final: bool
    """Whether the client knew the end of the answer; if not, the output count is a placeholder."""
    reported_cost: float | None
    version: str | None
    git_branch: str | None


class ClientTotalColumns(NamedTuple):
    """The client's total for a model since its counter began, from one record of a session."""

    file: int
    number: int
    started: int
    """The time when the counter began."""
    model: str
    input: int
    output: int
    cache_write: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    cost: int
    """The cost in nanodollars, by the client's prices."""


class ProblemColumns(NamedTuple):
    """Bytes of a file that are not a record."""

    file: int
    line: int
    start: int
    kind: str
    detail: str


class ChatKeys(NamedTuple):
    """Keys that transcripts can share: any shared key makes them one chat."""

    rows: set[str]
    """The rows of the transcript, their parents, the rows they are copies of, and the rows it has titles for."""
    sessions: set[str]
    messages: dict[str, set[str]]
    """The answers of the transcript, by how the session began."""


@dataclass
class ChatChange:
    """The current state of a chat."""

    overview: Overview
    files: list[int]
    abandoned: set[tuple[int, int]]
    """The abandoned records, by file and number."""
    originals: dict[tuple[int, int], str] = field(default_factory=dict)
    """For records that are copies under another uuid, by file and number: the original row."""
    is_silent: bool = False
    """Whether the chat has no messages."""


@dataclass
class Batch:
    """Rows and chats that are written at once.

    A batch numbers its new rows by itself: files -1, -2, …, records and passages by their places in its lists. The
    store gives them ids when it writes the batch, so that no writer has to know which ids are taken.
    """

    new_files: int = 0
    emptied: list[int] = field(default_factory=list)
    """Files whose records were replaced."""
    removed: list[int] = field(default_factory=list)
    """Files to remove."""
    archived: list[int] = field(default_factory=list)
    """Files that were deleted from their home and are only in the archive."""
    files: list[FileColumns] = field(default_factory=list)
    records: list[RecordColumns] = field(default_factory=list)
    blocks: list[BlockColumns] = field(default_factory=list)
    usage: list[UsageColumns] = field(default_factory=list)
    client_totals: list[ClientTotalColumns] = field(default_factory=list)
    problems: list[ProblemColumns] = field(default_factory=list)
    links: list[tuple[str, int]] = field(default_factory=list)
    """Keys of a file that are not the uuid of any of its records."""
    titles: list[tuple[str, int, str]] = field(default_factory=list)
    """Titles of rows of any file: row, file with the title, title."""
    withdrawn: list[tuple[int, str]] = field(default_factory=list)
    """Records that replaced others, by file and uuid, until those were written."""
    replaced: list[tuple[int, str, int]] = field(default_factory=list)
    """Records that were written again in their file: file, uuid, and the number of the record that counts."""
    stale_chats: set[int] = field(default_factory=set)
    """Chats that may have changed; those that are not in `chats` are gone."""
    chats: list[ChatChange] = field(default_factory=list)
    overdue: list[int] = field(default_factory=list)
    """A file of each chat whose written overview is out of date."""
    last_row: tuple[int, str | None] = (0, None)
    """The row that was added last: its file and uuid."""

    def new_file(self) -> int:
        """Return the number of another new file; no id of a store is negative."""
        self.new_files += 1
        return -self.new_files


def storable(text: str) -> str:
    """Return the text with lone surrogates, which no engine accepts, as unused characters; `readable` undoes it."""
    return SURROGATES.sub(lambda match: chr(ord(match[0]) + MOVED), text)


def readable(text: str) -> str:
    """Return the text as it was before `storable`."""
    return text if text.isascii() else MOVED_SURROGATES.sub(lambda match: chr(ord(match[0]) - MOVED), text)


def microseconds(when: datetime | None) -> int | None:
    """Return a time as an exact integer, in microseconds since 1970."""
    if when is None:
        return None
    since = when - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
MOVED = 0x100000
SURROGATES = re.compile("[\ud800-\udfff]")
MOVED_SURROGATES = re.compile("[\U0010d800-\U0010dfff]")
