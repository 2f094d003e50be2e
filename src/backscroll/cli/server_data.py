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
from backscroll.render.terminal import clean_line, size

if TYPE_CHECKING:
    from backscroll.sync.remotes import Remote
    from backscroll.team.database import Database
    from backscroll.team.import_history import Imported
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


@click.command("export", short_help="Write what a person, a project or everyone has into a folder.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--person", "who", metavar="EMAIL", help="Only this person, by e-mail address or handle.")
@click.option("--org", metavar="NAME", help="Only this organisation; needed if there are several.")
@click.option("--project", metavar="NAME", help="Only the chats of a project: a folder, or its last part.")
@place_options
@global_options
def server_export(
    folder: Path, who: str | None, org: str | None, project: str | None,
    data: Path | None, database: str | None, objects: str | None,
) -> None:  # fmt: skip
    """Write session files, byte for byte as machines sent them, and usage.csv into a new FOLDER.

    \b
    Examples:
      backscroll server export ada-export --person ada@example.org
      backscroll server export shop-export --project shop
    """
    from backscroll.team.erasures import find_by_name
    from backscroll.team.export_history import export_history
    from backscroll.team.people import org_of, people

    with _opened(data, database, objects) as (opened, _, libraries):
        with opened.transaction() as connection:
            chosen = [find_by_name(connection, who)] if who else people(connection, org_of(connection, org))
        done = export_history(opened, libraries, chosen, folder, project)
    if current_request().json:
        write_json({"people": done.people, "files": done.files, "bytes": done.size})
    else:
        write(f"Wrote {done.files} files of {done.people} people ({size(done.size)}), and usage.csv, to {folder}.")


@click.command("import", short_help="Import a history for a person, or undo an import.")
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--person", "who", metavar="EMAIL", help="Whose history it is: e-mail address or handle.")
@click.option("--mode", type=click.Choice(["redacted", "full"]), default="redacted", show_default=True,
              help="Whether secrets are masked.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and import nothing.")
@click.option("--undo", metavar="NAME", help="Remove what an import brought; it is called as in Devices.")
@place_options
@global_options
def server_import(
    source: Path | None, who: str | None, mode: str, dry_run: bool, undo: str | None,
    data: Path | None, database: str | None, objects: str | None,
) -> None:  # fmt: skip
    """Import session files (.jsonl) below a folder, or what ClaudeLens exported (.json), for a person.

    A dump of its collection of messages, as mongoexport writes it, is taken too, and keeps more.

    Each file is compared with what the person has of its session. What is equal is not imported again. What is longer,
    or in conflict because lines differ, is kept beside it, and the chat shows both. The import appears as a machine of
    the person.

    --undo removes what an import brought, and leaves everything else. A legal hold stops it.

    \b
    Examples:
      backscroll server import /backup/ada/.claude --person ada --dry-run
      backscroll server import claudelens-export.json --person ada@example.org
      backscroll server import --undo ada/import
    """
    from backscroll.sync.policy import SyncMode
    from backscroll.team.erasures import find_by_name
    from backscroll.team.import_history import import_history
    from backscroll.team.undo_import import ask_undo, undo_now

    if undo is not None:
        if source is not None or who is not None or dry_run:
            raise UsageError("--undo takes only the name of an import", "for example --undo ada/import")
        with _opened(data, database, objects) as (opened, store, libraries):
            with opened.transaction() as connection:
                ask_undo(connection, None, undo)
            undo_now(opened, store, libraries, undo)
        write_json({"undone": undo}) if current_request().json else write(f"Removed what {undo} brought.")
        return
    if source is None or who is None:
        raise UsageError("say what to import, and for whom", "backscroll server import FOLDER --person HANDLE")
    place = place_of(data, database, objects)
    with _opened(data, database, objects) as (opened, store, libraries):
        with opened.transaction() as connection:
            person = find_by_name(connection, who)
        work = place.data / "imports" / person.handle
        done = import_history(
            opened, store, libraries, person, source, work, mode=SyncMode(mode), is_trial=dry_run
        )  # fmt: skip
    _tell_import(done, person.handle, is_trial=dry_run)


