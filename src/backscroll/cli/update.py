"""`backscroll update`: bring the library up to date."""

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, write_json, write_note, write_update_notes
from backscroll.render.terminal import plural, size


@click.command("update")
@click.option("--rebuild", is_flag=True, help="Build a new index from scratch, then replace the old one.")
@global_options()
def command(rebuild: bool) -> None:
    """Archive what is new and index it for search.

    Other commands do this automatically as far as they need it. You can stop it at any time; the next run continues
    there.

    \b
    Examples:
      backscroll update
      backscroll update --rebuild
    """
    from backscroll.library.homes import no_history, open_homes
    from backscroll.library.local import local_library

    request = current_request()
    settings = request.settings()
    homes = open_homes(settings)
    if not any(home.exists for home in homes):
        raise no_history(homes)
    with local_library(settings, homes) as library, ProgressLine(quiet=request.quiet, plain=True) as progress:
        updated = library.rebuild(progress) if rebuild else library.update(progress)
    if not request.quiet:
        write_update_notes(updated, verbose=True)
    if request.json:
        write_json({
            "files": updated.work.files,
            "bytes": updated.work.size,
            "records": updated.work.records,
            "chats": updated.work.chats,
            "passages": updated.passages,
            "kept_bytes": updated.kept,
            "unreadable": [{"file": str(item.path), "reason": item.reason} for item in updated.unreadable],
        })  # fmt: skip
    elif not request.quiet and updated.is_nothing:
        write_note("everything is up to date")
    elif not request.quiet:
        read = f"read {size(updated.work.size)} of {plural(updated.work.files, 'file')}"
        write_note(
            f"{read}: {plural(updated.work.chats, 'chat')} changed, {plural(updated.passages, 'passage')} indexed"
        )
