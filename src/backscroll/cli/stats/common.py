"""Parts of all reports on the command line: options and output."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from backscroll.cli.options import Request, current_request, period_options
from backscroll.cli.output import heading, open_library, write_csv, write_json, write_note
from backscroll.cli.paging import width, write_lines
from backscroll.render.terminal import clean_line, zone_of

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report, ReportRequest
    from backscroll.library.library import Library

Command = TypeVar("Command", bound=Callable[..., Any])


def report_options(command: Command) -> Command:
    """Add the options of every report: a query, a period, and --csv."""
    return click.argument("query", metavar="[QUERY]", default="")(period_options(csv_option(command)))


def by_option(*names: str, text: str = "How to group the numbers.") -> Callable[[Command], Command]:
    """Add --by, which chooses one of these names; without it, the first."""
    return click.option("--by", type=click.Choice(names), default=names[0], help=text)


def begin(query: str, since: str | None, until: str | None) -> "tuple[Request, Library, ReportRequest]":
    """Open the library, and return it with the scope of the report."""
    from backscroll.library.analytics.reports import ReportRequest
    from backscroll.query.parse import parse
    from backscroll.query.times import parse_moment

    now = datetime.now().astimezone()
    scope = ReportRequest(
        query=parse(query, now) if query else None,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
    )
    return current_request(), open_library(current_request()), scope


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
        table = report.explanation or report
        write_csv(table.columns, table.rows if table is not report else rows)
        return
    left_out = _write_tables(report, rows)
    if request.quiet:
        return
    if len(rows) < len(report.rows):
        write_note(f"{len(report.rows) - len(rows):,} more rows: --limit")
    if left_out:
        names = ", ".join(name.lower() for name in left_out)
        write_note(f"no room for {names}: use a wider terminal, --csv or --json")
    for note in report.notes:
        write_note(clean_line(note))


def _write_tables(report: "Report", rows: "list[tuple[Any, ...]]") -> list[str]:
    """Print the report, and below it what explains its numbers; return the columns for which there was no room."""
    from backscroll.render.reports import report_table

    room, zone = width(), zone_of([datetime.now().astimezone()])
    total = report.facts.get("total")
    main = report_table(report.columns, rows, report.bar, room, total, zone)
    lines = _styled(main.lines, has_total=bool(total and rows))
    left_out = main.left_out
    if report.explanation is not None:
        more = report_table(report.explanation.columns, report.explanation.rows, None, room, zone=zone)
        lines += ["", *_styled(more.lines, has_total=False)]
        left_out = list(dict.fromkeys([*left_out, *more.left_out]))
    write_lines(lines)
    return left_out


def _styled(lines: list[str], *, has_total: bool) -> list[str]:
    return [
        heading(line) if number == 0 or (has_total and number == len(lines) - 1) else line
        for number, line in enumerate(lines)
    ]


csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
