"""A lock by which one worker at a time changes what is kept of a person, whatever the job."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from backscroll.errors import Busy

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

PEOPLE: Final = 0x6274
"""The class of these advisory locks; each lock has the number of its person."""
WAIT_SECONDS: Final = 1
"""The time to wait for a lock. An append takes a small part of it."""
LONGEST_WAIT: Final = 600.0
POLL_SECONDS: Final = 0.05
Answer = TypeVar("Answer")


class PersonBusy(Busy):
    """Another worker changes what is kept of a person."""

    def __init__(self) -> None:
        super().__init__("another worker changes what is kept of this person", "it is tried again later")


@contextmanager
def person_lock(database: "Database", person: int) -> "Iterator[Connection]":
    """Hold the lock of a person, at most until the connection ends; PersonBusy if another worker keeps it too long."""
    from psycopg.errors import LockNotAvailable

    with database.connection() as connection:
        try:
            if connection.execute("select pg_try_advisory_lock(%s, %s)", (PEOPLE, person)).fetchone() != (True,):
                with connection.transaction():  # the limit ends with it, and the lock does not
                    connection.execute(f"set local lock_timeout = '{WAIT_SECONDS}s'")
                    connection.execute("select pg_advisory_lock(%s, %s)", (PEOPLE, person))
        except LockNotAvailable as error:
            raise PersonBusy from error
        try:
            yield connection
        finally:
            if not connection.closed:
                connection.execute("select pg_advisory_unlock(%s, %s)", (PEOPLE, person))


def retry_while_busy(work: Callable[[], Answer]) -> Answer:
    """Do some work for a waiting operator, again and again while a worker is busy with the same person."""
    ends = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return work()
        except Busy:
            if time.monotonic() > ends:
                raise
            time.sleep(POLL_SECONDS)
