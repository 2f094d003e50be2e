"""Connections of a process, lent and taken back: a new one costs PostgreSQL a process, and its statements are slow.

A connection serves one store while it is lent, and another one afterwards. It is passed on as the owner of the tables,
without the locks and settings of its last user: `PgConnection` sets what it needs before each statement. Their number
is limited: when all are lent, the next user waits a while, and then gets Busy.
"""

import atexit
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from backscroll.errors import Busy

Connection = psycopg.Connection[tuple[Any, ...]]
Pool = ConnectionPool[Connection]
MAX_LENT: Final = 16
"""The most connections of one process to one database."""
WAIT_SECONDS: Final = 5.0
"""The time that a user waits for a connection."""
RECONNECT_SECONDS: Final = 3.0
"""The time that the pool tries to reconnect to a database that is away; the next user makes it try again."""
STATEMENT_SECONDS: Final = 60
IDLE_SECONDS: Final = 120
"""The longest time of a statement for a page, and the longest wait of its transaction for the next statement."""


def with_limits(address: str) -> str:
    """Return the address with limits for serving requests: no statement runs or holds anything for long."""
    limits = {"statement_timeout": STATEMENT_SECONDS, "idle_in_transaction_session_timeout": IDLE_SECONDS}
    return make_conninfo(address, options=options_of(address, *(f"-c {name}={n}s" for name, n in limits.items())))


def options_of(address: str, *more: str) -> str:
    """Return the settings that the address of a database has, and more."""
    return " ".join(filter(None, (str(conninfo_to_dict(address).get("options") or ""), *more)))


def new_pool(address: str, configure: Callable[[Connection], None] | None = None, **options: object) -> Pool:
    """Return a pool that connects on first use; `options` go to psycopg, `configure` is called with each connection."""
    return ConnectionPool(
        address, kwargs={"autocommit": True, **options}, configure=configure, min_size=0, max_size=MAX_LENT, open=True,
        timeout=WAIT_SECONDS, reconnect_timeout=RECONNECT_SECONDS, num_workers=1,
    )  # fmt: skip


def lend(pool: Pool) -> Connection:
    """Take a working connection, as far as can be seen without asking the database; Busy if there is none in time."""
    while True:
        try:
            connection = pool.getconn()
        except PoolTimeout as error:
            raise Busy("the database is busy or away", "try again in a moment") from error
        if not connection.closed and _is_quiet(connection):
            return connection
        connection.close()  # it broke while idle
        pool.putconn(connection)


def _is_quiet(connection: Connection) -> bool:
    """Whether an idle connection has nothing to read; one that broke meanwhile has its end to read."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)


class Pools:
    """The pools of a process, one for each address."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[tuple[int, str], Pool] = {}
        """The pools by process and address: a child must not use the connections of its parent."""
        self._lent: WeakKeyDictionary[Connection, Pool] = WeakKeyDictionary()
        """The pool of each lent connection; that pool may be closed by now."""

    def take(self, address: str, make: Callable[[str], Pool]) -> Connection:
        """Take a clean connection to this address; `make` creates the pool for it."""
        key = os.getpid(), address
        with self._lock:
            if key not in self._pools:
                self._pools[key] = make(address)
            pool = self._pools[key]
        while True:
            connection = lend(pool)
            try:
                connection.execute(CLEAN, prepare=False)
            except psycopg.OperationalError:  # it broke while idle
                connection.close()
                pool.putconn(connection)
            except BaseException:
                pool.putconn(connection)
                raise
            else:
                self._lent[connection] = pool
                return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next user, unless a transaction is open."""
        pool = self._lent.pop(connection, None)
        if connection.info.transaction_status != TransactionStatus.IDLE:
            connection.close()
        if pool is None:
            connection.close()
        else:
            pool.putconn(connection)

    def close(self) -> None:
        """Close all pools, when the process ends."""
        with self._lock:
            pools = [pool for (process, _), pool in self._pools.items() if process == os.getpid()]
            self._pools.clear()
        for pool in pools:
            with suppress(psycopg.Error):
                pool.close(2)


POOLS: Final = Pools()
atexit.register(POOLS.close)
NOTHING_SHARED: Final = "{} {} {} {}"
CLEAN: Final = (
    "reset role; set backscroll.build = '0'; set backscroll.homes = '[]'; set backscroll.sources = '[]';"
    f" set backscroll.shared = '{NOTHING_SHARED}'"
)
"""There is no build 0: a statement without settings of its own matches no rows."""
