"""What a store is asked and told: the one interface that every store has.

A store holds what was derived from the transcripts. It can always be thrown away and made again, so it never is the
only place of anything; the texts themselves are not in it, only where they stand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self

from backscroll.conversation import Overview, Role, Transcript
from backscroll.errors import BackscrollError
from backscroll.query import Query
from backscroll.store.batches import Batch, Keys
from backscroll.store.prices import AnswerPrice
from backscroll.store.report_rows import FollowingStep, TurnPassage
from backscroll.store.reports import Reports


class DamagedStoreError(BackscrollError):
    """The store cannot be read. Nothing is lost by that."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the index is damaged: {reason}", "make it anew with backscroll update --rebuild")


class IndexedFile(NamedTuple):
    """A file that the store has read: how far, and what it looked like."""

    id: int
    path: str
    kind: str
    size: int
    archived: bool
    """Whether it is only in the archive any more."""
    bookmark: tuple[int, ...] | None
    lines: int
    """How many lines were read."""
    modified: int
    """When it had last been written then, in nanoseconds."""


class PendingPassage(NamedTuple):
    """Where a passage stands, and what the text index has to know of it."""

    block: int
    role: Role
    path: str
    start: int
    length: int
    number: int
    file: int
    time: int | None
    tool: str | None
    is_error: bool
    is_agent: bool
    title: str | None
    """Of a title, the text itself: it stands in no one place."""


class PassageText(NamedTuple):
    """A passage with its text, to be found by."""

    spot: PendingPassage
    text: str


class Scope(NamedTuple):
    """What only the moment of asking knows."""

    live: frozenset[str] = frozenset()
    """Sessions that a client has open."""
    pinned: frozenset[str] = frozenset()
    tagged: Mapping[str, frozenset[str]] = {}
    """Sessions by the tags that the user put on their chats here."""
    homes: tuple[str, ...] = ()
    """The homes that are asked about; none for all."""


class StoredChat(NamedTuple):
    """A chat as the store has it."""

    key: int
    overview: Overview
    archived: bool
    tokens: int = 0
    cost: int | None = None
    """In nanodollars; None where no price is known."""


class Hit(NamedTuple):
    """A passage that was found."""

    chat: int
    path: str
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
    """What was found in one chat."""

    chat: StoredChat
    found: int
    """How many passages; a lower bound where the query is one that has to be looked up text by text."""
    score: float
    words: int
    """How many of the words are in the chat."""
    hits: list[Hit]


class SearchPage(NamedTuple):
    """One page of what was found."""

    chats: list[ChatHits]
    total_chats: int
    total: int
    """How many passages."""


class ChatShape(NamedTuple):
    """A chat without its records, as it was at one moment."""

    files: list[tuple[IndexedFile, Transcript]]
    titles: dict[str, dict[str, str]]
    """The titles that its rows were given, by row and by the path of who gives it."""


class AnswerCost(NamedTuple):
    """What an answer took."""

    context: int
    """The tokens that it had before it."""
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
    """A view that statements are about."""

    name: str
    columns: list[str]


class Totals(NamedTuple):
    """How much there is."""

    chats: int
    messages: int


class Pending(NamedTuple):
    """How much is read and not yet to be found, by what it is."""

    passages: int
    roles: tuple[str, ...]


