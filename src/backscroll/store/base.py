"""The interface of every store.

A store holds what was derived from the transcripts. It can be deleted and rebuilt at any time, so it is never the only
copy of anything; it holds the positions of texts, not the texts themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self

from backscroll.conversation.overview import Overview
from backscroll.conversation.passages import Role
from backscroll.conversation.transcripts import Transcript
from backscroll.errors import BackscrollError
from backscroll.query.tree import Query
from backscroll.store.batches import Batch, ChatKeys
from backscroll.store.prices import AnswerPrice
from backscroll.store.report_rows import FollowingStep, TurnPassage
from backscroll.store.reports import Reports


class DamagedStoreError(BackscrollError):
    """The store is damaged. Nothing is lost: it can be rebuilt."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the index is damaged: {reason}", "make it anew with backscroll update --rebuild")


class IndexedFile(NamedTuple):
    """A file that the store has read: how far, and its state then."""

    id: int
    source: str
    """What identifies it, on any machine: an opaque text."""
    machine: str
    home: str
    path: str
    """Where it lies on its machine, for people to read."""
    kind: str
    size: int
    archived: bool
    """Whether it was deleted from its home and only the archive has it."""
    bookmark: tuple[int, ...] | None
    lines: int
    """Number of lines read."""
    modified: int
    """Its modification time then, in nanoseconds."""


class PendingPassage(NamedTuple):
    """The position of a passage, and what the text index needs to know about it."""

    block: int
    role: Role
    source: str
    start: int
    length: int
    number: int
    file: int
    time: int | None
    tool: str | None
    is_error: bool
    is_agent: bool
    title: str | None
    """For a title, the text itself: it has no single position."""


class PassageText(NamedTuple):
    """A passage with its text."""

    spot: PendingPassage
    text: str


class Scope(NamedTuple):
    """What a query depends on besides the store: live sessions, tags, homes."""

    live: frozenset[str] = frozenset()
    """Sessions that a client has open now."""
    pinned: frozenset[str] = frozenset()
    tagged: Mapping[str, frozenset[str]] = {}
    """Sessions by the tags that the user gave their chats."""
    homes: tuple[tuple[str, str], ...] = ()
    """The homes to search, each with its machine; empty for all."""


class StoredChat(NamedTuple):
    """A chat as the store has it."""

    key: int
    overview: Overview
    archived: bool
    tokens: int = 0
    cost: int | None = None
    """In nanodollars; None if no price is known."""
    machines: tuple[str, ...] = ()
    """The machines that have a part of it."""


class Hit(NamedTuple):
    """A passage that matches."""

    chat: int
    source: str
    """The file that it stands in."""
    path: str
    """Where that lies on its machine, for people to read."""
    machine: str
    session: str | None
    agent: str | None
    uuid: str | None
    message: str | None
    block: int
    number: int
    role: Role
    kind: str
    time: int | None
    tool: str | None
    is_error: bool
    is_abandoned: bool
    start: int
    length: int
    score: float
    title: str | None


class ChatHits(NamedTuple):
    """The matches in one chat."""

    chat: StoredChat
    found: int
    """Number of passages; a lower bound if the query has to be checked text by text."""
    score: float
    words: int
    """How many of the query's words are in the chat."""
    hits: list[Hit]


class SearchPage(NamedTuple):
    """One page of results."""

    chats: list[ChatHits]
    total_chats: int
    total: int
    """Number of passages."""


class ChatShape(NamedTuple):
    """A chat without its records, read in one transaction."""

    files: list[tuple[IndexedFile, Transcript]]
    titles: dict[str, dict[str, str]]
    """The titles of its rows, by row and by the file that has the title."""


class AnswerCost(NamedTuple):
    """The usage of an answer."""

    context: int
    """The tokens in its context."""
    output: int
    cost: int | None
    """In nanodollars; None where no price is known."""


class StoredMessage(NamedTuple):
    """A message that is cited."""

    uuid: str
    kind: str
    time: int | None
    """In microseconds."""
    agent: str | None


class SqlView(NamedTuple):
    """A view that users can query."""

    name: str
    columns: list[str]


class Totals(NamedTuple):
    """How much the store holds."""

    chats: int
    messages: int


class PendingCounts(NamedTuple):
    """How much is read but not yet searchable, by kind."""

    passages: int
    roles: tuple[str, ...]


