"""One worker at a time changes what is kept of a person, whatever the job."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from backscroll.errors import Busy

if TYPE_CHECKING:
    from backscroll.team.database import Connection, Database

PEOPLE: Final = 0x6274
"""The class of these locks; each has the number of its person."""
WAIT_SECONDS: Final = 1
"""An append takes a small part of it; what takes longer is not waited for."""
LONGEST_WAIT: Final = 600.0
POLL_SECONDS: Final = 0.05
Answer = TypeVar("Answer")


class PersonBusy(Busy):
    """Another worker changes what is kept of a person."""

    def __init__(self) -> None:
        super().__init__("another worker changes what is kept of this person", "it is tried again later")


@contextmanager
def exclusive(database: "Database", person: int) -> "Iterator[Connection]":
    """Keep other workers out, until the connection ends at the latest; PersonBusy if one of them takes too long."""
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


def when_free(work: Callable[[], Answer]) -> Answer:
    """Do something for an operator who waits for it: if a worker is busy with the same person, as soon as it is not."""
    ends = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return work()
        except Busy:
            if time.monotonic() > ends:
                raise
            time.sleep(POLL_SECONDS)
