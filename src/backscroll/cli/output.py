"""What a command writes: data to stdout, everything else to stderr."""

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from backscroll.errors import BackscrollError, Busy
from backscroll.render.terminal import clean, size

if TYPE_CHECKING:
    from backscroll.cli.options import Request
    from backscroll.library import Shelf


def write(text: str = "") -> None:
    """A line of the answer. The caller has cleaned what came from a transcript."""
    click.echo(text)


def write_json(value: Mapping[str, Any]) -> None:
    """The answer for a program: one JSON object, with the text as it was."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def heading(text: str) -> str:
    """The text as a heading, where there are colours."""
    return click.style(text, bold=True)


def warning(text: str) -> str:
    """The text so that it is seen, where there are colours."""
    return click.style(text, fg="yellow")


def write_error(error: BackscrollError, *, as_json: bool) -> None:
    """The one shape of an error, on stderr."""
    if as_json:
        shape = {"kind": error.kind, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        click.echo(json.dumps({"error": shape}, ensure_ascii=False), err=True)
    else:
        click.echo(f"backscroll: {clean(error.message)}\n  next: {clean(error.hint)}", err=True)


def tell(text: str) -> None:
    """Something for the user that is not the answer."""
    click.echo(text, err=True)


def open_shelf(asked: "Request") -> "Shelf":
    """All chats of the homes that were asked for, and of the archive, read with a sign of progress."""
    from backscroll.library import Shelf, find_archive, open_homes

    settings = asked.settings()
    homes = open_homes(settings)
    keep_first(asked)
    shelf = Shelf(homes, find_archive(settings))
    with Progress("reading", quiet=asked.quiet) as progress:
        progress.set_total(shelf.size)
        return shelf.read(progress.add)


def keep_first(asked: "Request") -> None:
    """Bring the archive up to date if that is due. Whatever goes wrong with it, the command itself goes on."""
    from backscroll.library import is_due, keep, open_homes

    settings = asked.settings()
    homes = open_homes(settings)
    try:
        if is_due(settings, homes, datetime.now(UTC)):
            with Progress("keeping your sessions", quiet=asked.quiet) as progress:
                keep(settings, homes, progress.set_total, progress.add)
    except Busy:
        pass  # somebody else is just doing it
    except OSError as error:
        if not asked.quiet:
            tell(f"backscroll: nothing could be kept: {clean(str(error))}\n  next: see --library")


class Progress:
    """How far a long reading has come, on stderr if that is a terminal. Silent for the first second."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what = what
        self._shown = False
        self._visible = not quiet and sys.stderr.isatty()
        self._start = time.monotonic()
        self._next = self._start + 1
        self._done = 0
        self.total = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def set_total(self, total: int) -> None:
        """How many bytes there will be."""
        self.total = total

    def add(self, count: int) -> None:
        """So many bytes more are done."""
        self._done += count
        if self._visible and (now := time.monotonic()) >= self._next:
            self._next = now + 0.2
            self._shown = True
            rate = self._done / (now - self._start)
            left = max(0, self.total - self._done) / rate if rate else 0
            share = min(100, 100 * self._done // max(1, self.total))
            text = f"{self._what}: {share} % of {size(self.total)}, {size(int(rate))}/s, {left:.0f} s left"
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()
