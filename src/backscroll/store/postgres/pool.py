"""Idle connections, to be used again: a new one costs PostgreSQL a process, and its first statements are slow.

A connection serves one store while it is used, and another one afterwards. It is handed on as the owner of the tables,
without the locks and settings of its last user: `PgConnection` sets what it needs before each statement.
"""

import atexit
import os
import threading
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

Connection = psycopg.Connection[tuple[Any, ...]]
MAX_IDLE: Final = 24
"""Of one process and database; beyond, one that is given back is closed."""


class IdleConnections:
    """The connections of a process that nothing uses now, by address."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[int, str], list[Connection]] = {}
        """Of this process only: a child must not use what its parent opened."""

    def take(self, address: str) -> Connection | None:
        """A connection to this address that works; None if there is none."""
        while True:
            with self._lock:
                idle = self._idle.get((os.getpid(), address))
                connection = idle.pop() if idle else None
            if connection is None:
                return None
            try:
                connection.execute(CLEAN, prepare=False)
            except psycopg.Error:  # it broke while it was idle
                connection.close()
            else:
                return connection

    def give_back(self, address: str, connection: Connection) -> None:
        """Keep a connection for the next one, unless it is in the middle of something."""
        if not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE:
            with self._lock:
                idle = self._idle.setdefault((os.getpid(), address), [])
                if len(idle) < MAX_IDLE:
                    idle.append(connection)
                    return
        connection.close()

    def close(self) -> None:
        """Close all of them, when the process ends."""
        with self._lock:
            idle = [one for (process, _), some in self._idle.items() if process == os.getpid() for one in some]
            self._idle.clear()
        for connection in idle:
            connection.close()


IDLE: Final = IdleConnections()
atexit.register(IDLE.close)
NOTHING_SHARED: Final = "{} {} {} {}"
CLEAN: Final = (
    "reset role; set backscroll.build = '0'; set backscroll.homes = '[]'; set backscroll.sources = '[]';"
    f" set backscroll.shared = '{NOTHING_SHARED}'"
)
"""There is no build 0: a statement without settings of its own finds nothing."""
