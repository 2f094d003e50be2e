"""Command groups: one that names unknown commands, and one that imports a command only when it is used."""

import importlib
import os
from collections.abc import Mapping
from typing import Any

import click


class UnknownCommand(click.UsageError):
    """A name that the group of `ctx` does not have."""

    def __init__(self, name: str, ctx: click.Context) -> None:
        super().__init__(f"there is no command {name}", ctx)
        self.name = name


class CommandGroup(click.Group):
    """A group whose error about an unknown command has the name, so that `cli.mistakes` can suggest another."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise UnknownCommand(args[0], ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(CommandGroup):
    """Load a command from the module of its name in `package`, which has it as `command`; its help needs none."""

    def __init__(self, *args: Any, package: str, summaries: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self._package = package
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return every name, in the order of the help."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of this name, if there is one."""
        if cmd_name not in self._summaries:
            return None
        command: click.Command = importlib.import_module(f"{self._package}.{cmd_name}").command
        command.short_help = self._summaries[cmd_name]
        if "_BACKSCROLL_COMPLETE" in os.environ:
            from backscroll.cli.completion_values import prepare

            prepare(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))
