"""The queries of a store, and who may see what.

Every question goes through a `StoreReader`, and a reader comes from `Store.within`, which takes what the asker may see:
no question can be asked without saying so.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from backscroll.conversation.overview import Overview
from backscroll.conversation.passages import Role

if TYPE_CHECKING:
    from backscroll.conversation.transcripts import Transcript
    from backscroll.query.tree import Query
    from backscroll.store.report_rows import FollowingStep, TurnPassage
    from backscroll.store.reports import Reports


class Scope(NamedTuple):
    """What the caller may see, and what `is:live`, `is:pinned` and `tag:` mean in its queries."""

    homes: frozenset[tuple[str, str]] | None
    """The homes whose files are visible, each with its machine; None for all of them. It has no default: the caller
    must decide.
    """
    live: Set[str] = frozenset()
    """Sessions that are being written now."""
    pinned: frozenset[str] = frozenset()
    tagged: Mapping[str, frozenset[str]] = {}
    """Sessions by the tags that the user gave their chats."""
    sources: frozenset[str] = frozenset()
    """Files that are visible besides those of the homes, by their ids: what others shared with the asker."""


EVERYTHING: Final = Scope(homes=None)
"""The scope of the indexer, and of the owner of the whole store."""


class IndexedFile(NamedTuple):
    """A file that the store has read: how far, and its state then."""

    id: int
    source: str
    """Its id, unique across machines: an opaque string."""
    machine: str
    home: str
    path: str
    """Its path on its machine, for display."""
    kind: str
    size: int
    archived: bool
    """Whether it was deleted from its home and only the archive has it."""
    bookmark: tuple[int, ...] | None
    lines: int
    """Number of lines read."""
    modified: int
    """Its modification time then, in nanoseconds."""


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

    @property
    def cost_microdollars(self) -> int | None:
        """Its cost as it is printed; None if nothing has a price."""
        return None if self.cost is None else round(self.cost / 1000)


class Hit(NamedTuple):
    """A passage that matches."""

    chat: int
    source: str
    """The file that contains it."""
    path: str
    """The path of that file on its machine, for display."""
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
    hits: list[Hit]


class Correction(NamedTuple):
    """A word that is not in the store, or almost never, and what is searched for as well; or a name with signs that is
    not in the store, and its words, which are searched for instead. Without `also`, there is nothing like it.
    """

    typed: str
    also: tuple[str, ...]


class SearchPage(NamedTuple):
    """One page of results. The totals count all matches, not only those on the page."""

    chats: list[ChatHits]
    total_chats: int
    total: int
    """Number of passages."""
    newest: int
    """The id of the newest passage that was searched."""
    left: int
    """Number of chats after this page."""
    skipped: frozenset[int] = frozenset()
    """The digests of the chats before this page that an offset skipped."""
    corrections: tuple[Correction, ...] = ()


class Facets(NamedTuple):
    """Counts of all matching passages by what they have in common, not only of those shown."""

    total: int
    roles: Mapping[str, int]
    tools: Mapping[str, int]
    """The most frequent ones."""
    since: Mapping[str, int]
    """By the names of the requested times."""
    projects: Mapping[str, int]
    models: Mapping[str, int]
    machines: Mapping[str, int]


class PagePosition(NamedTuple):
    """Where the next page of results begins: it shows what matched at the first page and was not shown yet."""

    newest: int
    """The id of the newest passage at the time of the first page."""
    seen: frozenset[int]
    """The digests of the chats on the pages before."""


def chat_digest(name: str) -> int:
    """A short number for the id of a chat."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


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


class Totals(NamedTuple):
    """How much the store holds."""

    chats: int
    messages: int


class PendingCounts(NamedTuple):
    """How much is read but not yet searchable, by kind."""

    passages: int
    roles: tuple[str, ...]


class StatementResult(NamedTuple):
    """The result of a statement."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool


class StoreReader(Protocol):
    """Answers questions about what a scope lets the asker see, as if the store held nothing else.

    A file is visible if its home is in the scope, or if it is one of the sources. Its records, passages, calls and
    titles are visible with it; those of other files do not exist for this reader: no answer has them or counts them.
    Only the order of ranked results may depend on them: how rare a word is, is known for the whole store.

    A chat is visible if at least one of its files is. Of a chat that also has hidden files:
    - its shape, its messages, its passages and its matches are those of the visible files;
    - its overview is the whole chat's: title, times, number of messages, tokens, cost, machines. Lists filter and sort
      by the overview.

    The usage of an answer is counted once, for the file that has the answer first, and is visible with that file.
    """

    def snapshot(self) -> AbstractContextManager[None]:
        """Every question in it is answered from the same state of the store, whatever is written meanwhile.

        Each single answer is from one state anyway. Do not write to the store inside of it, and do not keep it open
        longer than an answer takes.
        """

    def pending(self) -> PendingCounts:
        """What is not searchable yet."""

    def search(
        self,
        query: Query,
        *,
        sort: str,
        limit: int,
        offset: int,
        hits: int,
        after: PagePosition | None = None,
        project: str = "",
    ) -> SearchPage:
        """The chats that match a query, with their best passages: after `offset` chats, or after a position.

        By relevance, chats of `project` rank a little higher.
        """

    def facets(self, query: Query, since: Mapping[str, int]) -> Facets:
        """What the matches of a query have in common; `since` are times in microseconds to count from, by name."""

    def chats(self, query: Query | None, *, sort: str, limit: int | None, offset: int) -> list[StoredChat]:
        """The chats that match the fields of a query and have its words in their titles."""

    def count_chats(self, query: Query | None) -> int:
        """How many chats `chats` would give without a limit."""

    def passages(self, query: Query, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may match a query, one by one; the caller checks regular expressions."""

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """The chats with these ids."""

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> Reports:
        """The data for reports, for the chats that match a query and a period in microseconds."""

    def similar(self, word: str) -> list[str]:
        """Words of visible passages that are similar to one which is in none of them, the most frequent first."""

    def find(self, name: str) -> list[StoredChat]:
        """Chats whose id (or a session, message or agent id in them) starts with `name`."""

    def named(self, names: Iterable[str]) -> list[StoredChat]:
        """The chats with these ids, or with sessions of these ids."""

    def homes(self) -> set[tuple[str, str]]:
        """The visible homes that the store has files of, each with its machine."""

    def files_of(self, chat: int) -> list[IndexedFile]:
        """The files of a chat."""

    def sources_of(self, chats: Iterable[int]) -> set[str]:
        """The ids of the files of these chats."""

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

    def sql(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run a read-only statement about what the scope lets the asker see. UsageError if the engine cannot limit a
        statement, and the scope is less than everything.
        """