def _tell_import(done: "Imported", handle: str, *, is_trial: bool) -> None:
    totals, total = done.totals, sum(one.size for one in done.files)
    if current_request().json:
        files = [{"path": one.path, "bytes": one.size, "standing": one.standing} for one in done.files]
        counts = {str(standing): count for standing, count in totals.items()}
        write_json(
            {"sessions": len(done.files), **counts, "bytes": total, "copies": done.copies,
             "left_out": done.left_out, "device": done.device or None, "files": files}
        )  # fmt: skip
        return
    for one in sorted(done.files, key=lambda one: (list(totals).index(one.standing), one.path)):
        write(f"{one.standing:<9}  {size(one.size):>8}  {clean_line(one.path)}")
    told = {"new": "new", "equal": f"equal to what {handle} has", "longer": f"longer than what {handle} has",
            "conflict": "in conflict with it (both are kept)", "forgotten": "forgotten or expired here"}  # fmt: skip
    parts = ", ".join(f"{count} {told[standing]}" for standing, count in totals.items() if count)
    left = "".join(
        f" {label}: {count}." for label, count in (("Copies", done.copies), ("Left out", done.left_out)) if count
    )
    what = f"{len(done.sent)} of {len(done.files)} session files"
    sent = f"Would import {what}" if is_trial else f"Imported {what}"
    named = f", as {done.device}" if done.device else ""
    write(f"{sent} ({size(sum(one.size for one in done.sent))}){named}: {parts}.{left}")


@click.command("backup", short_help="Back up what cannot be made again.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--with-objects", is_flag=True, help="Also copy every object, not only the list of them.")
@place_options
@global_options
def server_backup(
    folder: Path, with_objects: bool, data: Path | None, database: str | None, objects: str | None
) -> None:
    """Back up people, rights, the audit log, the ledger of erasures, pins and notes, and a list of all objects.

    It writes into a new FOLDER and reads everything again. Indexes and archives are not in it: they are made from the
    objects. The server may run meanwhile.

    \b
    Examples:
      backscroll server backup /backup/monday --with-objects
      backscroll server backup /backup/monday --database postgresql://… --objects s3://…
    """
    from backscroll.team.backup import back_up_server

    place = place_of(data, database, objects)
    with _opened(data, database, objects) as (opened, store, _):
        done = back_up_server(opened, store, place.data, folder, with_objects=with_objects)
    rows = sum(one.rows for name, one in done.files.items() if name.startswith("tables/"))
    if current_request().json:
        write_json({"rows": rows, "objects": done.objects, "object_bytes": done.object_bytes})
        return
    how = "copied and listed" if with_objects else "listed"
    stored = f"{done.objects} objects ({size(done.object_bytes)}) {how}"
    write(f"Backed up {rows} rows; {stored}. Read again: all as written.")


@click.command("restore", short_help="Restore a server from a backup.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@place_options
@global_options
def server_restore(folder: Path, data: Path | None, database: str | None, objects: str | None) -> None:
    """Restore a backup into a new database. Who was erased since it was made is erased again, before it serves.

    Workers then make the indexes from the objects.

    \b
    Examples:
      backscroll server restore /backup/monday
      backscroll server restore /backup/monday --database postgresql://… --objects s3://…
    """
    from backscroll.team.restore import restore_server

    place = place_of(data, database, objects)
    with _opened(data, database, objects) as (opened, store, libraries):
        done = restore_server(opened, store, libraries, place.data, folder)
    if current_request().json:
        write_json({"people": done.people, "erased": done.erased, "missing_objects": done.missing})
        return
    write(f"Restored {done.people} people as of {done.manifest.created}.")
    if done.erased:
        write(f"Erased again: {', '.join(done.erased)}.")
    if done.missing:
        write(f"{len(done.missing)} objects of the backup's list are missing, such as {done.missing[0]}.")
    write("Start the server: its worker makes the indexes.")


@click.command("allow-passwords", short_help="Let people sign in with passwords again.")
@click.option("--org", metavar="NAME", help="Only this organisation; needed if there are several.")
@click.option("--owner", metavar="HANDLE", help="Also print a link with which this owner chooses a new password.")
@place_options
@global_options
def server_allow_passwords(
    org: str | None, owner: str | None, data: Path | None, database: str | None, objects: str | None
) -> None:
    """Let people sign in with passwords again: the way back when the identity provider fails.

    \b
    Examples:
      backscroll server allow-passwords
      backscroll server allow-passwords --owner admin --database postgresql://…
    """
    from backscroll.team.passwords import allow_by_operator
    from backscroll.team.people import org_of

    with _opened(data, database, objects) as (opened, _, _), opened.transaction() as connection:
        secret = allow_by_operator(connection, org_of(connection, org), owner)
    link = f"/welcome?link={secret}" if secret else None
    if current_request().json:
        write_json({"link": link})
        return
    write("People can sign in with passwords again.")
    if link:
        write(f"{owner} chooses a new password at the address of the server followed by {link}")


COMMANDS = (server_allow_passwords, server_backup, server_erase, server_export, server_import, server_restore)
