"""`backscroll stats spend`: what a period cost, what changed, and why."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.stats.common import begin, finish, report_options

DIMENSIONS = ("why", "model", "project", "chat", "agent", "tool", "turn")
FILTERS = ("model", "project", "chat", "agent", "tool")


def _filters(command: click.decorators.FC) -> click.decorators.FC:
    for name in reversed(FILTERS):
        command = click.option(f"--{name}", metavar="NAME", default="", help=f"Count only this {name}.")(command)
    return command


@click.command("spend")
@report_options
@click.option("--by", type=click.Choice(DIMENSIONS), default="why", help="How to group the numbers.")
@_filters
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", default=20, show_default=True,
    help="Show at most this many rows.",
)  # fmt: skip
@global_options
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int, **only: str) -> None:
    """Show what a period cost, against the equally long period before it, and why.

    `--by why` shows what the money paid for: context read again, new context, cache lost in pauses or by a change of
    the model, output, agents. `--by chat` and `--by turn` give the reason of each. Without `--since`, the period is
    the last 7 days. QUERY chooses chats, by the fields of `backscroll search`.

    \b
    Examples:
      backscroll stats spend
      backscroll stats spend --by chat --since 30d
      backscroll stats spend --by turn --project ~/work/shop --json
    """
    from datetime import UTC, datetime

    from backscroll.library.analytics.spend import SpendFilter
    from backscroll.library.analytics.spend_periods import DEFAULT_SINCE
    from backscroll.library.analytics.spend_report import spend_report

    _, library, asked = begin(query, since or ("" if until else DEFAULT_SINCE), until)
    finish(spend_report(library, asked, by, datetime.now(UTC), SpendFilter(**only)), as_csv=as_csv, limit=limit)
