"""What all reports share: their options, and how they are printed."""

import shutil
import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from backscroll.cli.options import Request, current_request
from backscroll.cli.output import open_library, write, write_csv, write_json, write_note
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report, ReportRequest
    from backscroll.library.library import Library

Command = TypeVar("Command", bound=Callable[..., Any])


def report_options(command: Command) -> Command:
    """Add the options of every report."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def begin(query: str, since: str | None, until: str | None) -> "tuple[Request, Library, ReportRequest]":
    """The open library, and what the report is about."""
    from backscroll.library.analytics.reports import ReportRequest
    from backscroll.query.parse import parse
    from backscroll.query.times import parse_moment

    now = datetime.now().astimezone()
    asked = ReportRequest(
        query=parse(query, now) if query else None,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
    )
    return current_request(), open_library(current_request()), asked


def finish(report: "Report", *, as_csv: bool, limit: int | None = None) -> None:
    """Write a report in the format the user chose."""
    request = current_request()
    rows = report.rows if limit is None else report.rows[:limit]
    if request.json:
        answer: dict[str, Any] = {"rows": report.as_dicts()[:limit], **report.facts}
        if report.explanation is not None:
            answer["explanation"] = report.explanation.as_dicts()
        write_json(answer)
        return
    if as_csv:
        shown = report.explanation or report
        write_csv(shown.columns, shown.rows if shown is not report else rows)
        return
    from backscroll.render.reports import report_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in report_lines(report.columns, rows, report.bar, width):
        write(line)
    if len(rows) < len(report.rows) and not request.quiet:
        write_note(f"{len(report.rows) - len(rows):,} more rows: --limit")
    if report.explanation is not None:
        write()
        for line in report_lines(report.explanation.columns, report.explanation.rows, None, width):
            write(line)
    if not request.quiet:
        for note in report.notes:
            write_note(clean_line(note))


OPTIONS = (
    click.argument("query", metavar="[QUERY]", default=""),
    click.option("--since", metavar="TIME", help="Start of the period: 2026-01-05, 2026-02, mon, 7d, 3mo."),
    click.option("--until", metavar="TIME", help="End of the period: a day (included) or a time."),
    click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
)
