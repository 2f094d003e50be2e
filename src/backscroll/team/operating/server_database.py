"""The database of a server: opened, started if it is ours, brought up to date, and checked before it is served."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll import system
from backscroll.disk import private_folder
from backscroll.errors import BackscrollError, NoPermission
from backscroll.team.arrival.libraries import PEOPLE
from backscroll.team.database.connections import Database, migrate
from backscroll.team.database.row_security import require_guarded
from backscroll.team.database.web_role import as_web, grant_to_web, require_owner, require_rights
from backscroll.team.operating.reset_after_update import require_reset, reset_after_update

if TYPE_CHECKING:
    from backscroll.store.postgres.embedded import EmbeddedPostgres

RESTART_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerPlace:
    """The places where a server keeps everything."""

    data: Path
    """Archives, made of the objects, and people's marks; and, unless named, the objects and the database too."""
    database: str | None = None
    objects: str | None = None

    @property
    def objects_address(self) -> str:
        """The address of the object store."""
        return self.objects or str(self.data / "objects")


@contextmanager
def open_database(place: ServerPlace) -> Iterator[Database]:
    """Open the database of a server: the named one, or one that runs as long as this process."""
    if place.database is not None:
        from backscroll.store.postgres.roles import refuse_unsafe_roles

        _prepare_folder(place, 0o700)
        database = Database(place.database)
        try:
            with database.transaction() as connection:
                refuse_unsafe_roles(connection)
            yield database
        finally:
            database.close()
        return
    from backscroll.store.postgres.embedded import EmbeddedPostgres

    _prepare_folder(place, 0o711)
    if system.user_id() == 0:
        place.data.chmod(0o711)  # PostgreSQL runs as another user, who has to get through to its folder
    with EmbeddedPostgres(place.data / "postgres") as postgres, _kept_running(postgres):
        database = Database(postgres.url())
        try:
            yield database
        finally:
            database.close()


@contextmanager
def _kept_running(postgres: "EmbeddedPostgres") -> Iterator[None]:
    """Start PostgreSQL again whenever it ends by itself, such as after a full disk."""
    stop = threading.Event()

    def keep_running() -> None:
        while not stop.is_set():
            code = postgres.wait()
            if stop.is_set():
                return
            log.error("PostgreSQL ended with code %d; starting it again", code)
            try:
                postgres.restart()
            except BackscrollError as error:
                log.error("%s; trying again", error)
                stop.wait(RESTART_SECONDS)

    threading.Thread(target=keep_running, name="postgres", daemon=True).start()
    try:
        yield
    finally:
        stop.set()


def _prepare_folder(place: ServerPlace, mode: int) -> None:
    """Make the data folder and the private folders in it. One that exists keeps its mode: PostgreSQL may need it."""
    place.data.mkdir(parents=True, exist_ok=True, mode=mode)
    private_folder(place.data / PEOPLE)
    if place.objects is None:
        private_folder(place.data / "objects")


@contextmanager
def join_database(place: ServerPlace) -> Iterator[Database]:
    """Open the named database, or that of a running server in the data folder; else start one."""
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
    """Return the address of the PostgreSQL that a server in this folder runs."""
    from backscroll.store.postgres.embedded import DATABASE
    from backscroll.store.postgres.roles import OWNER

    return f"host='{data / 'postgres' / 'socket'}' user='{OWNER}' dbname='{DATABASE}'"


def _answers(database: Database) -> bool:
    try:
        database.connect().close()
    except BackscrollError:
        return False
    return True


def prepare(database: Database, tell: Callable[[str], object] = log.warning) -> list[str]:
    """Migrate the server's own tables and those of the index; return the names of the migrations that were run.

    `tell` is called with each line about access that an update ended, or changes that the audit log lacks.
    """
    from backscroll.store.postgres.migrate import migrate as migrate_index

    with database.transaction() as connection:
        require_owner(connection)
    names = [*migrate(database), *migrate_index(database.address)]
    with database.transaction() as connection:
        grant_to_web(connection)
        lines = reset_after_update(connection)
    for line in lines:
        tell(line)
    return names


def require_ready(database: Database) -> None:
    """Raise an error with the next step if web processes could not serve with this database, or not safely."""
    with database.transaction() as connection:
        require_rights(connection)
        require_guarded(connection)
        require_reset(connection)


def why_sql_is_off(database: Database) -> BackscrollError | None:
    """Return the error for which people's own SQL does not run in this database; None if it runs."""
    from backscroll.store.postgres.sql_login import require_safe_login

    try:
        with database.transaction() as connection:
            require_safe_login(connection)
    except NoPermission as error:
        return error
    return None


def sql_login_statements() -> str:
    """Return the statements that a superuser runs in a database that is not ours, for people's own SQL."""
    from backscroll.store.postgres.sql_login import preparation

    return preparation()


@contextmanager
def database_for_web(place: ServerPlace, database: Database) -> Iterator[Database]:
    """Open the database for a web process: ours with the role of web processes, a named one as it was named."""
    if place.database is not None:
        yield database
        return
    opened = Database(as_web(database.address))
    try:
        yield opened
    finally:
        opened.close()
