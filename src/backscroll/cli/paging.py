"""The pager: output that does not fit on the screen is read in `less`, as with git.

Only a terminal gets one. A pipe, --no-pager, and `pager = false` in the settings file get the plain output.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import IO, Final, cast

import click

from backscroll.cli.options import current_request
from backscroll.render.cells import cells
from backscroll.render.folding import fold
from backscroll.render.terminal import for_terminal

LESS: Final = "FRX"
"""Options of less: quit if the text fits on one screen, show colours, leave the text on the screen; git sets them, too.
"""


def width() -> int | None:
    """Return the number of columns; None where the output goes to a program and is complete."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def write_lines(lines: Iterable[str]) -> None:
    """Print the lines of a result; through the pager if they are more than a screen. The caller has cleaned them."""
    room = width()
    if room is not None:
        lines = (fold(for_terminal(line), room) for line in lines)
    write_pieces(f"{line}\n" for line in lines)


def write_pieces(pieces: Iterable[str]) -> None:
    """Print pieces of text that have their own newlines; through the pager if they are more than a screen."""
    if not sys.stdout.isatty():
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    waiting: Iterator[str] = map(for_terminal, pieces)
    command = pager()
    if command is not None:
        begun, fits = _screenful(waiting)
        if not fits:
            _page(command, chain(begun, waiting))
            return
        waiting = iter(begun)
    for piece in waiting:
        click.echo(piece, nl=False)


def pages() -> bool:
    """Whether a long result goes to a pager."""
    return sys.stdout.isatty() and pager() is not None


def pager() -> list[str] | None:
    """Return the command line of the pager; None without one."""
    request = current_request()
    if request.no_pager or os.environ.get("TERM", "dumb") == "dumb":
        return None
    chosen = request.settings().pager
    if chosen is None:
        chosen = os.environ.get("PAGER", "less")
    try:
        words = shlex.split(chosen)
    except ValueError:
        return None
    return words if words and words != ["cat"] and shutil.which(words[0]) else None


def _screenful(pieces: Iterator[str]) -> tuple[list[str], bool]:
    """Return the first screen of the text, and whether that is everything."""
    columns, rows = shutil.get_terminal_size()
    begun: list[str] = []
    used = 1  # the prompt of the shell
    for piece in pieces:
        begun.append(piece)
        lines = click.unstyle(piece).split("\n")
        used += sum(max(1, -(-cells(line) // max(1, columns))) for line in lines[:-1]) + bool(lines[-1])
        if used > rows:
            return begun, False
    return begun, True


def _page(command: list[str], pieces: Iterable[str]) -> None:
    import subprocess  # only where there is a pager

    has_color = click.get_current_context().find_root().color is not False
    environment = {"LESS": LESS, "LV": "-c", **os.environ}
    sys.stdout.flush()
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)  # noqa: S603 - the user's pager
    except OSError:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    try:
        with suppress(BrokenPipeError), cast("IO[bytes]", process.stdin) as pipe:  # the reader has seen enough
            for piece in pieces:
                text = piece if has_color else click.unstyle(piece)
                pipe.write(text.encode("utf-8", "backslashreplace"))
    finally:
        while True:
            try:
                process.wait()
                break
            except KeyboardInterrupt:
                continue  # Ctrl-C is the pager's: it stops a search, not the reading
