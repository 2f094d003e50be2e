"""`backscroll stats` without a report: everything on one screen."""

import shutil
import sys
from datetime import UTC, datetime

from backscroll.cli.options import current_request
from backscroll.cli.output import write, write_json, write_note
from backscroll.cli.stats.common import begin
from backscroll.render.terminal import clean_line


def write_overview(since: str | None, until: str | None) -> None:
    """Print the overview."""
    from backscroll.library.analytics.overview import overview

    asked, library, about = begin("", since, until)
    found = overview(library, about, datetime.now(UTC))
    if asked.json:
        write_json({name: value for name, value in found.items() if name != "notes"})
        return
    from backscroll.render.charts import overview_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in overview_lines(found, width):
        write(line)
    if not current_request().quiet:
        for note in found["notes"]:
            write_note(clean_line(note))
