"""What is written to a store at once: rows as plain columns, and chats as they are now."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from backscroll.conversation import Overview


class FileColumns(NamedTuple):
    """A file, with how far it was read."""

    id: int
    path: str
    home: str
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


class RecordColumns(NamedTuple):
    """A record, and where it stands in its file. Times are in microseconds since 1970."""

    id: int
    file: int
    number: int
    start: int
    length: int
    uuid: str | None
    parent: str | None
    kind: str
    time: int | None
    is_sidechain: bool
    message: str | None
    model: str | None
    text: str | None
    forked_session: str | None
    forked_uuid: str | None


class BlockColumns(NamedTuple):
    """A passage of a record; of a call and its result also what they are."""

    id: int
    record: int
    number: int
    role: str
    call: str | None = None
    tool: str | None = None
    file: str | None = None
    detail: str | None = None
    state: str | None = None
    """Of a result, how its call ended; see `conversation.State`."""
    size: int | None = None
    """Characters of text; of a call, bytes of its input."""
    digest: int | None = None
    """Of a call, what tells its input from others."""


class UsageColumns(NamedTuple):
    """The tokens that a record tells of."""

    record: int
    message: str
    """What is counted once: the message, else the row."""
    model: str | None
    agent: bool
    """Whether a sub-agent said it, wherever it stands."""
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
    """Whether the client had learned how the answer ended; else the output is a placeholder."""
    reported_cost: float | None
    version: str | None
    git_branch: str | None


class ProblemColumns(NamedTuple):
    """Bytes of a file that are no record."""

    file: int
    line: int
    start: int
    kind: str
    detail: str


class Keys(NamedTuple):
    """What a transcript may share with others: by any of these they are one chat."""

    rows: set[str]
    """Its rows, what they hang on, what they are copies of, and the rows that it gives titles to."""
    sessions: set[str]
    messages: dict[str, set[str]]
    """Its answers, by how the session began."""


@dataclass
class ChatChange:
    """A chat as it is now."""

    overview: Overview
    files: list[int]
    abandoned: set[tuple[int, int]]
    """The records that the user took back, by file and number."""
    originals: dict[tuple[int, int], str] = field(default_factory=dict)
    """Of records that are copies under another uuid, by file and number, the row that they are copies of."""
    is_silent: bool = False
    """Whether nobody said anything in it."""


@dataclass
class Batch:
    """What is written at once. Ids are given here, from where the store's own end."""

    next_file: int
    next_record: int
    next_block: int
    emptied: list[int] = field(default_factory=list)
    """Files whose records do not stand there any more."""
    removed: list[int] = field(default_factory=list)
    """Files that do not count any more."""
    archived: list[int] = field(default_factory=list)
    """Files that are only in the archive any more."""
    files: list[FileColumns] = field(default_factory=list)
    records: list[RecordColumns] = field(default_factory=list)
    blocks: list[BlockColumns] = field(default_factory=list)
    usage: list[UsageColumns] = field(default_factory=list)
    problems: list[ProblemColumns] = field(default_factory=list)
    links: list[tuple[str, int]] = field(default_factory=list)
    """What a file may be found by though no record of it has it as its uuid."""
    titles: list[tuple[str, int, str]] = field(default_factory=list)
    """Titles that rows of any file were given: row, the file that says so, title."""
    withdrawn: list[tuple[int, str]] = field(default_factory=list)
    """Records that stood for others, by file and uuid, until those were written."""
    stale_chats: set[int] = field(default_factory=set)
    """Chats that may not be what they were; those that are not among `chats` again are gone."""
    chats: list[ChatChange] = field(default_factory=list)
    overdue: list[int] = field(default_factory=list)
    """A file of each chat that has more in it than what is written of it says."""

    def new_file(self) -> int:
        """The id of one more file."""
        self.next_file += 1
        return self.next_file - 1


def storable(text: str) -> str:
    """The text with its lone surrogates, which no engine takes, moved where nobody writes; `readable` undoes it."""
    return SURROGATES.sub(lambda found: chr(ord(found[0]) + MOVED), text)


def readable(text: str) -> str:
    """The text as it was before `storable`."""
    return text if text.isascii() else MOVED_SURROGATES.sub(lambda found: chr(ord(found[0]) - MOVED), text)


def microseconds(when: datetime | None) -> int | None:
    """A moment as a number that loses nothing."""
    if when is None:
        return None
    since = when - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
MOVED = 0x100000
SURROGATES = re.compile("[\ud800-\udfff]")
MOVED_SURROGATES = re.compile("[\U0010d800-\U0010dfff]")
