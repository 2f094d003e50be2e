"""`backscroll stats cache`: how well the prompt cache worked."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options


@click.command("cache")
@report_options
@by_option("day", "week", "month", "model", "project", "chat", "pause")
@limit_option()
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Show how much of the input came from the prompt cache, what that saved, and what was missed.

    A miss is an answer that wrote to the cache again what the answer before it already had, a tenth of its context or
    more; `--by pause` shows how long the pauses before misses were. The cache lasts 5 minutes or an hour. QUERY chooses
    chats, by the fields of `backscroll search`.

    \b
    Examples:
      backscroll stats cache --since 30d
      backscroll stats cache --by pause
      backscroll stats cache project:shop --by chat --json
    """
    from backscroll.library.analytics.cache import cache

    _, library, scope = begin(query, since, until)
    finish(cache(library, scope, by), as_csv=as_csv, limit=limit)
