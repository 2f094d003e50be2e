"""`backscroll stats usage`: tokens and money."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.stats.common import begin, finish, report_options

DIMENSIONS = ("day", "week", "month", "hour", "model", "project", "chat", "agent", "git-branch", "version", "machine")


@click.command("usage")
@report_options
@click.option("--by", type=click.Choice(DIMENSIONS), default="day", help="How to group the numbers.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", help="Show at most this many rows.")
@click.option("--explain", is_flag=True, help="Also list every answer that was counted, with its copies.")
@global_options
def command(
    query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None, explain: bool
) -> None:
    """Add up tokens and costs. Each answer counts once, however many rows and files repeat it.

    QUERY chooses chats, by the fields of `backscroll search`. Costs use the prices of the day of the answer; see
    `backscroll prices`. Days are in your time zone.

    \b
    Examples:
      backscroll stats usage --since 30d
      backscroll stats usage project:shop --by model --json
      backscroll stats usage --by chat --since 7d --explain
    """
    from backscroll.library.analytics.usage import answers, usage

    _, library, asked = begin(query, since, until)
    report = usage(library, asked, by)
    if explain:
        report.explanation = answers(library, asked)
    finish(report, as_csv=as_csv, limit=limit)
