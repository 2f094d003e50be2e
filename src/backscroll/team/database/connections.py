"""Connections to the server's own tables, and their migrations.

These tables cannot be derived from anything: they hold people, rights, and the audit log. They live in the schema
`team`, beside the index.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from backscroll.errors import BackscrollError, Busy, UsageError

if TYPE_CHECKING:
    import psycopg

    from backscroll.store.postgres.pool import Pool

    Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMA: Final = "team"
OPTIONS: Final = f"-c search_path={SCHEMA},public -c team.org=all"
"""Options of a connection that serves all organisations (`row_security`)."""
MIGRATIONS: Final = Path(__file__).with_name("migrations")


class Database:
    """A pool of connections of limited size. Each connection is used by one thread."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    def limited(self) -> "Database":
        """Return a database for answering requests, where no statement runs for long. The caller closes it."""
        from backscroll.store.postgres.pool import with_limits

        return Database(with_limits(self.address))

    @contextmanager
    def transaction(self, org: int | None = None) -> "Iterator[Connection]":
        """Lend a connection in a transaction: all statements within take effect together, or not at all.

        With `org`, the connection sees and changes nothing of another organisation. Requests of people run that way.
        """
        with _translate_errors(), ExitStack() as stack:
            connection = self._begin(stack)
            if org is not None:
                connection.execute(f"set local team.org = '{org:d}'")
            yield connection

    def _begin(self, stack: ExitStack) -> "Connection":
        """Lend a connection in a transaction that ends with `stack`. Discard connections that broke while idle."""
        import psycopg

        while True:
            with ExitStack() as trying:
                connection = trying.enter_context(self._borrow())
                try:
                    trying.enter_context(connection.transaction())
                except psycopg.OperationalError:
                    if not connection.broken:
                        raise
                    continue
                stack.push(trying.pop_all())
                return connection

    @contextmanager
    def connection(self) -> "Iterator[Connection]":
        """Lend a connection outside of a transaction: each statement takes effect by itself, and locks last."""
        with _translate_errors(), self._borrow() as connection:
            yield connection

    @contextmanager
    def _borrow(self) -> "Iterator[Connection]":
        from backscroll.store.postgres.pool import lend, new_pool, options_of

        with self._lock:
            if self._pool is None:
                self._pool = new_pool(self.address, options=options_of(self.address, OPTIONS))
            pool = self._pool
        connection = lend(pool)
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def connect(self) -> "Connection":
        """Open a connection that the caller closes."""
        import psycopg

        from backscroll.store.postgres.pool import options_of

        try:
            return psycopg.connect(self.address, autocommit=True, options=options_of(self.address, OPTIONS))
        except psycopg.OperationalError as error:
            first = str(error).strip().splitlines()[0][:300]
            raise BackscrollError(
                f"cannot connect to the database: {first}", "check --database, and try again"
            ) from error

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        import psycopg

        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            with suppress(psycopg.Error):
                pool.close()


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate errors of PostgreSQL into ours."""
    import psycopg

    try:
        yield
    except psycopg.OperationalError as error:
        raise Busy(f"the database is busy or away ({type(error).__name__})", "try again in a moment") from error
    except psycopg.DataError as error:
        if "NUL" in str(error):
            raise UsageError("a text contains a NUL character", "remove it, and try again") from error
        raise


def migrate(database: Database) -> list[str]:
    """Bring the tables up to date; return the names of the migrations that were run."""
    from psycopg.conninfo import make_conninfo

    from backscroll.store.postgres.migrate import migrate as run_migrations
    from backscroll.team.database.row_security import guard_tables

    names = run_migrations(make_conninfo(database.address, options=OPTIONS), MIGRATIONS, SCHEMA)
    with database.transaction() as connection:
        connection.execute("select pg_advisory_xact_lock(hashtext('row security'))")
        guard_tables(connection)
    return names


def is_current(database: Database) -> bool:
    """Whether all migrations were run."""
    from backscroll.store.postgres.migrate import is_current as all_were_run

    with database.transaction() as connection:
        return all_were_run(connection, MIGRATIONS, SCHEMA)
