"""`backscroll watch`: keep the library up to date as sessions are written."""

import json

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write, write_no_history, write_note
from backscroll.render.terminal import plural, size


@click.command("watch")
@global_options
def command() -> None:
    """Follow your Claude Code homes: archive and index whatever is written there, as it is written.

    Runs until you stop it. Meanwhile other commands only read, and see what it has indexed.

    \b
    Examples:
      backscroll watch
      backscroll watch --quiet &
    """
    from backscroll.library.homes import open_homes
    from backscroll.library.indexing.follow import follow
    from backscroll.library.local import local_library

    request = current_request()
    settings = request.settings()
    write_no_history(request)
    for round_ in follow(local_library(settings, open_homes(settings))):
        if request.json:
            # One object per line: it is a stream.
            write(
                json.dumps(
                    {"files": round_.files, "bytes": round_.size, "records": round_.records, "lines": round_.lines}
                )
            )
        elif not request.quiet:
            write_note(
                f"read {size(round_.size)} of {plural(round_.files, 'file')}: {plural(round_.records, 'record')}"
            )
