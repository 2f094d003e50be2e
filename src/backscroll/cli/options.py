"""The options that every command takes, before or after its name."""

import os
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
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
    given: set[str] = field(default_factory=set)
    """Names of the options on the command line that choose what is read or printed."""
    closing: ExitStack = field(default_factory=ExitStack)
    """Resources to close when the command ends, however it ends."""
    _room: "Sandbox | None" = None

    @property
    def quiet(self) -> bool:
        """Whether only errors may go to stderr."""
        return self.verbosity < 0

    def settings(self) -> Settings:
        """Return options, environment and settings file combined; with --demo, the settings of the demo."""
        if self.demo:
            self.room()
            return replace(load_settings(), is_demo=True)
        return load_settings(self.homes, self.library)

    def room(self, notice: str = "demo: sample conversations, not your own") -> "Sandbox":
        """Return the demo, created on first use; from then on the environment points to it."""
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
        """Clean up after a signal, and exit without waiting for threads."""
        try:
            self.closing.close()
        finally:
            os._exit(128 + number)

    def refuse_demo(self, what: str) -> None:
        """Raise an error in the demo, for commands that would change something outside it."""
        if self.demo:
            raise UsageError(f"the demo does not {what}", "leave out --demo to use your own history")


Command = TypeVar("Command", bound=Callable[..., Any])


class LocalPath(click.Path):
    """A path on this machine. An address such as `s3://…` would otherwise be taken for a folder named `s3:`."""

    def __init__(self, *, file_okay: bool = True) -> None:
        super().__init__(file_okay=file_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Return the path; raise an error for an address."""
        if "://" in str(value):
            self.fail(f"{value} is an address; give a path on this machine.", param, ctx)
        return super().convert(value, param, ctx)


class UnusedOption(click.Option):
    """A global option without effect on a command: it is refused, wherever it stands, and not in the help."""

    def __init__(self, *names: Any, instead: str, callback: Callable[..., object], **settings: Any) -> None:  # noqa: ANN401
        def refuse(context: click.Context, option: click.Parameter, value: object) -> None:
            callback(context, option, value)
            if option.name in _request(context).given and not context.resilient_parsing:
                name = option.opts[0]
                reason = f"; {instead}" if instead else ""
                raise UsageError(
                    f"{context.command_path} does not use {name}{reason}",
                    f"leave out {name}; see {context.command_path} --help",
                )

        # Eager: this is said before anything that the command needs is missed.
        super().__init__(*names, callback=refuse, is_eager=True, **{**settings, "hidden": True})


def global_options(*, unused: Collection[str] = (), instead: str = "") -> Callable[[Command], Command]:
    """Add the options that every command takes. Their values are in `current_request()`, not in the arguments.

    `unused` has the names of those that make no difference to the command, such as `library`. They are refused, and the
    error names `instead`, the option to use. A group must use what its commands use.
    """

    def add(command: Command) -> Command:
        for name, option in reversed(OPTIONS.items()):
            command = option(cls=UnusedOption, instead=instead)(command) if name in unused else option()(command)
        return command

    return add


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
    """Return the global options of the running command."""
    return _request(click.get_current_context())


def _request(context: click.Context) -> Request:
    root = context.find_root()
    if not isinstance(root.obj, Request):
        root.obj = Request()
    return root.obj


def _store_homes(context: click.Context, option: click.Parameter, value: tuple[Path, ...]) -> None:
    _request(context).homes.extend(value)
    _note_given(context, option, value)


def _store_library(context: click.Context, option: click.Parameter, value: Path | None) -> None:
    if value is not None:
        _request(context).library = value
    _note_given(context, option, value)


def _store_json(context: click.Context, option: click.Parameter, value: bool) -> None:
    _request(context).json |= value
    _note_given(context, option, value)


def _store_demo(context: click.Context, option: click.Parameter, value: bool) -> None:
    _request(context).demo |= value
    _note_given(context, option, value)


def _note_given(context: click.Context, option: click.Parameter, value: object) -> None:
    if value and option.name:
        _request(context).given.add(option.name)


def _store_no_pager(context: click.Context, _: click.Parameter, value: bool) -> None:
    _request(context).no_pager |= value


def _store_color(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().color = context.color = False


def _more(context: click.Context, _: click.Parameter, value: int) -> None:
    _request(context).verbosity += value


def _less(context: click.Context, _: click.Parameter, value: int) -> None:
    _request(context).verbosity -= value


PATH = LocalPath()
FOLDER = LocalPath(file_okay=False)
OPTIONS = {
    "home": partial(
        click.option, "--home", "homes", type=PATH, multiple=True, metavar="DIR", expose_value=False,
        callback=_store_homes,
        help="A Claude Code home to read; can be repeated. Default: $CLAUDE_CONFIG_DIR, else ~/.claude.",
    ),
    "library": partial(
        click.option, "--library", type=PATH, metavar="DIR", expose_value=False, callback=_store_library,
        help="Where backscroll stores its data. Default: $BACKSCROLL_LIBRARY, else the system's data folder.",
    ),
    "demo": partial(
        click.option, "--demo", is_flag=True, expose_value=False, callback=_store_demo,
        help="Use sample conversations; your own data is neither read nor changed.",
    ),
    "json": partial(
        click.option, "--json", "as_json", is_flag=True, expose_value=False, callback=_store_json,
        help="Print results and errors as JSON.",
    ),
    "no-color": partial(
        click.option, "--no-color", is_flag=True, expose_value=False, callback=_store_color,
        help="Do not use colours; the same as setting NO_COLOR.",
    ),
    "no-pager": partial(
        click.option, "--no-pager", is_flag=True, expose_value=False, callback=_store_no_pager,
        help="Print long results without a pager.",
    ),
    "verbose": partial(
        click.option, "-v", "--verbose", count=True, expose_value=False, callback=_more,
        help="Print more details.",
    ),
    "quiet": partial(
        click.option, "-q", "--quiet", count=True, expose_value=False, callback=_less,
        help="Print no notes or progress.",
    ),
}  # fmt: skip
"""Options by name. Those after `json` change only how something is shown, and every command takes them."""
PERIOD_OPTIONS = (
    click.option("--since", metavar="TIME", help="Start of the period: 2026-01-05, 2026-02, mon, 7d, 3mo."),
    click.option("--until", metavar="TIME", help="End of the period: a day (included) or a time."),
)
