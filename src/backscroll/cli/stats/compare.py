"""`backscroll stats compare`: two things side by side."""

import shutil
import sys
from datetime import datetime

import click

from backscroll.cli.options import global_options, period_options
from backscroll.cli.output import write, write_note
from backscroll.cli.stats.common import begin, csv_option, finish
from backscroll.render.terminal import clean_line


@click.command("compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@period_options
@csv_option
@global_options()
def command(first: str, second: str, since: str | None, until: str | None, as_csv: bool) -> None:
    """Show the measures of A and B side by side, with their differences.

    Each is a period (2026, 2026-01, 2026-W05, 2026-01-05, today, "last week", mon, or from..to) or a query, which
    chooses chats by the fields of `backscroll search`. With model: in a query, only that model's answers, costs and
    time count.

    \b
    Examples:
      backscroll stats compare project:shop project:store
      backscroll stats compare model:opus model:sonnet --since 30d
      backscroll stats compare 2026-01 2026-02 --json
    """
    from backscroll.library.analytics.compare import compare

    request, library, scope = begin("", since, until)
    report = compare(library, scope, first, second, datetime.now().astimezone())
    if request.json or as_csv:
        finish(report, as_csv=as_csv)
        return
    from backscroll.render.charts import bounded_text, compared_bounds, measure_text
    from backscroll.render.tables import table

    bounds = compared_bounds(report.rows)
    rows = [
        (
            name.removesuffix("_microdollars").removesuffix("_seconds").replace("_", " "),
            bounded_text(name, value, bounds[0]),
            bounded_text(name, other, bounds[1]),
            measure_text(name, difference, signed=True),
            "-" if change is None else f"{100 * change:+.1f} %",
        )
        for name, value, other, difference, change in report.rows
    ]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    head = ("", first, second, "difference", "change")
    for line in table(head, rows, width, [False, True, True, True, True]):
        write(line)
    if not request.quiet:
        for note in report.notes:
            write_note(clean_line(note))
