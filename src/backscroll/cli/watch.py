"""`backscroll watch`: keep the library up to date as sessions are written."""

import json
from datetime import datetime
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, write, write_no_history, write_note
from backscroll.render.cells import cut
from backscroll.render.terminal import clean_line, plural, size
from backscroll.system import return_freed_memory

if TYPE_CHECKING:
    from backscroll.library.indexing.follow import Followed
    from backscroll.library.library import Library

TITLE = 30


@click.command("watch")
@global_options()
def command() -> None:
    """Follow your Claude Code homes: archive and index whatever is written there, as it is written.

    First brings the library up to date, then prints a line for each change, until you stop it. Meanwhile other commands
    only read, and see what it has indexed. It also syncs with the remotes that `backscroll sync add` has set. To read a
    session as it is written, use `backscroll follow`.

    \b
    Examples:
      backscroll watch
      backscroll watch --quiet &
    """
    from backscroll.library.homes import open_homes
    from backscroll.library.indexing.follow import follow
    from backscroll.library.local import local_library
    from backscroll.library.syncing.automatic import AutomaticSync

    request = current_request()
    settings = request.settings()
    write_no_history(request)
    return_freed_memory()
    library = local_library(settings, open_homes(settings))
    progress = WatchProgress(library, quiet=request.quiet or request.json)
    for round_ in follow(library, progress=progress, companion=AutomaticSync(settings), command="backscroll watch"):
        if not round_.files and not round_.passages:
            continue  # a client reports another state
        if request.json:
            # One object per line: it is a stream.
            write(
                json.dumps(
                    {"files": round_.files, "bytes": round_.size, "records": round_.records, "lines": round_.lines}
                )
            )
        elif not request.quiet:
            write_note(_told(library, round_))


class WatchProgress(ProgressLine):
    """The progress of the first update; says what is watched once everything is up to date."""

    def __init__(self, library: "Library", *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._library = library
        self._quiet = quiet

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Start a step; the last one is to watch."""
        from backscroll.library.indexing.follow import WATCHING

        if what != WATCHING:
            super().begin(what, total, unit)
            return
        self.clear()
        if not self._quiet:
            homes = ", ".join(clean_line(str(home.path)) for home in self._library.homes)
            write_note(f"up to date; watching {homes}")
            write_note("what Claude Code writes there is archived and indexed; Ctrl-C to stop")


def _told(library: "Library", round_: "Followed") -> str:
    read = f"{plural(round_.records, 'record')}, {size(round_.size)}"
    names = sorted(set(library.reader.chat_ids(round_.sources).values()))
    now = f"{datetime.now().astimezone():%H:%M:%S}"
    if not names:
        return f"{now}  {plural(round_.files, 'file')}: {read}"
    if len(names) > 1:
        return f"{now}  {plural(len(names), 'chat')}: {read}"
    title = cut(clean_line(library.find(names[0]).overview.title), TITLE)
    return f"{now}  {names[0][:8]}  {title}: {read}"
