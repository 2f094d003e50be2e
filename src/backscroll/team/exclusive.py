"""One worker at a time changes what is kept of a person, whatever the job."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from backscroll.errors import Busy

if TYPE_CHECKING:
    from backscroll.team.database import Connection, Database

PEOPLE: Final = 0x6274
"""The class of these locks; each has the number of its person."""
WAIT_SECONDS: Final = 1
"""An append takes a small part of it; what takes longer is not waited for."""


class PersonBusy(Busy):
    """Another worker changes what is kept of a person."""

    def __init__(self) -> None:
        super().__init__("another worker changes what is kept of this person", "it is tried again later")


@contextmanager
def exclusive(database: "Database", person: int) -> "Iterator[Connection]":
    """Keep others out, at the longest for as long as this connection lives; PersonBusy if one is at it for long."""
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
