"""`backscroll stats sequences`: which tools follow one another, and which calls fail again and again."""

from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options, limit_option
from backscroll.cli.stats.common import begin, finish, report_options

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report, ReportRequest

LENGTHS = click.IntRange(2, 4)


@click.command("sequences")
@report_options
@click.option("--length", type=LENGTHS, metavar="NUMBER", help="Only sequences of this many calls: 2, 3 or 4.")
@click.option("--fold", is_flag=True, help="Count the same tool several times in a row as once.")
@click.option(
    "--loops", "with_loops", is_flag=True, help="Show calls that failed three or more times in a row instead."
)
@limit_option(default=20)
@global_options()
def command(
    query: str, since: str | None, until: str | None, as_csv: bool, length: int | None, fold: bool, with_loops: bool,
    limit: int,
) -> None:  # fmt: skip
    """Count sequences of two to four tools within a turn.

    QUERY chooses chats. Every occurrence counts, so three reads in a row contain two sequences of two reads; --fold
    counts repeats as one. Parallel calls count as one after the other. A loop is the same call with the same input that
    failed or was denied at least three times in a row.

    \b
    Examples:
      backscroll stats sequences --fold --length 3
      backscroll stats sequences project:shop --since 30d --json
      backscroll stats sequences --loops
    """
    from backscroll.library.analytics.sequences import MAX_LENGTH, MIN_LENGTH, loops, sequences

    _, library, scope = begin(query, since, until)
    if with_loops:
        report = loops(library, scope)
        if not as_csv and not current_request().json:
            report = _for_people(report, scope)
    else:
        report = sequences(library, scope, (length or MIN_LENGTH, length or MAX_LENGTH), fold=fold)
    finish(report, as_csv=as_csv, limit=limit)


def _for_people(report: "Report", asked: "ReportRequest") -> "Report":
    """Return the columns of loops that fit into a terminal."""
    from dataclasses import replace
    from datetime import datetime

    rows = []
    for row in report.as_dicts():
        first = f"{asked.local(datetime.fromisoformat(row['first'])):%Y-%m-%d %H:%M}" if row["first"] else "-"
        rows.append((row["count"], row["tool"], first, row["chat"], row["message"], row["signature"]))
    return replace(report, columns=("count", "tool", "first", "chat", "message", "signature"), rows=rows, bar=None)
