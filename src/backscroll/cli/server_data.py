"""`backscroll server erase …`: what an operator does with the data of a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.cli.server_place import place_of, place_options
from backscroll.errors import UsageError

if TYPE_CHECKING:
    from backscroll.sync.remotes import Remote
    from backscroll.team.database import Database
    from backscroll.team.libraries import Libraries


@contextmanager
def _opened(
    data: Path | None, database: str | None, objects: str | None
) -> "Iterator[tuple[Database, Remote, Libraries]]":
    from backscroll.sync.remotes import open_remote
    from backscroll.team.libraries import Libraries
    from backscroll.team.operating import join_database
    from backscroll.team.serve import prepare

    place = place_of(data, database, objects)
    with join_database(place) as opened:
        prepare(opened)
        yield opened, open_remote(place.objects_address), Libraries(place.data, opened)


@click.command("erase", short_help="Erase everything of a person.")
@click.argument("who", metavar="EMAIL")
@click.option("--reason", default="", help="For the ledger of erasures.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
@global_options
def server_erase(
    who: str, reason: str, yes: bool, data: Path | None, database: str | None, objects: str | None
) -> None:
    """Erase everything of a person: chats, words, objects, shares, keys and sessions. EMAIL may be a handle, too.

    The files of the database are written anew, so that nothing is left in them. An entry in the ledger of erasures and
    the audit log remain. A legal hold stops it. It cannot be undone.

    \b
    Examples:
      backscroll server erase ada@example.org
      backscroll server erase ada --yes --reason "left the company" --database postgresql://… --objects s3://…
    """
    from backscroll.team.erase_person import erase_now
    from backscroll.team.erasures import ask_erasure, erasure_of, find_by_name
    from backscroll.team.holds import HeldError, holds_on

    with _opened(data, database, objects) as (opened, store, libraries):
        with opened.transaction() as connection:
            person = find_by_name(connection, who)
            if held := holds_on(connection, person.id):
                raise HeldError(held[0])
            is_asked = erasure_of(connection, person.handle) is not None
        if not yes and not click.confirm(f"Erase everything of {person.name} ({person.handle}) for good?"):
            raise UsageError("nothing was erased", "add --yes to erase without being asked")
        if not is_asked:
            with opened.transaction() as connection:
                ask_erasure(connection, None, person.handle, person.org, reason)
        count = erase_now(opened, store, libraries, person.handle)
    if current_request().json:
        write_json({"erased": person.handle, "objects": count})
    else:
        write(f"Erased {person.handle}: {count} objects, and every row and word.")


COMMANDS = (server_erase,)
