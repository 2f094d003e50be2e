"""Answers questions to a local store, within a scope."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import apsw

from backscroll.errors import UsageError
from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.local.faults import translates_all_errors
from backscroll.store.local.snapshot import Snapshot
from backscroll.store.local.visible import VisibleRows
from backscroll.store.local.words import TantivyWords
from backscroll.store.reader import Facets, Hit, PagePosition, PendingCounts, Scope, SearchPage, StoredChat, Table
from backscroll.store.search.facets import count_facets
from backscroll.store.search.search import Search
from backscroll.store.search.spelling import corrections
from backscroll.store.search.words import STAGES, quoted, words_of
from backscroll.store.sql.chats import ChatRows
from backscroll.store.sql.pieces import ChatPieces
from backscroll.store.sql.statements import array, select

if TYPE_CHECKING:
    from backscroll.store.local.reports import LocalReports

MAX_CORRECTIONS: Final = 5
"""For how many words of a text similar ones are looked for."""


class OpenStore(Protocol):
    """What a reader needs from the store. Looked up on each call: a store may be closed and opened again."""

    @property
    def connection(self) -> apsw.Connection:
        """The rows, opened."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Rows and words of one moment, for as long as it is open."""

    def run(self, statement: str, limit: int, seconds: float) -> Table:
        """Run one statement that only reads, on all rows."""


@translates_all_errors
class LocalReader(ChatPieces):
    """The questions of one asker."""

    def __init__(self, store: OpenStore, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    @property
    def rows(self) -> VisibleRows:
        """The rows that the asker may see."""
        return VisibleRows(self._store.connection, self._scope)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Every question in it is answered from the same state of the store."""
        with self._store.snapshot():
            yield

    def pending(self) -> PendingCounts:
        """What is not searchable yet."""
        total = 0
        roles: list[str] = []
        with self._store.snapshot() as state:
            for stage, mark in zip(STAGES, state.marks, strict=True):
                found = select(
                    self.rows,
                    f"select role, count(*) from blocks where id > ? and role in ({quoted(stage)}) group by role",  # noqa: S608
                    (mark,),
                )
                total += sum(count for _, count in found)
                roles += [role for role in stage if any(role == name for name, _ in found)]
        return PendingCounts(total, tuple(roles))

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
        """The chats that match a query, with their best passages: after `offset` chats, or after a position."""
        with self._store.snapshot() as state:
            return Search(self.rows, TantivyWords(self.rows, state)).run(
                query, sort=sort, limit=limit, offset=offset, hits=hits, after=after, project=project
            )

    def facets(self, query: Query, since: Mapping[str, int]) -> Facets:
        """What the matches of a query have in common."""
        with self._store.snapshot() as state:
            return count_facets(self.rows, TantivyWords(self.rows, state), query, since)

    def chats(self, query: Query | None, *, sort: str, limit: int | None, offset: int) -> list[StoredChat]:
        """The chats that match the fields of a query and have its words in their titles."""
        return ChatRows(self.rows).chats(query, sort=sort, limit=limit, offset=offset)

    def count_chats(self, query: Query | None) -> int:
        """How many chats `chats` would give without a limit."""
        return ChatRows(self.rows).count(query)

    def passages(self, query: Query, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may match a query, one by one; the caller checks regular expressions."""
        with self._store.snapshot() as state:
            search = Search(self.rows, TantivyWords(self.rows, state))
        yield from search.passages(query, oldest_first=oldest_first)

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """The chats with these ids."""
        return ChatRows(self.rows).of(chats)

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> "LocalReports":
        """The data for reports, for the chats that match a query and a period in microseconds."""
        rows = self.rows
        chats = ChatRows(rows)
        # The files are named even if all visible ones are meant: then an index finds their rows.
        files = chats.files(query.root) if query and not query.is_empty else chats.visible_files()
        from backscroll.store.local.reports import LocalReports

        return LocalReports(rows, array(files) if files is not None else None, since, until)

    def similar(self, word: str) -> list[str]:
        """Words of visible passages that are similar to one which is in none of them, the most frequent first."""
        with self._store.snapshot() as state:
            engine = TantivyWords(self.rows, state)
            return [found for one in words_of(word)[:MAX_CORRECTIONS] for found in corrections(engine, one)]

    def find(self, name: str) -> list[StoredChat]:
        """Chats whose id (or a session, message or agent id in them) starts with `name`."""
        return ChatRows(self.rows).find(name)

    def homes(self) -> set[tuple[str, str]]:
        """The visible homes that the store has files of, each with its machine."""
        found = select(self.rows, "select distinct machine, home from files")
        return {(readable(machine), readable(home)) for machine, home in found}

    def sql(self, statement: str, limit: int, seconds: float) -> Table:
        """Run a read-only statement about the whole store."""
        if self._scope.homes is not None:
            raise UsageError(
                "SQL reads the whole library, and only some of its homes are visible here",
                "open all homes, or use search, list and stats",
            )
        return self._store.run(statement, limit, seconds)
