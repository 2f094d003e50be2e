"""The options that every command takes, before or after its name."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from backscroll.errors import UsageError
from backscroll.settings import Settings, load_settings

if TYPE_CHECKING:
    from backscroll.demo.sandbox import Sandbox


@dataclass
class Request:
    """The global options of this run."""

    homes: list[Path] = field(default_factory=list)
    library: Path | None = None
    json: bool = False
    verbosity: int = 0
    no_pager: bool = False
    demo: bool = False
    """Whether to use the sample conversations instead of the user's own."""
    reads_history: bool = False
    """Whether the command reads conversations: then it says so if there are none."""
    closing: ExitStack = field(default_factory=ExitStack)
    """What to close when the command ends, however it ends."""
    _room: "Sandbox | None" = None

    @property
    def quiet(self) -> bool:
        """Whether only errors may go to stderr."""
        return self.verbosity < 0

    def settings(self) -> Settings:
        """Options, environment and settings file combined; with --demo, the settings of the demo."""
        if self.demo:
            self.room()
            return replace(load_settings(), is_demo=True)
        return load_settings(self.homes, self.library)

    def room(self, notice: str = "demo: sample conversations, not your own") -> "Sandbox":
        """The demo, created on first use; from then on the environment points to it."""
        if self._room is None:
            from backscroll.cli.output import write_note
            from backscroll.demo.sandbox import open_sandbox

            if self.homes or self.library:
                raise UsageError(
                    "--demo has its own home and library",
                    "leave out --home and --library, or leave out --demo",
                )
            if notice and not self.quiet and not self.json:
                write_note(notice)
            self._room = self.closing.enter_context(open_sandbox(datetime.now().astimezone()))
        return self._room

    def answer_from_sample(self) -> None:
        """Switch to the demo because the user has no history. The caller says so."""
        self.demo = True
        self.library = None
        self.room(notice="")

    def end_at_once(self, number: int, _: object) -> NoReturn:
        """After a signal: clean up, and exit without waiting for threads."""
        try:
            self.closing.close()
        finally:
            os._exit(128 + number)

    def refuse_demo(self, what: str) -> None:
        """Raise an error in the demo, for commands that would change something outside it."""
        if self.demo:
            raise UsageError(f"the demo does not {what}", "leave out --demo to use your own history")


Command = TypeVar("Command", bound=Callable[..., Any])


def global_options(command: Command) -> Command:
    """Add the options that every command takes. Their values are in `current_request()`, not in the arguments."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def period_options(command: Command) -> Command:
    """Add --since and --until, as reports have them."""
    for option in reversed(PERIOD_OPTIONS):
        command = option(command)
    return command


def limit_option(what: str = "rows", default: int | None = None) -> Callable[[Command], Command]:
    """Add --limit: show at most that many of `what`, and without a default all of them."""
    return click.option(
        "-n", "--limit", type=click.IntRange(min=1), default=default, show_default=default is not None,
        metavar="NUMBER", help=f"Show at most this many {what}.",
    )  # fmt: skip


def current_request() -> Request:
    """The global options of the running command."""
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


def _store_demo(context: click.Context, _: click.Parameter, value: bool) -> None:
    _request(context).demo |= value


def _store_no_pager(context: click.Context, _: click.Parameter, value: bool) -> None:
    _request(context).no_pager |= value


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
        help="A Claude Code home to read; can be repeated. Default: $CLAUDE_CONFIG_DIR, else ~/.claude.",
    ),
    click.option(
        "--library", type=PATH, metavar="DIR", expose_value=False, callback=_store_library,
        help="Where backscroll stores its data. Default: $BACKSCROLL_LIBRARY, else the system's data folder.",
    ),
    click.option(
        "--demo", is_flag=True, expose_value=False, callback=_store_demo,
        help="Use sample conversations; your own data is neither read nor changed.",
    ),
    click.option(
        "--json", "as_json", is_flag=True, expose_value=False, callback=_store_json,
        help="Print results and errors as JSON.",
    ),
    click.option(
        "--no-color", is_flag=True, expose_value=False, callback=_store_color,
        help="Do not use colours; the same as setting NO_COLOR.",
    ),
    click.option(
        "--no-pager", is_flag=True, expose_value=False, callback=_store_no_pager,
        help="Print long results without a pager.",
    ),
    click.option("-v", "--verbose", count=True, expose_value=False, callback=_more, help="Print more details."),
    click.option("-q", "--quiet", count=True, expose_value=False, callback=_less, help="Print no notes or progress."),
)  # fmt: skip
PERIOD_OPTIONS = (
    click.option("--since", metavar="TIME", help="Start of the period: 2026-01-05, 2026-02, mon, 7d, 3mo."),
    click.option("--until", metavar="TIME", help="End of the period: a day (included) or a time."),
)
