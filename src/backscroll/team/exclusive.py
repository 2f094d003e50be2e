"""One worker at a time changes what is kept of a person, whatever the job."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from backscroll.errors import Busy

if TYPE_CHECKING:
    from backscroll.team.database import Database

PEOPLE: Final = 0x6274
"""The class of these locks; each has the number of its person."""


@contextmanager
def exclusive(database: "Database", person: int) -> Iterator[None]:
    """Keep others out, at the longest for as long as this connection lives; Busy if one is at it."""
    with database.connection() as connection:
        row = connection.execute("select pg_try_advisory_lock(%s, %s)", (PEOPLE, person)).fetchone()
        if row != (True,):
            raise Busy("another worker changes what is kept of this person", "it is tried again later")
        try:
            yield
        finally:
            if not connection.closed:
                connection.execute("select pg_advisory_unlock(%s, %s)", (PEOPLE, person))
