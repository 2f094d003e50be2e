"""`backscroll update`: bring the library up to date."""

import click

from backscroll.cli.options import global_options, request
from backscroll.cli.output import ProgressLine, tell, tell_updated, write_json
from backscroll.render.terminal import plural, size


@click.command("update", short_help="Bring the library up to date.")
@click.option("--rebuild", is_flag=True, help="Make the index again from the start, then replace the old one.")
@global_options
def command(rebuild: bool) -> None:
    """Keep what is new, read it, and make every word of it findable.

    Other commands do this by themselves as far as they need it. It can be stopped at any time, and goes on from there.

    \b
    Examples:
      backscroll update
      backscroll update --rebuild
    """
    from backscroll.library import local_library, no_history, open_homes

    asked = request()
    settings = asked.settings()
    homes = open_homes(settings)
    if not any(home.exists for home in homes):
        raise no_history(homes)
    with local_library(settings, homes) as library, ProgressLine(quiet=asked.quiet, plain=True) as progress:
        told = library.rebuild(progress) if rebuild else library.update(progress)
    if not asked.quiet:
        tell_updated(told, verbose=True)
    if asked.json:
        write_json({
            "files": told.work.files,
            "bytes": told.work.size,
            "records": told.work.records,
            "chats": told.work.chats,
            "passages": told.passages,
            "kept_bytes": told.kept,
            "unreadable": [{"file": str(item.path), "reason": item.reason} for item in told.unreadable],
        })  # fmt: skip
    elif not asked.quiet and told.is_nothing:
        tell("everything is up to date")
    elif not asked.quiet:
        read = f"read {size(told.work.size)} of {plural(told.work.files, 'file')}"
        tell(f"{read}: {plural(told.work.chats, 'chat')} changed, {plural(told.passages, 'passage')} indexed")
