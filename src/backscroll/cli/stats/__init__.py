"""`backscroll stats …`: numbers about the chats, each with its evidence."""

import click

from backscroll.cli.groups import LazyGroup
from backscroll.cli.options import global_options

COMMANDS = {
    "usage": "backscroll.cli.stats.usage",
    "blocks": "backscroll.cli.stats.blocks",
    "time": "backscroll.cli.stats.time",
    "prompts": "backscroll.cli.stats.prompts",
    "activity": "backscroll.cli.stats.activity",
    "compare": "backscroll.cli.stats.compare",
    "tools": "backscroll.cli.stats.tools",
    "errors": "backscroll.cli.stats.errors",
    "sequences": "backscroll.cli.stats.sequences",
    "files": "backscroll.cli.stats.files",
    "context": "backscroll.cli.stats.context",
    "cache": "backscroll.cli.stats.cache",
}
"""The module of each report; its `command` is the click command."""


@click.command(
    "stats",
    cls=LazyGroup,
    modules=COMMANDS,
    invoke_without_command=True,
    short_help="Tokens, costs, tools, errors and time.",
)
@click.option("--since", metavar="TIME", help="Start of the period: 2026-01-05, yesterday, 7d.")
@click.option("--until", metavar="TIME", help="End of the period: a day (included) or a time.")
@global_options
@click.pass_context
def command(context: click.Context, since: str | None, until: str | None) -> None:
    """Show numbers about your chats. Each report says what it counted and what it left out.

    Without a report name: activity, tokens, costs, the largest shares, and what is about to be deleted, on one screen.

    \b
    Examples:
      backscroll stats --since 30d
      backscroll stats usage --by model --since 30d
      backscroll stats usage --by day --json
    """
    if context.invoked_subcommand is None:
        from backscroll.cli.stats.overview import write_overview

        write_overview(since, until)
    elif since or until:
        raise click.UsageError(f"put --since and --until after {context.invoked_subcommand}", context)
