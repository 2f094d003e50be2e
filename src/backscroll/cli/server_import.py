"""`backscroll server import`: a history for a person, and how it is undone."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import PATH, current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.cli.server_place import PlaceOptions, opened_server, place_options
from backscroll.errors import UsageError
from backscroll.render.terminal import clean_line, size

if TYPE_CHECKING:
    from backscroll.team.import_history import Imported


@click.command("import", short_help="Import a history for a person, or undo an import.")
@click.argument("source", type=PATH, required=False)
@click.option("--person", "who", metavar="EMAIL", help="Whose history it is: e-mail address or handle.")
@click.option("--mode", type=click.Choice(["redacted", "full"]), default="redacted", show_default=True,
              help="Whether secrets are masked.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be imported, without importing it.")
@click.option("--undo", metavar="NAME", help="Remove what an import brought; by its name in Devices.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_import(
    source: Path | None, who: str | None, mode: str, dry_run: bool, undo: str | None, where: PlaceOptions
) -> None:
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
        with opened_server(where.place()) as (opened, store, libraries):
            with opened.transaction() as connection:
                ask_undo(connection, None, undo)
            undo_now(opened, store, libraries, undo)
        write_json({"undone": undo}) if current_request().json else write(f"Removed what {undo} brought.")
        return
    if source is None or who is None:
        raise UsageError("say what to import, and for whom", "backscroll server import FOLDER --person HANDLE")
    place = where.place()
    with opened_server(place) as (opened, store, libraries):
        with opened.transaction() as connection:
            person = find_by_name(connection, who)
        work = place.data / "imports" / person.handle
        done = import_history(
            opened, store, libraries, person, source, work, mode=SyncMode(mode), is_trial=dry_run
        )  # fmt: skip
    if current_request().json:
        write_json(import_as_json(done))
    else:
        tell_import(done, person.handle, is_trial=dry_run)


def import_as_json(done: "Imported") -> dict[str, object]:
    """What an import found and did."""
    files = [{"path": one.path, "bytes": one.size, "standing": one.standing} for one in done.files]
    counts = {str(standing): count for standing, count in done.totals.items()}
    return {
        "sessions": len(done.files), **counts, "bytes": sum(one.size for one in done.files), "copies": done.copies,
        "left_out": done.left_out, "device": done.device or None, "files": files,
    }  # fmt: skip


def tell_import(done: "Imported", handle: str, *, is_trial: bool = False) -> None:
    """Say of each file how it stands to what the person has, and what was imported."""
    totals = done.totals
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
