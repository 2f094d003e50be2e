"""`backscroll stats context`: the parts that filled the context."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, by_option, finish, report_options


@click.command("context")
@report_options
@by_option("chat", "tool", "turn", text="Chats, tools, or the turns of one chat.")
@limit_option("rows (without it, 20 chats)")
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, by: str, limit: int | None) -> None:
    """Show what filled the context of chats, and what compactions removed.

    Shares are of the characters in the transcript; beside them is the number of tokens that the answers actually had as
    context. QUERY chooses chats, by the fields of `backscroll search`; `--by turn` needs one.

    \b
    Examples:
      backscroll stats context --since 7d
      backscroll stats context project:shop --by tool
      backscroll stats context chat:4f8c --by turn
    """
    from backscroll.library.analytics.context import context

    _, library, scope = begin(query, since, until)
    limit = 20 if by == "chat" and limit is None else limit
    finish(context(library, scope, by), as_csv=as_csv, limit=limit)
