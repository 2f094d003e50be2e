"""The queries of a store, and the scopes that limit them.

Every query goes through a `StoreReader`, and a reader comes from `Store.within`, which takes the scope of the caller:
there is no query without a scope.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from backscroll.conversation.headings import AnswerCost
from backscroll.conversation.overview import Overview
from backscroll.conversation.passages import Role

if TYPE_CHECKING:
    from backscroll.conversation.transcripts import Transcript
    from backscroll.query.tree import Query
    from backscroll.store.report_rows import FollowingStep, TurnPassage
    from backscroll.store.reports import Reports


class Scope(NamedTuple):
    """The visible files of the caller, and the meaning of `is:live`, `is:pinned` and `tag:` in its queries."""

    homes: frozenset[tuple[str, str]] | None
    """The visible homes, each with its machine; None for all homes. There is no default: the caller must decide."""
    live: Set[str] = frozenset()
    """Sessions that are being written now."""
    pinned: frozenset[str] = frozenset()
    tagged: Mapping[str, frozenset[str]] = {}
    """Sessions by the tags that the user gave their chats."""
    sources: frozenset[str] = frozenset()
    """Files that are visible in addition to those of the homes, by id: files shared with the reader."""
    own_machines: frozenset[str] = frozenset()
    """The machine of the reader, by its ids: of copies, those on it are shown."""


EVERYTHING: Final = Scope(homes=None)
"""The scope of the indexer, and of the owner of the whole store."""


class IndexedFile(NamedTuple):
    """A file that the store has read, with its bookmark and state at that time."""

    id: int
    source: str
    """The id of the file, unique across machines: an opaque string."""
    machine: str
    home: str
    path: str
    """The path on its machine, for display."""
    kind: str
    size: int
    archived: bool
    """Whether the file was deleted from its home and only the archive has it."""
    bookmark: tuple[int, ...] | None
    lines: int
    """Number of lines read."""
    modified: int
    """The modification time when it was read, in nanoseconds."""


class StoredChat(NamedTuple):
    """A chat as stored."""

    key: int
    overview: Overview
    archived: bool
    tokens: int = 0
    cost: int | None = None
    """The cost in nanodollars; None if no price is known."""
    machines: tuple[str, ...] = ()
    """The machines that have a part of the chat."""
    unrecorded_tokens: int = 0
    """The tokens of requests without a record, which `tokens` does not include."""
    unrecorded_cost: int | None = None
    """The cost of these requests, in nanodollars; None if there are none, or no price is known."""

    @property
    def cost_microdollars(self) -> int | None:
        """The cost as it is printed; None if nothing has a price."""
        return None if self.cost is None else round(self.cost / 1000)

    @property
    def unrecorded_microdollars(self) -> int | None:
        """The cost of requests without a record, as it is printed."""
        return None if self.unrecorded_cost is None else round(self.unrecorded_cost / 1000)


class Hit(NamedTuple):
    """A passage that matches."""

    chat: int
    source: str
    """The file that contains the passage."""
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
    is_elsewhere: bool = False
    """Whether the passage is from another machine than the reader's, as far as that is known."""


class ChatHits(NamedTuple):
    """The matches in one chat."""

    chat: StoredChat
    found: int
    """Number of passages; a lower bound if the query has to be checked text by text."""
    score: float
    hits: list[Hit]


class Correction(NamedTuple):
    """A word that is in no passage, or in very few, and words that are searched in addition; or a name with signs that
    is in no passage, and its words, which are searched instead. Without `also`, there is nothing like it.
    """

    typed: str
    also: tuple[str, ...]


class SearchPage(NamedTuple):
    """A page of results. The totals count all matches, not only those on the page."""

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
    """Counts of all matching passages by role, tool, time, project, model and machine, not only of those shown."""

    total: int
    roles: Mapping[str, int]
    tools: Mapping[str, int]
    """The most frequent tools."""
    since: Mapping[str, int]
    """The counts by the names of the requested times."""
    projects: Mapping[str, int]
    models: Mapping[str, int]
    machines: Mapping[str, int]


class PagePosition(NamedTuple):
    """The start of the next page: passages that matched at the time of the first page and were not shown yet."""

    newest: int
    """The id of the newest passage at the time of the first page."""
    seen: frozenset[int]
    """The digests of the chats on the pages before."""


def chat_digest(name: str) -> int:
    """Return a short number for the id of a chat."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


class ChatShape(NamedTuple):
    """A chat without its records, read in one transaction."""

    files: list[tuple[IndexedFile, Transcript]]
    titles: dict[str, dict[str, str]]
    """The titles of the chat's rows, by row and by the file that has the title."""


