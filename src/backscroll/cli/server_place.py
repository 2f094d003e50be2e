"""Where a server keeps everything: the options that say so, and what they are without them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backscroll import system

if TYPE_CHECKING:
    from backscroll.sync.remotes import Remote
    from backscroll.team.database import Database
    from backscroll.team.libraries import Libraries
    from backscroll.team.serve import ServerPlace


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where a server keeps everything."""
    for option in (
        click.option("--objects", envvar="BACKSCROLL_OBJECTS", metavar="ADDRESS",
                     help="Where to store objects: a folder or s3://…; without it, in the data folder."),
        click.option("--database", envvar="BACKSCROLL_DATABASE", metavar="ADDRESS",
                     help="The PostgreSQL to use, postgresql://…; without it, one is started in the data folder."),
        click.option("--data", type=click.Path(file_okay=False, path_type=Path), envvar="BACKSCROLL_DATA",
                     help="The data folder."),
    ):  # fmt: skip
        command = option(command)
    return command


def place_of(data: Path | None, database: str | None, objects: str | None) -> "ServerPlace":
    """The place that the options name."""
    from backscroll.team.serve import ServerPlace

    return ServerPlace((data or default_data()).absolute(), database, objects)


@contextmanager
def opened_server(
    data: Path | None, database: str | None, objects: str | None
) -> "Iterator[tuple[Database, Remote, Libraries]]":
    """The database, the objects and the libraries of a server, which may run."""
    from backscroll.sync.remotes import open_remote
    from backscroll.team.libraries import Libraries
    from backscroll.team.operating import join_database
    from backscroll.team.serve import prepare

    place = place_of(data, database, objects)
    with join_database(place) as opened:
        prepare(opened)
        yield opened, open_remote(place.objects_address), Libraries(place.data, opened)


def default_data() -> Path:
    """PostgreSQL does not run as root, and no other user can enter root's own folder."""
    if system.user_id() == 0:
        return Path(os.sep, "var", "lib", "backscroll")
    import platformdirs

    return platformdirs.user_data_path("backscroll-server", appauthor=False)
