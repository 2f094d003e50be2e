"""Output of a command: data to stdout, everything else to stderr."""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

import click

from backscroll.errors import (
    BackscrollError,
    Busy,
    DiskFull,
    NothingFound,
    OutOfMemory,
    StorageError,
    TooManyOpenFiles,
)
from backscroll.render.terminal import clean, escaped, for_terminal, plural, size

if TYPE_CHECKING:
    from backscroll.cli.options import Request
    from backscroll.library.indexing.update import Updated
    from backscroll.library.library import Library
    from backscroll.settings import Settings

FIRST_LIST_AFTER = 0.8
"""Seconds that a first update may take before the newest chats are listed."""


def write(text: str = "") -> None:
    """Print a line of the result. The caller has cleaned text from transcripts."""
    click.echo(_folded(text, sys.stdout))


def write_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print the result as CSV: cleaned on a terminal, exact values when piped."""
    from backscroll.render.tables import csv_lines

    for line in csv_lines(columns, rows, is_cleaned=sys.stdout.isatty()):
        click.echo(line, color=True)  # otherwise click removes what it takes for colours


def write_json(value: Mapping[str, Any]) -> None:
    """Print the result for a program: one JSON object, with unchanged text."""
    click.echo(escaped(json.dumps(value, ensure_ascii=False, indent=2)))


def heading(text: str) -> str:
    """Style the text as a heading, if colours are on."""
    return click.style(text, bold=True)


def warning(text: str) -> str:
    """Style the text as a warning, if colours are on."""
    return click.style(text, fg="yellow")


def write_error(error: BackscrollError, *, as_json: bool) -> None:
    """Print an error to stderr, always in the same format."""
    if as_json:
        shape = {"kind": error.kind, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        click.echo(escaped(json.dumps({"error": shape}, ensure_ascii=False)), err=True)
    else:
        click.echo(_folded(f"backscroll: {clean(error.message)}\n  next: {clean(error.hint)}", sys.stderr), err=True)


def write_note(text: str) -> None:
    """Print a note for the user to stderr."""
    click.echo(_folded(text, sys.stderr), err=True)


def _folded(text: str, stream: TextIO) -> str:
    """Return the text for a terminal: clean, and broken between words. Programs get the text as it is."""
    if not stream.isatty():
        return text
    text = for_terminal(text)
    columns = shutil.get_terminal_size().columns
    if len(text) <= columns // 2:  # it fits, however wide its characters are
        return text
    from backscroll.render.folding import fold

    return fold(text, columns)


def no_history_for(request: "Request") -> NothingFound | None:
    """Return the error for a command that found no conversations to read; None if it found some or needs none."""
    if not request.reads_history or request.demo:
        return None
    from backscroll.library.archives import has_history
    from backscroll.library.homes import no_history, open_homes

    try:
        settings = request.settings()
        homes = open_homes(settings)
        return None if has_history(settings, homes) else no_history(homes)
    except BackscrollError:
        return None  # the problem is reported elsewhere


def with_other_homes(request: "Request", error: NothingFound) -> NothingFound:
    """Add to the hint of an error the homes that the library has and that are shown only if they are named."""
    if not request.reads_history or request.demo:
        return error
    from backscroll.library.homes import known_homes, open_homes

    try:
        settings = request.settings()
        others = [home.path for home in known_homes(settings, open_homes(settings)) if not home.is_shown]
    except BackscrollError:
        return error  # the problem is reported elsewhere
    if not others:
        return error
    return NothingFound(error.message, f"{error.hint}; the library also has {', '.join(others)}: add --home to see it")


def write_gone_homes(request: "Request", library: "Library") -> None:
    """Print that the home in use is missing, if that is why everything shown comes from the library."""
    missing = [home.path for home in library.homes if not home.exists]
    if missing and not request.quiet and library.is_indexed and library.reader.homes():
        places = ", ".join(clean(str(path)) for path in missing)
        write_note(f"no Claude Code home at {places}: this is what your library has")


def write_no_history(request: "Request", *, as_json: bool = False) -> None:
    """Print once that there are no conversations yet, for commands to which that is not an error."""
    request.reads_history = True
    if not request.quiet and (missing := no_history_for(request)):
        write_error(missing, as_json=as_json)
    request.reads_history = False


def open_library(
    request: "Request", *, with_text: bool = False, as_it_is: bool = False, soon: bool = False
) -> "Library":
    """Open the library of the chosen homes, and bring it up to date first if anything changed.

    `with_text` also indexes the words, for searches. `as_it_is` leaves the archive unchanged. With `soon`, a first
    update reads the newest sessions for a second, and leaves the rest for the next one.
    """
    from backscroll.library.homes import open_homes
    from backscroll.library.local import local_library

    request.reads_history = True
    settings = request.settings()
    homes = open_homes(settings)
    write_restore_note(settings)
    library = local_library(settings, homes, keeps=not as_it_is)
    end = time.monotonic() + FIRST_LIST_AFTER
    try:
        with ProgressLine(quiet=request.quiet) as progress:
            updated = library.refresh(
                with_text=with_text, progress=progress, is_enough=lambda: soon and time.monotonic() > end
            )
    except (OSError, StorageError) as error:
        if isinstance(error, DiskFull | TooManyOpenFiles | OutOfMemory):
            raise
        import tempfile

        # The index must go somewhere; the existing archive is read where it is.
        if not request.quiet:
            write_note(f"backscroll: could not archive: {clean(str(error))}\n  next: see --library")
        library = local_library(settings, homes, Path(tempfile.mkdtemp(prefix="backscroll-")), keeps=False)
        click.get_current_context().call_on_close(library.discard)
        with ProgressLine(quiet=request.quiet) as progress:
            updated = library.refresh(with_text=with_text, progress=progress)
    click.get_current_context().call_on_close(library.close)
    write_gone_homes(request, library)
    if updated is not None and not request.quiet:
        write_update_notes(updated, verbose=request.verbosity > 0)
        if updated.unread:
            read = updated.files - updated.unread
            write_note(f"reading: {read:,} of {updated.files:,} files so far; backscroll update reads the rest")
    return library


def write_restore_note(settings: "Settings") -> None:
    """Print that only a part of a backup was restored, if that was interrupted."""
    from backscroll.library.archives import restore_sign

    if restore_sign(settings).exists():
        write_note(warning("a backup was restored only in part: run backscroll archive restore-backup DIR again"))


def read_demo_first(request: "Request") -> None:
    """Index the whole sample before a server starts: it is quick, and the first answer is then complete."""
    if request.demo:
        from backscroll.library.homes import open_homes
        from backscroll.library.local import local_library

        settings = request.settings()
        with local_library(settings, open_homes(settings)) as library, ProgressLine(quiet=request.quiet) as progress:
            library.update(progress)


def keep_first(request: "Request") -> None:
    """Bring the archive up to date if that is due. If that fails, the command still runs."""
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.keep import is_due, keep

    request.reads_history = True
    settings = request.settings()
    homes = open_homes(settings)
    try:
        if is_due(settings, homes, datetime.now(UTC)):
            with ProgressLine("archiving your sessions", quiet=request.quiet) as progress:
                keep(settings, homes, progress.set_total, progress.add)
    except Busy:
        pass  # another process is archiving right now
    except OSError as error:
        if not request.quiet:
            write_note(f"backscroll: could not archive: {clean(str(error))}\n  next: see --library")


def write_update_notes(updated: "Updated", *, verbose: bool) -> None:
    """Print notes of an update that the user should know, which are mostly none."""
    for notice in updated.notices:
        write_note(f"backscroll: {clean(notice)}")
    if verbose:
        for item in updated.unreadable:
            write_note(f"cannot be read: {clean(str(item.path))}: {clean(item.reason)}")


class ProgressLine:
    """Progress of a long task, on stderr: one updating line on a terminal, otherwise one line per step.

    Silent for the first second, and silent when stderr is not a terminal unless `plain` is set.
    """

    def __init__(self, what: str = "", *, quiet: bool, plain: bool = False) -> None:
        self._what = what
        self._unit = "bytes"
        self._shown = False
        self._visible = not quiet and sys.stderr.isatty()
        self._plain = plain and not quiet and not sys.stderr.isatty()
        self._total = 0
        self._done = 0
        self._start = time.monotonic()
        self._next = self._start + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

    def set_total(self, total: int) -> None:
        """Set the number of bytes to expect."""
        self.begin(self._what, total)

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Start a step of `total` bytes or other units."""
        self._what, self._total, self._unit = what, total, unit
        self._done = 0
        self._start = time.monotonic()
        if self._plain and total:
            write_note(f"{what} {self._amount(total)}")

    def add(self, count: int) -> None:
        """Add `count` to the finished units."""
        self._done += count
        if self._visible and (now := time.monotonic()) >= self._next:
            self._next = now + 0.2
            self._shown = True
            rate = self._done / max(now - self._start, 0.001)
            left = max(0, self._total - self._done) / rate if rate else 0
            share = min(100, 100 * self._done // max(1, self._total))
            total, speed = self._amount(self._total), self._amount(int(rate))
            text = f"{self._what}: {share} % of {total}, {speed}/s, {left:.0f} s left"
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()

    def _amount(self, count: int) -> str:
        return size(count) if self._unit == "bytes" else plural(count, self._unit.removesuffix("s"))
