"""`backscroll stats errors`: recurring tool errors."""

from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options, limit_option
from backscroll.cli.stats.common import begin, finish, report_options

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report, ReportRequest


MAX_EXAMPLE_LENGTH = 300
"""Characters of an example that are printed."""


@click.command("errors")
@report_options
@limit_option("patterns", default=20)
@click.option("--tool", metavar="NAME", help="Only errors of this tool.")
@click.option("--examples", is_flag=True, help="Also show the latest error of each pattern, and where it is.")
@global_options()
def command(
    query: str, since: str | None, until: str | None, as_csv: bool, limit: int, tool: str | None, examples: bool
) -> None:
    """Group tool errors by pattern.

    QUERY chooses chats. A pattern is the line that says what went wrong, without paths, numbers, quoted names and ids.
    It counts as solved if the next attempt succeeded within 10 calls in the same conversation: the next call of the
    same tool on the same file, or with the same program and subcommand in a shell, or any next call for other tools.
    Whether that call was made because of the error is not known.

    \b
    Examples:
      backscroll stats errors --since 30d
      backscroll stats errors --tool Bash --limit 5 --examples
      backscroll stats errors project:shop --json
    """
    from backscroll.library.analytics.errors import errors

    _, library, scope = begin(query, since, until)
    report = errors(library, scope, limit, tool)
    if not as_csv and not current_request().json:
        report = _for_people(report, scope, examples=examples)
    finish(report, as_csv=as_csv)


def _for_people(report: "Report", asked: "ReportRequest", *, examples: bool) -> "Report":
    """Return the columns that fit into a terminal."""
    from dataclasses import replace
    from datetime import datetime

    rows = []
    texts = []
    for row in report.as_dicts():
        last = f"{asked.local(datetime.fromisoformat(row['last'])):%Y-%m-%d}" if row["last"] else "-"
        rows.append((row["count"], row["chats"], last, row["solved_share"], row["tool"], row["signature"]))
        texts.append((row["example_chat"], row["example_message"], row["example"][:MAX_EXAMPLE_LENGTH]))
    changed = replace(
        report, columns=("count", "chats", "last", "solved_share", "tool", "signature"), rows=rows, bar=None
    )
    if examples:
        changed.explanation = replace(report, columns=("chat", "message", "example"), rows=texts, notes=[], bar=None)
    return changed
