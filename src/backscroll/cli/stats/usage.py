"""`backscroll stats usage`: tokens and money."""

from datetime import UTC, datetime

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options

DIMENSIONS = ("day", "week", "month", "hour", "model", "project", "chat", "agent", "git-branch", "version", "machine")
WORDS = {"daily": "day", "weekly": "week", "monthly": "month", "session": "chat", "blocks": "blocks"}
"""Words that people who come from ccusage type."""


class UsageCommand(click.Command):
    """A command that takes `monthly` for `--by month`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `--by` before a word such as `monthly`, and parse the arguments."""
        if args and args[0] in WORDS:
            args = ["--by", WORDS[args[0]], *args[1:]]
        return super().parse_args(ctx, args)


@click.command("usage", cls=UsageCommand)
@report_options
@by_option(
    "day", "week", "month", "hour", "model", "project", "chat", "agent", "git-branch", "version", "machine", "blocks"
)
@click.option("--breakdown", is_flag=True, help="Split each row by model.")
@limit_option()
@click.option("--explain", is_flag=True, help="Also list every answer that was counted, with its copies.")
@global_options()
def command(
    query: str,
    since: str | None,
    until: str | None,
    as_csv: bool,
    by: str,
    breakdown: bool,
    limit: int | None,
    explain: bool,
) -> None:
    """Add up tokens and costs. Each answer counts once, however many rows and files repeat it.

    QUERY chooses chats, by the fields of `backscroll search`. Costs use the prices of the day of the answer; see
    `backscroll prices`. Days are in your time zone. `daily`, `weekly`, `monthly`, `session` and `blocks` (windows of
    five hours) may stand for --by.

    \b
    Examples:
      backscroll stats usage --since 30d
      backscroll stats usage project:shop --by model --json
      backscroll stats usage --by chat --since 7d --explain
      backscroll stats usage monthly --breakdown --since 20260101
    """
    from backscroll.library.analytics.usage import answers, usage

    _, library, scope = begin(query, since, until)
    if by == "blocks":
        from backscroll.library.analytics.blocks import blocks

        report = blocks(library, scope, datetime.now(UTC))
    else:
        report = usage(library, scope, by, breakdown=breakdown)
    if explain:
        report.explanation = answers(library, scope)
    finish(report, as_csv=as_csv, limit=limit)
