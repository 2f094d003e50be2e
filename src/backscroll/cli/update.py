"""`backscroll update`: bring the library up to date."""

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, write_json, write_note, write_update_notes
from backscroll.errors import Busy
from backscroll.render.terminal import clean_line, plural, size


@click.command("update")
@click.option("--rebuild", is_flag=True, help="Build a new index from scratch, then replace the old one.")
@global_options()
def command(rebuild: bool) -> None:
    """Archive what is new and index it for search.

    Other commands do this automatically as far as they need it. You can stop it at any time; the next run continues
    there. If a running `open` or `watch` does it already, this makes sure of that, and says so.

    \b
    Examples:
      backscroll update
      backscroll update --rebuild
    """
    from backscroll.library.archives import has_history
    from backscroll.library.homes import no_history, open_homes
    from backscroll.library.keeping.watched import confirm_update
    from backscroll.library.local import local_library

    request = current_request()
    settings = request.settings()
    homes = open_homes(settings)
    if not any(home.exists for home in homes) and not has_history(settings, homes):
        raise no_history(homes)
    with local_library(settings, homes) as library, ProgressLine(quiet=request.quiet, plain=True) as progress:
        other = ""
        try:
            updated = library.rebuild(progress) if rebuild else library.update(progress)
        except Busy as busy:
            if rebuild:
                raise
            updated, other = confirm_update(library, busy, progress)
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
            "updated_by": other or None,
        })  # fmt: skip
    elif other and not request.quiet:
        write_note(f"nothing to do: {clean_line(other)} has archived and indexed everything that is there")
    elif not request.quiet and updated.is_nothing:
        write_note("everything is up to date")
    elif not request.quiet:
        read = f"read {size(updated.work.size)} of {plural(updated.work.files, 'file')}"
        write_note(
            f"{read}: {plural(updated.work.chats, 'chat')} changed, {plural(updated.passages, 'passage')} indexed"
        )
