"""`backscroll stats …`: numbers one can trust and audit."""

import importlib

import click

from backscroll.cli.options import global_options

COMMANDS = {
    "usage": "backscroll.cli.stats.usage",
}
"""Each report's module, which has it as `command`."""


class Reports(click.Group):
    """The reports, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Every name, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The report of this name, if there is one."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command


@click.command("stats", cls=Reports, short_help="Tokens, costs, tools, errors and time, counted.")
@global_options
def command() -> None:
    """Numbers about your chats. Each says what it counted and what it left out.

    \b
    Examples:
      backscroll stats usage --by model --since 30d
      backscroll stats usage --by day --json
    """
