"""`backscroll server import`: import a history for a person, and undo an import."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import PATH, current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.cli.server_place import PlaceOptions, opened_server, place_options
from backscroll.errors import UsageError
from backscroll.render.terminal import clean_line, size

if TYPE_CHECKING:
    from backscroll.team.operating.import_history import Imported


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
    from backscroll.team.keeping.erasures import find_by_name
    from backscroll.team.operating.import_history import import_history
    from backscroll.team.operating.undo_import import ask_undo, undo_now

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
    """Return the findings and results of an import."""
    files = [{"path": file.path, "bytes": file.size, "standing": file.standing} for file in done.files]
    counts = {str(standing): count for standing, count in done.totals.items()}
    return {
        "sessions": len(done.files), **counts, "bytes": sum(file.size for file in done.files), "copies": done.copies,
        "left_out": done.left_out, "device": done.device or None, "files": files,
    }  # fmt: skip


def tell_import(done: "Imported", handle: str, *, is_trial: bool = False) -> None:
    """Print how each file compares with the files of the person, and what was imported."""
    totals = done.totals
    for file in sorted(done.files, key=lambda file: (list(totals).index(file.standing), file.path)):
        write(f"{file.standing:<9}  {size(file.size):>8}  {clean_line(file.path)}")
    phrases = {"new": "new", "equal": f"equal to what {handle} has", "longer": f"longer than what {handle} has",
               "conflict": "in conflict with it (both are kept)", "forgotten": "forgotten or expired here"}  # fmt: skip
    parts = ", ".join(f"{count} {phrases[standing]}" for standing, count in totals.items() if count)
    left = "".join(
        f" {label}: {count}." for label, count in (("Copies", done.copies), ("Left out", done.left_out)) if count
    )
    what = f"{len(done.sent)} of {len(done.files)} session files"
    sent = f"Would import {what}" if is_trial else f"Imported {what}"
    named = f", as {done.device}" if done.device else ""
    write(f"{sent} ({size(sum(file.size for file in done.sent))}){named}: {parts}.{left}")