class Store(Protocol):
    """Everything derived from the transcripts. One process writes; readers never wait. Use an open store in one thread
    at a time.
    """

    # Opening and closing

    @property
    def exists(self) -> bool:
        """Whether there is a store that this version of backscroll can read."""

    def start_writing(self) -> Self:
        """Start writing; Busy if another process writes. Creates the store if there is none.

        Raises DamagedStoreError if the existing store cannot be used; `rebuilding` then creates another.
        """

    def rebuilding(self) -> AbstractContextManager[None]:
        """Write a new store in this context; readers use the old one until it is complete."""

    def remove_superseded(self) -> None:
        """Remove leftovers of earlier versions of backscroll, now that this store is complete."""

    def renew(self) -> None:
        """Switch to a store that replaced this one since it was opened, for long-lived readers."""

    def clone(self) -> Self:
        """The same store opened once more, for another thread."""

    def close(self) -> None:
        """Close it; it opens again when it is next used."""

    def discard(self) -> None:
        """Close it and delete everything in it."""

    def take_notices(self) -> list[str]:
        """New notices for the user: that the store was rebuilt, and why."""

    def problems(self) -> list[str]:
        """The problems of the store; empty if it is intact. Reads all of it. NothingFound if there is none yet."""

    def size(self) -> int:
        """Its size in bytes."""

    # Writing

    def indexed_files(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """The files that were read, by id: all of them, or those among `sources`."""

    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing. Returns the ids of its new files, by their numbers in the batch.

        No id is used twice, even after rows were deleted.
        """

    def related_chats(self, keys: ChatKeys) -> set[int]:
        """The chats that share a key with these."""

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """The chats that these files are part of."""

    def load_transcripts(self, chats: Iterable[int]) -> list[tuple[int, Transcript]]:
        """The saved transcripts of these chats, by file."""

    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """The titles of these rows, by row and by the file that has the title."""

    def chats_titled_by(self, file: int) -> set[int]:
        """The chats of the rows that a file has titles for."""

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """The titles of the rows of these files, by row and by the file that has the title."""

    def next_passages(self, limit: int) -> list[PendingPassage]:
        """The passages to index next, the most useful first; empty if there are none."""

    def index(self, documents: Sequence[PassageText]) -> None:
        """Index passages, in the order of `next_passages`."""

    def read_again(self, sources: Iterable[str]) -> None:
        """Make the next update read these files from the start."""

    def flush(self) -> None:
        """Make indexed passages visible to searches and deleted ones invisible. Free if there are neither."""

    def use_prices(self, price: AnswerPrice, fingerprint: str) -> None:
        """Use these prices; recompute costs if the prices have another fingerprint."""

    def note(self, name: str, value: str) -> None:
        """Remember something about what was read."""

    def noted(self, name: str) -> str | None:
        """The remembered value."""

    # Reading

    def pending(self) -> PendingCounts:
        """What is not searchable yet."""

    def search(self, query: Query, scope: Scope, *, sort: str, limit: int, offset: int, hits: int) -> SearchPage:
        """The chats that match a query, with their best passages."""

    def chats(
        self, query: Query | None, scope: Scope, *, sort: str, limit: int | None, offset: int
    ) -> list[StoredChat]:
        """The chats that match the fields of a query and have its words in their titles."""

    def passages(self, query: Query, scope: Scope, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may match a query, one by one; the caller checks regular expressions."""

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """The chats with these ids."""

    def reports(
        self, query: Query | None, scope: Scope, *, since: int | None = None, until: int | None = None
    ) -> Reports:
        """The data for reports, for the chats that match a query and a period in microseconds."""

    def similar(self, word: str) -> list[str]:
        """Indexed words similar to one that is not indexed."""

    def find(self, name: str, scope: Scope) -> list[StoredChat]:
        """Chats whose id (or a session, message or agent id in them) starts with `prefix`."""

    def homes(self) -> set[tuple[str, str]]:
        """The homes that the store has files of, each with its machine."""

    def sources(self, chat: int) -> list[str]:
        """The files of a chat."""

    def chat_shape(self, chat: int) -> ChatShape | None:
        """A chat without its records, read in one transaction; None if there is no such chat."""

    def record_positions(self, source: str, numbers: Iterable[int]) -> dict[int, tuple[int, int]]:
        """The offset and length of records of a file, by their numbers."""

    def outside_positions(self, source: str, number: int) -> list[tuple[int, int]]:
        """The positions of records that are not rows, before a number in the same file, the nearest first."""

    def chat_ids(self, sources: Iterable[str]) -> dict[str, str]:
        """The ids of the chats that these files are part of, by file."""

    def answer_costs(self, messages: Iterable[str]) -> dict[str, AnswerCost]:
        """The usage of these answers; unknown ones are left out."""

    def messages_named(self, chat: int, name: str) -> list[StoredMessage]:
        """The messages of a chat with this id, otherwise those whose id starts with it; at most two."""

    def totals(self) -> Totals:
        """The number of chats and messages."""

    def failed_calls(self, chat: int) -> set[str]:
        """The calls of a chat that ended in an error."""

    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """The prompt and the last answer of the turns that contain these passages, unless they are the passages
        themselves.
        """

    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """The call of a result, and all calls, results and answers after it, up to the next prompt."""

    # SQL statements

    @property
    def dialect(self) -> str:
        """The SQL that `sql` understands, as a user would name it: `SQLite`."""

    def sql(self, statement: str, limit: int, seconds: float) -> "Table":
        """Run a read-only statement."""

    def views(self) -> list[SqlView]:
        """The documented views, by name."""


class Table(NamedTuple):
    """The result of a statement."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool
