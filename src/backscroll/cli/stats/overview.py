"""`backscroll stats` without a report: everything on one screen."""

import shutil
import sys
from datetime import UTC, datetime

from backscroll.cli.options import current_request
from backscroll.cli.output import write, write_json, write_note
from backscroll.cli.stats.common import begin
from backscroll.render.terminal import clean_line


def write_overview(since: str | None, until: str | None) -> None:
    """Print the overview of all chats."""
    from backscroll.library.analytics.overview import overview

    options, library, about = begin("", since, until)
    totals = overview(library, about, datetime.now(UTC))
    if options.json:
        write_json({name: value for name, value in totals.items() if name != "notes"})
        return
    from backscroll.render.charts import overview_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in overview_lines(totals, width):
        write(line)
    if not current_request().quiet:
        for note in totals["notes"]:
            write_note(clean_line(note))
