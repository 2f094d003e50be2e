"""A command group that imports each command only when it is used, so that start-up stays fast."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Loads commands by module name; each module has its command as `command`."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Every name, in the order of the help."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name, if there is one."""
        module = self._modules.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command
