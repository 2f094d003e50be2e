"""`backscroll stats prompts`: what was typed."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.stats.common import begin, finish, report_options

DIMENSIONS = ("project", "day", "chat")


@click.command("prompts")
@report_options
@click.option("--by", type=click.Choice(DIMENSIONS), default="project", help="How to group the numbers.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", help="Show at most this many rows.")
@global_options
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Count prompts, and how often the model was interrupted or a prompt had to be repeated.

    Rework is a prompt that a rewind took back (abandoned), or that repeats an earlier one in the same chat (repeated;
    20 characters or more). Lengths are in characters.

    \b
    Examples:
      backscroll stats prompts --since 30d
      backscroll stats prompts --by day --json
    """
    from backscroll.library.analytics.prompts import prompts

    _, library, asked = begin(query, since, until)
    finish(prompts(library, asked, by), as_csv=as_csv, limit=limit)
