"""Answers queries from PostgreSQL, within a scope."""

from collections.abc import Iterator
from contextlib import contextmanager

from backscroll.errors import UsageError
from backscroll.query.tree import Query
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.reports import PgReports
from backscroll.store.postgres.user_sql import run_statement
from backscroll.store.postgres.visible import PgRows
from backscroll.store.postgres.words import PgWords
from backscroll.store.reader import Scope, StatementResult
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.reader import SearchReader
from backscroll.store.sql.chats import ChatRows
from backscroll.store.sql.statements import array, select


class PgReader(SearchReader):
    """Answers the queries of one reader."""

    def __init__(self, connection: PgConnection, scope: Scope, sql_login: str | None = None) -> None:
        """Read within a scope; `sql_login` is the address for people's own SQL, if it is not that of the connection."""
        self._connection = connection
        self._sql_login = sql_login
        self._scope = scope
        self._rows = PgRows(connection, scope)

    @property
    def rows(self) -> PgRows:
        """The rows that the reader may see."""
        return self._rows

    @contextmanager
    def _words(self) -> Iterator[WordEngine]:
        with self._rows.transaction():
            yield PgWords(self._rows, self._connection.build)

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> PgReports:
        """Return the data for reports about the chats that match a query and a period in microseconds."""
        files = ChatRows(self._rows).files(query.root) if query and not query.is_empty else None
        return PgReports(self._rows, array(files) if files is not None else None, since, until)

    def homes(self) -> set[tuple[str, str]]:
        """Return the visible homes that the store has files of, each with its machine."""
        return {(machine, home) for machine, home in select(self.rows, "select distinct machine, home from files")}

    def sql(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run a read-only statement on the whole store."""
        if self._scope.homes is not None:
            raise UsageError(
                "SQL reads the whole library, and only a part of it is visible here", "use search, list and stats"
            )
        return run_statement(self._connection, self._sql_login, statement, limit, seconds)
