"""`backscroll stats time`: where the time went."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options


@click.command("time")
@report_options
@by_option("project", "day", "model", "chat")
@limit_option()
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Show where the time went, from the timestamps in each chat.

    The time between two rows counts for the second one: an answer ends a wait for the model, a result a wait for a
    tool, a prompt or your answer to a question a wait for you. More than 5 minutes before a prompt, and any wait of
    more than an hour, count as time away. Times count for the day on which they end. All values are in seconds.

    \b
    Examples:
      backscroll stats time --since 30d
      backscroll stats time project:shop --by day --json
      backscroll stats time --by model --csv
    """
    from backscroll.library.analytics.time import time_spent

    _, library, scope = begin(query, since, until)
    finish(time_spent(library, scope, by), as_csv=as_csv, limit=limit)
