"""`backscroll stats topics`: the subjects of chats."""

from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options

if TYPE_CHECKING:
    from backscroll.library.analytics.reports import Report


@click.command("topics")
@report_options
@by_option("project", "week", "month", text="What to find topics of.")
@limit_option()
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Show the words of prompts and titles that stand out in a project, week or month, against everything else.

    With QUERY and a period, only the chosen chats and times count, but still compared with all others. --json
    and --csv have a row for each word: in how many chats and prompts it was said, and the share of prompts with it here
    and elsewhere.

    \b
    Examples:
      backscroll stats topics
      backscroll stats topics --by month --since 6mo
      backscroll stats topics project:shop --json
    """
    from backscroll.library.analytics.topics import topics

    _, library, scope = begin(query, since, until)
    report = topics(library, scope, by)
    finish(report if as_csv or current_request().json else _for_people(report), as_csv=as_csv, limit=limit)


def _for_people(report: "Report") -> "Report":
    """Return a row for each project or period, with its words."""
    from dataclasses import replace

    words: dict[Any, list[str]] = {}
    for name, word, *_ in report.rows:
        words.setdefault(name, []).append(word)
    rows = [(name, ", ".join(some)) for name, some in words.items()]
    return replace(report, columns=(report.columns[0], "words"), rows=rows)
