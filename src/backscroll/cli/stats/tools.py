"""`backscroll stats tools`: how tools were used, and how calls ended."""

from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report


@click.command("tools")
@report_options
@by_option("tool", "mcp-server", "project", "model")
@limit_option()
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Count tool calls: how they ended, how long they took, how much went in and out.

    QUERY chooses chats. Each call counts once, however many files repeat it. The error share covers calls that ran:
    denied, interrupted and unanswered calls are counted separately. A duration is the time from the call to its result,
    including any wait for you; negative durations and those of more than a day are left out and counted. Sizes are the
    bytes of the input as JSON, and the characters of the result that the model received.

    \b
    Examples:
      backscroll stats tools --since 30d
      backscroll stats tools --by mcp-server
      backscroll stats tools project:shop --by model --json
    """
    from backscroll.library.analytics.tools import tools

    _, library, scope = begin(query, since, until)
    report = tools(library, scope, by)
    finish(report if as_csv or current_request().json else _for_people(report), as_csv=as_csv, limit=limit)


def _for_people(report: "Report") -> "Report":
    """Drop the columns for outcomes that never occurred."""
    from dataclasses import replace

    total = report.facts["total"]
    seen = [
        number
        for number, name in enumerate(report.columns)
        if name not in ("denied", "interrupted", "missing") or total[name]
    ]
    names = {"errors": "failed_calls", "error_share": "failed_calls_share"}
    heads = [names.get(name, name) for name in report.columns]
    return replace(
        report,
        columns=tuple(heads[number] for number in seen),
        rows=[tuple(row[number] for number in seen) for row in report.rows],
        facts={**report.facts, "total": {names.get(name, name): value for name, value in total.items()}},
    )
