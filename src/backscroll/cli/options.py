"""The options that every command takes, before or after its name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from backscroll.settings import Settings, load_settings


@dataclass
class Request:
    """What the user asked for, apart from the command's own options."""

    homes: list[Path] = field(default_factory=list)
    library: Path | None = None
    json: bool = False
    verbosity: int = 0

    @property
    def quiet(self) -> bool:
        """Whether only errors may go to stderr."""
        return self.verbosity < 0

    def settings(self) -> Settings:
        """Options, environment and settings file together."""
        return load_settings(self.homes, self.library)


Command = TypeVar("Command", bound=Callable[..., Any])


def global_options(command: Command) -> Command:
    """Add the options that every command takes. What they say is in `request()`, not among the arguments."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def request() -> Request:
    """What was asked for in the command that runs now."""
    return _request(click.get_current_context())


def _request(context: click.Context) -> Request:
    root = context.find_root()
    if not isinstance(root.obj, Request):
        root.obj = Request()
    return root.obj


def _store_homes(context: click.Context, _: click.Parameter, value: tuple[Path, ...]) -> None:
    _request(context).homes.extend(value)


def _store_library(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        _request(context).library = value


def _store_json(context: click.Context, _: click.Parameter, value: bool) -> None:
    _request(context).json |= value


def _store_color(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().color = context.color = False


def _more(context: click.Context, _: click.Parameter, value: int) -> None:
    _request(context).verbosity += value


def _less(context: click.Context, _: click.Parameter, value: int) -> None:
    _request(context).verbosity -= value


PATH = click.Path(path_type=Path)
OPTIONS = (
    click.option(
        "--home", "homes", type=PATH, multiple=True, metavar="DIR", expose_value=False, callback=_store_homes,
        help="A Claude Code home to read; may be given several times. Default: $CLAUDE_CONFIG_DIR, else ~/.claude.",
    ),
    click.option(
        "--library", type=PATH, metavar="DIR", expose_value=False, callback=_store_library,
        help="Where backscroll keeps its own data. Default: $BACKSCROLL_LIBRARY, else the system's data folder.",
    ),
    click.option(
        "--json", "as_json", is_flag=True, expose_value=False, callback=_store_json,
        help="Answer, and report errors, as JSON.",
    ),
    click.option(
        "--no-color", is_flag=True, expose_value=False, callback=_store_color,
        help="No colours, as with NO_COLOR set or when the output is no terminal.",
    ),
    click.option("-v", "--verbose", count=True, expose_value=False, callback=_more, help="Say more."),
    click.option("-q", "--quiet", count=True, expose_value=False, callback=_less, help="Say nothing but errors."),
)  # fmt: skip
