"""Answers queries from a local store, within a scope."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

import apsw

from backscroll.errors import UsageError
from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.local.faults import translates_all_errors
from backscroll.store.local.snapshot import Snapshot
from backscroll.store.local.visible import VisibleRows
from backscroll.store.local.words import TantivyWords
from backscroll.store.reader import Scope, StatementResult
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.reader import SearchReader
from backscroll.store.sql.chats import ChatRows
from backscroll.store.sql.statements import array, select

if TYPE_CHECKING:
    from backscroll.store.local.reports import LocalReports


class OpenStore(Protocol):
    """The part of a store that a reader needs. Looked up on each call: a store may be closed and opened again."""

    @property
    def connection(self) -> apsw.Connection:
        """The connection to the rows."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open rows and words of one moment."""

    def run(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run one read-only statement, on all rows."""


@translates_all_errors
class LocalReader(SearchReader):
    """Answers the queries of one reader."""

    def __init__(self, store: OpenStore, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    @property
    def rows(self) -> VisibleRows:
        """The rows that the reader may see."""
        return VisibleRows(self._store.connection, self._scope)

    @contextmanager
    def _words(self) -> Iterator[WordEngine]:
        with self._store.snapshot() as state:
            yield TantivyWords(self.rows, state)

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> "LocalReports":
        """Return the data for reports about the chats that match a query and a period in microseconds."""
        rows = self.rows
        chats = ChatRows(rows)
        # The files are named even if all visible ones are meant: this lets an index find their rows.
        files = chats.files(query.root) if query and not query.is_empty else chats.visible_files()
        from backscroll.store.local.reports import LocalReports

        return LocalReports(rows, array(files) if files is not None else None, since, until)

    def homes(self) -> set[tuple[str, str]]:
        """Return the visible homes that the store has files of, each with its machine."""
        rows = select(self.rows, "select distinct machine, home from files")
        return {(readable(machine), readable(home)) for machine, home in rows}

    def sql(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run a read-only statement on the whole store."""
        if self._scope.homes is not None:
            raise UsageError(
                "SQL reads the whole library, and only some of its homes are visible here",
                "open all homes, or use search, list and stats",
            )
        return self._store.run(statement, limit, seconds)
