"""The database of a server, for commands that an operator runs beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backscroll.errors import BackscrollError
from backscroll.team.database import Database
from backscroll.team.serve import ServerPlace, open_database


@contextmanager
def join_database(place: ServerPlace) -> Iterator[Database]:
    """The database that is named, or that a server which runs in the data folder has started; else it is started."""
    database = Database(running_address(place.data)) if place.database is None else None
    if database is not None and _answers(database):
        try:
            yield database
        finally:
            database.close()
        return
    with open_database(place) as opened:
        yield opened


def running_address(data: Path) -> str:
    """Where the PostgreSQL of a server in this folder is reached, if it runs."""
    from backscroll.store.postgres.embedded import DATABASE
    from backscroll.store.postgres.roles import OWNER

    return f"host='{data / 'postgres' / 'socket'}' user='{OWNER}' dbname='{DATABASE}'"


def _answers(database: Database) -> bool:
    try:
        database.connect().close()
    except BackscrollError:
        return False
    return True
