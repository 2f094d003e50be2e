"""`backscroll stats prompts`: what was typed."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.stats.common import begin, finish, report_options

DIMENSIONS = ("project", "day", "chat")


@click.command("prompts", short_help="How many and how long; interruptions, and what had to be said again.")
@report_options
@click.option("--by", type=click.Choice(DIMENSIONS), default="project", help="What to add up by.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", help="At most so many rows.")
@global_options
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Count what was typed to the model, and how often it was stopped or had to be told again.

    Rework is a prompt that was taken back by a rewind (abandoned), or that says the same as one before it in the chat
    (repeated; of 20 characters or more). Lengths are in characters.

    \b
    Examples:
      backscroll stats prompts --since 30d
      backscroll stats prompts --by day --json
    """
    from backscroll.library.analytics.prompts import prompts

    _, library, asked = begin(query, since, until)
    finish(prompts(library, asked, by), as_csv=as_csv, limit=limit)
