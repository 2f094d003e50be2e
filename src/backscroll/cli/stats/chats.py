"""`backscroll stats chats`: how long and how large chats are."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options


@click.command("chats")
@report_options
@by_option("project", "model", "week", "month")
@limit_option()
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Show how long and how large chats are: turns, tokens, cost and active time.

    Of each, p50 is the median, nine of ten chats have no more than p90, 19 of 20 no more than p95, and max is the
    largest. Each chat counts once, with what happened in the period. The last line is for all chats.

    \b
    Examples:
      backscroll stats chats --since 30d
      backscroll stats chats --by model --json
      backscroll stats chats project:shop --by week --csv
    """
    from backscroll.library.analytics.chats import chats

    _, library, scope = begin(query, since, until)
    finish(chats(library, scope, by), as_csv=as_csv, limit=limit)
