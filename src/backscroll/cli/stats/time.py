"""`backscroll stats time`: where the time went."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.stats.common import begin, finish, report_options

DIMENSIONS = ("project", "day", "model", "chat")


@click.command("time", short_help="Active time, waiting on model, tools and you; how long turns take.")
@report_options
@click.option("--by", type=click.Choice(DIMENSIONS), default="project", help="What to add up by.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", help="At most so many rows.")
@global_options
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Add up where the time went, by the times of the rows of each chat.

    What lies between two rows belongs to the one that ends it: an answer ends a wait for the model, a result a wait for
    a tool, a prompt or your answer to a question a wait for you. More than 5 minutes before a prompt, and waits of more
    than an hour, are time away. Times are put to the day on which they end. Seconds everywhere.

    \b
    Examples:
      backscroll stats time --since 30d
      backscroll stats time project:shop --by day --json
      backscroll stats time --by model --csv
    """
    from backscroll.library.analytics.time import time_spent

    _, library, asked = begin(query, since, until)
    finish(time_spent(library, asked, by), as_csv=as_csv, limit=limit)
