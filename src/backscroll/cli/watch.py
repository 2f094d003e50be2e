"""`backscroll watch`: keep the library up to date as sessions are written."""

import json

import click

from backscroll.cli.options import global_options, request
from backscroll.cli.output import tell, tell_no_history, write
from backscroll.render.terminal import plural, size


@click.command("watch", short_help="Keep the library up to date while you work.")
@global_options
def command() -> None:
    """Follow your Claude Code homes: whatever is written there is kept, read and findable a moment later.

    Runs until it is stopped. Other commands only read meanwhile, and see what it has read.

    \b
    Examples:
      backscroll watch
      backscroll watch --quiet &
    """
    from backscroll.library import follow, local_library, open_homes

    asked = request()
    settings = asked.settings()
    tell_no_history(asked)
    for round_ in follow(local_library(settings, open_homes(settings))):
        if asked.json:
            # One object a line: it is a stream.
            write(
                json.dumps(
                    {"files": round_.files, "bytes": round_.size, "records": round_.records, "lines": round_.lines}
                )
            )
        elif not asked.quiet:
            tell(f"read {size(round_.size)} of {plural(round_.files, 'file')}: {plural(round_.records, 'record')}")
