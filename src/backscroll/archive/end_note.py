"""A note next to the catalogue with its number of lines, to detect a lost end.

The lines of a catalogue confirm each other, but nothing follows the last one: a catalogue that was cut between two
lines, or whose last block is zeros after a power cut, looks like an older one. The note is written once the lines are
on the disk, so it is never ahead of them; it may be behind. It is not flushed with each commit, because every live
append would then wait for the disk once more: losing the note in a power cut only loses its protection.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from backscroll.archive.stamp import END_NOTE
from backscroll.disk import open_private, read_own, write_all

WIDTH: Final = 256
"""The size of the file: it is overwritten in one piece."""


class EndNote(Struct, frozen=True, kw_only=True):
    """The length of a catalogue, with checksums."""

    header: str
    """The checksum of the first line. A rewritten catalogue has another one, and the note does not apply to it."""
    lines: int
    sum: str
    """The checksum of the last of these lines."""
    copied: int = 0
    """The number of lines that have a copy in the packs."""
    check: str = ""


def read_note(folder: Path) -> EndNote | None:
    """Return the note, if there is a valid one."""
    try:
        note = DECODER.decode(read_own(folder / END_NOTE))
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return note if note.check == _check(note) else None


def write_note(folder: Path, note: EndNote, *, flush: bool = False) -> None:
    """Overwrite the note."""
    data = msgspec.json.encode(msgspec.structs.replace(note, check=_check(note)))
    descriptor = open_private(folder / END_NOTE, os.O_WRONLY | os.O_CREAT)
    try:
        write_all(descriptor, data.ljust(WIDTH - 1) + b"\n")
        if flush:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(note: EndNote) -> str:
    return hashlib.sha256(f"{note.header} {note.lines} {note.sum}".encode()).hexdigest()[:16]


DECODER: Final = msgspec.json.Decoder(EndNote)
