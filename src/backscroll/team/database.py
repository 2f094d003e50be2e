"""The server's own tables: connections, and bringing them to this version.

These tables cannot be derived from anything: who there is, who may read what, and what happened. They live in the
schema `team`, beside the index.
"""

import select
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from backscroll.errors import BackscrollError, Busy

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

MAX_IDLE: Final = 8
SCHEMA: Final = "team"
OPTIONS: Final = f"-c search_path={SCHEMA},public -c team.org=all"
"""Of a connection of the server itself, which serves all organisations (`row_security`)."""
MIGRATIONS: Final = Path(__file__).with_name("migrations")


class Database:
    """Lends connections. Each is used by one thread at a time."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def transaction(self, org: int | None = None) -> "Iterator[Connection]":
        """A connection in a transaction: all statements within take effect together, or not at all.

        With `org` it sees and changes nothing of another organisation: requests of people run so.
        """
        import psycopg

        with ExitStack() as stack:
            connection = self._begin(stack)
            try:
                if org is not None:
                    connection.execute(f"set local team.org = '{org:d}'")
                yield connection
                stack.close()  # commits
            except psycopg.OperationalError as error:
                raise _busy(error) from error

    def _begin(self, stack: ExitStack) -> "Connection":
        """A connection in a transaction that ends with `stack`. One that broke while it was idle is not used again."""
        import psycopg

        while True:
            connection, is_new = self._take()
            try:
                block = connection.transaction()
                stack.callback(self._give_back, connection)
                stack.enter_context(block)
            except psycopg.OperationalError:
                stack.close()
                connection.close()
                if is_new:
                    raise
            else:
                return connection

    @contextmanager
    def connection(self) -> "Iterator[Connection]":
        """A connection outside of a transaction: each statement takes effect by itself, and locks last."""
        import psycopg

        connection, _ = self._take()
        try:
            yield connection
        except psycopg.OperationalError as error:
            raise _busy(error) from error
        finally:
            self._give_back(connection)

    def connect(self) -> "Connection":
        """A connection that the caller closes."""
        import psycopg

        try:
            return psycopg.connect(self.address, autocommit=True, options=OPTIONS)
        except psycopg.OperationalError as error:
            first = str(error).strip().splitlines()[0][:300]
            raise BackscrollError(
                f"cannot connect to the database: {first}", "check --database, and try again"
            ) from error

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> "tuple[Connection, bool]":
        """A connection, and whether it is new."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self.connect(), True
            if not connection.closed and not connection.broken and _is_quiet(connection):
                return connection, False
            connection.close()

    def _give_back(self, connection: "Connection") -> None:
        with self._lock:
            is_usable = not connection.closed and not connection.broken
            is_kept = not self._is_closed and len(self._idle) < MAX_IDLE and is_usable
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()


def _is_quiet(connection: "Connection") -> bool:
    """Whether an idle connection has nothing to tell; one that broke meanwhile tells its end."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)


def _busy(error: Exception) -> Busy:
    return Busy(f"the database is busy or away ({type(error).__name__})", "try again in a moment")


def migrate(database: Database) -> list[str]:
    """Bring the tables up to date; return the names of the migrations that were run."""
    from psycopg.conninfo import make_conninfo

    from backscroll.store.postgres.migrate import migrate as run_migrations
    from backscroll.team.row_security import guard_tables

    done = run_migrations(make_conninfo(database.address, options=OPTIONS), MIGRATIONS, SCHEMA)
    with database.transaction() as connection:
        connection.execute("select pg_advisory_xact_lock(hashtext('row security'))")
        guard_tables(connection)
    return done


def is_current(database: Database) -> bool:
    """Whether all migrations were run."""
    from backscroll.store.postgres.migrate import is_current as all_were_run

    with database.transaction() as connection:
        return all_were_run(connection, MIGRATIONS, SCHEMA)