class StoredMessage(NamedTuple):
    """A message that is cited."""

    uuid: str
    kind: str
    time: int | None
    """The time in microseconds."""
    agent: str | None


class Totals(NamedTuple):
    """The size of the store, in chats and messages."""

    chats: int
    messages: int


class PendingCounts(NamedTuple):
    """The passages that are read but not yet searchable, by kind."""

    passages: int
    roles: tuple[str, ...]


class StatementResult(NamedTuple):
    """The columns and rows that a statement returns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool


class StoreReader(Protocol):
    """Answers queries within a scope, as if the store held nothing else.

    A file is visible if its home is in the scope, or if it is one of the sources. Its records, passages, calls and
    titles are visible with it; those of other files do not exist for this reader: no answer has them or counts them.
    Only the order of ranked results may depend on them: the rarity of a word is that in the whole store.

    A chat is visible if at least one of its files is. Of a chat that also has hidden files:
    - its shape, its messages, its passages and its matches are those of the visible files;
    - its overview is the whole chat's: title, times, number of messages, tokens, cost, machines. Lists filter and sort
      by the overview.

    The usage of an answer is counted once, for the file that has the answer first, and is visible with that file.
    """

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer every query in it from the same state of the store, whatever is written meanwhile.

        Each single answer is from one state anyway. Do not write to the store inside of it, and do not keep it open
        longer than an answer takes.
        """

    def pending(self) -> PendingCounts:
        """Count the passages that are not searchable yet."""

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
        """Return the chats that match a query, with their best passages: after `offset` chats, or after a position.

        By relevance, chats of `project` rank a little higher.
        """

    def facets(self, query: Query, since: Mapping[str, int]) -> Facets:
        """Count facets of all matches of a query; `since` are times in microseconds to count from, by name."""

    def chats(self, query: Query | None, *, sort: str, limit: int | None, offset: int) -> list[StoredChat]:
        """Return the chats that match the fields of a query and have its words in their titles."""

    def count_chats(self, query: Query | None) -> int:
        """Return the number of chats that `chats` returns without a limit."""

    def passages(self, query: Query, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Yield every passage that may match a query; the caller checks regular expressions."""

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """Return the chats with these ids."""

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> Reports:
        """Return the data for reports about the chats that match a query and a period in microseconds."""

    def similar(self, word: str) -> list[str]:
        """Return words of visible passages that are similar to a word which is in none, the most frequent first."""

    def find(self, name: str) -> list[StoredChat]:
        """Return chats whose id (or a session, message or agent id in them) starts with `name`."""

    def named(self, names: Iterable[str]) -> list[StoredChat]:
        """Return the chats with these ids, or with sessions of these ids."""

    def homes(self) -> set[tuple[str, str]]:
        """Return the visible homes that the store has files of, each with its machine."""

    def files_of(self, chat: int) -> list[IndexedFile]:
        """Return the files of a chat."""

    def sources_of(self, chats: Iterable[int]) -> set[str]:
        """Return the ids of the files of these chats."""

    def chat_shape(self, chat: int) -> ChatShape | None:
        """Return a chat without its records, read in one transaction; None if there is no such chat."""

    def record_positions(self, source: str, numbers: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return the offset and length of records of a file, by their numbers."""

    def outside_positions(self, source: str, number: int) -> list[tuple[int, int]]:
        """Return the positions of records that are not rows, before a number in the same file, the nearest first."""

    def chat_ids(self, sources: Iterable[str]) -> dict[str, str]:
        """Return the ids of the chats that these files are part of, by file."""

    def answer_costs(self, messages: Iterable[str]) -> dict[str, AnswerCost]:
        """Return the usage of these answers; unknown ones are left out."""

    def messages_named(self, chat: int, name: str) -> list[StoredMessage]:
        """Return the messages of a chat with this id, otherwise those whose id starts with it; at most two."""

    def totals(self) -> Totals:
        """Return the number of chats and messages."""

    def failed_calls(self, chat: int) -> set[str]:
        """Return the calls of a chat that ended in an error."""

    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """Return the prompt and the last answer of the turns around these passages, unless they are in `blocks`."""

    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """Return the call of a result, and all calls, results and answers after it, up to the next prompt."""

    def sql(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run a read-only statement, limited to the scope. UsageError if the engine cannot limit a statement, and the
        scope is less than everything.
        """
