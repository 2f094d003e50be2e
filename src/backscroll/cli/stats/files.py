"""`backscroll stats files`: the files that were read and changed most."""

import shutil
import sys
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, finish, report_options

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report

NARROW = 100
OTHERS = {"edits": 7, "reads": 7, "failed": 8, "chats": 7, "added": 8, "removed": 9, "first": 12, "last": 12}
"""Columns of a terminal that each column takes, with the space before it."""
sort_option = click.option(
    "--sort", type=click.Choice(["edits", "reads", "chats", "last"]), default="edits",
    help="What to sort by, highest first.",
)  # fmt: skip


@click.command("files")
@report_options
@sort_option
@limit_option(default=20)
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, sort: str, limit: int) -> None:
    """Count how often files were read and changed, in how many chats, and the lines added and removed.

    QUERY chooses chats, by the fields of `backscroll search`. Each call counts once, including those of agents. Changes
    made by shell commands are not known.

    \b
    Examples:
      backscroll stats files --since 30d
      backscroll stats files project:shop --sort reads -n 50
      backscroll stats files --csv
    """
    from backscroll.library.analytics.files import files

    request, library, scope = begin(query, since, until)
    report = files(library, scope, sort, limit)
    if sys.stdout.isatty() and not as_csv and not request.json:
        _fit(report, shutil.get_terminal_size().columns)
    finish(report, as_csv=as_csv, limit=limit)


def _fit(report: "Report", width: int) -> None:
    """Fit the report into the terminal: keep the end of a path, show only the day, and drop some columns."""
    visible = [name for name in report.columns if width >= NARROW or name not in ("failed", "first")]
    room = max(12, width - sum(OTHERS.get(name, 0) for name in visible))
    rows = []
    for row in report.as_dicts():
        path = row["file"]
        row["file"] = path if len(path) <= room else "…" + path[1 - room :]
        row |= {name: row[name] and row[name][:10] for name in ("first", "last")}
        rows.append(tuple(row[name] for name in visible))
    report.columns, report.rows, report.bar = tuple(visible), rows, None
