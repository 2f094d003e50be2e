"""`backscroll stats spend`: what a period cost, what changed, and why."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options

FILTERS = ("model", "project", "chat", "agent", "tool")


def _filters(command: click.decorators.FC) -> click.decorators.FC:
    for name in reversed(FILTERS):
        command = click.option(f"--{name}", metavar="NAME", default="", help=f"Count only this {name}.")(command)
    return command


@click.command("spend")
@report_options
@by_option("why", "model", "project", "chat", "agent", "tool", "turn")
@_filters
@limit_option(default=20)
@global_options()
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

    _, library, scope = begin(query, since or ("" if until else DEFAULT_SINCE), until)
    finish(spend_report(library, scope, by, datetime.now(UTC), SpendFilter(**only)), as_csv=as_csv, limit=limit)