class Store(Protocol):
    """Everything that is derived. One process writes; readers never wait. An open store is for one thread at a time."""

    # Opening and closing

    @property
    def exists(self) -> bool:
        """Whether there is something to read, made by this version of backscroll."""

    def start_writing(self) -> Self:
        """Become the one who writes; Busy if another process is. Where there is no store to go on with, make one.

        Raises DamagedStoreError where there is one that cannot be used; `rebuilding` then makes another.
        """

    def rebuilding(self) -> AbstractContextManager[None]:
        """Write a new store inside; readers have the old one until it is complete, and then the new one."""

    def remove_superseded(self) -> None:
        """Remove what earlier versions of backscroll left here, now that this store is complete."""

    def renew(self) -> None:
        """See a store that took the place of this one since it was opened. For a reader that stays open for long."""

    def clone(self) -> Self:
        """The same store opened once more, for another thread."""

    def close(self) -> None:
        """Close it; it opens again when it is next used."""

    def discard(self) -> None:
        """Close it and delete all of it."""

    def take_notices(self) -> list[str]:
        """What the user should know since this was last asked: that the store was made again, and why."""

    def problems(self) -> list[str]:
        """What is wrong with it; empty if it is sound. Reads all of it. Raises NothingFound if there is none yet."""

    def size(self) -> int:
        """How many bytes it takes up."""

    # Writing

    def known(self) -> dict[str, IndexedFile]:
        """Every file that was read, by its path."""

    def known_at(self, paths: Iterable[str]) -> dict[str, IndexedFile]:
        """Those of these files that were read."""

    def begin(self) -> Batch:
        """A batch to fill."""

    def write(self, batch: Batch) -> None:
        """Write all of it, or nothing."""

    def related(self, keys: Keys) -> set[int]:
        """The chats that share something with these keys."""

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """The chats that these files are part of."""

    def load(self, chats: Iterable[int]) -> list[tuple[int, Transcript]]:
        """The transcripts of these chats as they were saved, by file."""

    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """The titles that these rows were given, by row and by the path of who gives it."""

    def titled_by(self, file: int) -> set[int]:
        """The chats of rows that a file gives titles to."""

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """The titles that rows of these files were given, by row and by the path of who gives it."""

    def waiting(self, limit: int) -> list[PendingPassage]:
        """The passages that are to be made findable next, the worthiest first; none if there are no more."""

    def index(self, documents: Sequence[PassageText]) -> None:
        """Make passages findable, in the order of `waiting`."""

    def read_again(self, paths: Iterable[str]) -> None:
        """Have these files read from their beginning by the next update."""

    def flush(self) -> None:
        """Let searches see what was indexed, and no longer what was deleted. Costs nothing if there is neither."""

    def use_prices(self, price: AnswerPrice, fingerprint: str) -> None:
        """Count costs with these prices; what was counted with prices of another fingerprint is counted again."""

    def note(self, name: str, value: str) -> None:
        """Remember something about what was read."""

    def noted(self, name: str) -> str | None:
        """What was remembered."""

    # Reading

    def pending(self) -> Pending:
        """What is not findable yet."""

    def search(self, query: Query, scope: Scope, *, sort: str, limit: int, offset: int, hits: int) -> SearchPage:
        """The chats that answer a query, with their best passages."""

    def chats(
        self, query: Query | None, scope: Scope, *, sort: str, limit: int | None, offset: int
    ) -> list[StoredChat]:
        """The chats that the fields of a query accept; its words are looked for in titles."""

    def passages(self, query: Query, scope: Scope, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may answer a query, one by one; regular expressions are left to the caller."""

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """These chats."""

    def reports(
        self, query: Query | None, scope: Scope, *, since: int | None = None, until: int | None = None
    ) -> Reports:
        """What reports are made of, about the chats that a query accepts, and a time in microseconds."""

    def similar(self, word: str) -> list[str]:
        """Words that are there and look like one that is not."""

    def find(self, name: str, scope: Scope) -> list[StoredChat]:
        """The chats that this is the beginning of the id of, or of a session, message or agent in them."""

    def homes(self) -> set[str]:
        """The homes that it has files of."""

    def paths(self, chat: int) -> list[tuple[str, bool]]:
        """The files of a chat, each with whether it is only in the archive."""

    def shape(self, chat: int) -> ChatShape | None:
        """A chat without its records, all of it as it was at one moment; None if there is no such chat."""

    def places(self, path: str, numbers: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Where records of a file stand, by their numbers: where each begins, and how long it is."""

    def outside_before(self, path: str, number: int) -> list[tuple[int, int]]:
        """Where records that are no rows stand, those before a number in the same file, the nearest first."""

    def chats_at(self, paths: Iterable[str]) -> dict[str, str]:
        """The ids of the chats that these files are part of, by path."""

    def answers(self, messages: Iterable[str]) -> dict[str, AnswerCost]:
        """What these answers took; those that nothing is known of are left out."""

    def messages_named(self, chat: int, name: str) -> list[StoredMessage]:
        """The messages of a chat whose id is this, or else starts with it; two at most."""

    def totals(self) -> Totals:
        """How many chats there are, with how many messages."""

    def failed(self, chat: int) -> set[str]:
        """The calls of a chat that ended in an error."""

    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """The prompt and the last answer of the turns that these passages stand in, where they are not those."""

    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """The call of a result, and what was called, returned and answered after it, until the next prompt."""

    # Statements of the user

    @property
    def dialect(self) -> str:
        """The SQL that `sql` understands, as a user would name it: `SQLite`."""

    def sql(self, statement: str, limit: int, seconds: float) -> "Table":
        """Run a statement that only reads."""

    def views(self) -> list[SqlView]:
        """The documented views that statements are about, by name."""


class Table(NamedTuple):
    """The answer to a statement."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool
