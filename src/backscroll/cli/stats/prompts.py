"""`backscroll stats prompts`: typed prompts, interruptions and repetitions."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options


@click.command("prompts")
@report_options
@by_option("project", "day", "chat")
@limit_option()
@global_options()
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

    _, library, scope = begin(query, since, until)
    finish(prompts(library, scope, by), as_csv=as_csv, limit=limit)
