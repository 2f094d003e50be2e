"""`backscroll stats …`: numbers about the chats, each with its evidence."""

import click

from backscroll.cli.groups import LazyGroup
from backscroll.cli.options import global_options, period_options

COMMANDS = {
    "usage": "Tokens and costs, by day, model, project …",
    "spend": "What a period cost, what changed, and why.",
    "blocks": "Five-hour windows, and the rate of the open one.",
    "time": "Active time; waits for the model, tools and you; length of turns.",
    "prompts": "Number and length of prompts, interruptions, rework.",
    "chats": "How long and how large chats are: median, nine of ten, the largest.",
    "topics": "What chats are about: words that stand out in a project or period.",
    "activity": "Prompts by weekday and hour, streaks, the busiest day.",
    "compare": "Two projects, models, months … side by side.",
    "tools": "Tool calls: errors, denials, durations, sizes.",
    "errors": "Tool errors by pattern, and how often they were solved.",
    "sequences": "Common sequences of tools, and calls that fail in a loop.",
    "files": "The files that were read and changed most.",
    "folders": "The folders in which files were read and changed most.",
    "context": "What filled the context: prompts, answers, tool outputs …",
    "cache": "How much came from the prompt cache, and what that saved.",
}
"""Each report with its summary. The module of the same name has it as `command`."""


@click.command(
    "stats",
    cls=LazyGroup,
    package=__name__,
    summaries=COMMANDS,
    invoke_without_command=True,
)
@period_options
@global_options()
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
