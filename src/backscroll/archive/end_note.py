"""A note beside the catalogue that says how many lines it has, so that a catalogue whose end is lost is noticed.

The lines of a catalogue prove each other, but the last one has nothing behind it: a catalogue that was cut between two
lines, or whose last block is zeros after a power cut, looks like an older one. The note is written once the lines are
on the disk, so it is never ahead of them; it may be behind. It is not flushed with each commit, because that would cost
every live append another wait for the disk: a note that a power cut took away costs only its protection.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from backscroll.disk import open_private, write_all

NAME: Final = "catalogue.end"
WIDTH: Final = 256
"""Of the file, whatever it says: it is written over in one piece."""


class EndNote(Struct, frozen=True, kw_only=True):
    """How far a catalogue went."""

    header: str
    """The sum of the first line. A catalogue that was written anew has another, and the note says nothing of it."""
    lines: int
    sum: str
    """The sum of the last of these lines."""
    copied: int = 0
    """How many of the lines have a copy in the packs."""
    check: str = ""


def read_note(folder: Path) -> EndNote | None:
    """The note, if there is one that can be believed."""
    try:
        note = DECODER.decode((folder / NAME).read_bytes())
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return note if note.check == _check(note) else None


def write_note(folder: Path, note: EndNote, *, flush: bool = False) -> None:
    """Write the note over the one before."""
    data = msgspec.json.encode(msgspec.structs.replace(note, check=_check(note)))
    descriptor = open_private(folder / NAME, os.O_WRONLY | os.O_CREAT)
    try:
        write_all(descriptor, data.ljust(WIDTH - 1) + b"\n")
        if flush:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(note: EndNote) -> str:
    return hashlib.sha256(f"{note.header} {note.lines} {note.sum}".encode()).hexdigest()[:16]


DECODER: Final = msgspec.json.Decoder(EndNote)
