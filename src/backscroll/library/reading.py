"""Where the bytes of a session come from: its live file, else what is kept of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from backscroll.archive import Archive, KeptFile, KeptReading, Version
from backscroll.files import Bookmark, FileKind, HomeFile, Line, Reading, read_small
from backscroll.files import Place as FilePlace
from backscroll.records import Problem, Record, decode_all, decode_long_line


@dataclass(frozen=True)
class Kept:
    """A file that is gone from its home and still in the archive."""

    archive: Archive
    file: KeptFile
    version: Version

    @property
    def path(self) -> Path:
        """Where it lay."""
        return self.file.source

    @property
    def home(self) -> str:
        """The home it lay in."""
        return self.file.home

    @property
    def kind(self) -> FileKind:
        """What it is."""
        return self.file.kind

    @property
    def place(self) -> FilePlace:
        """Whose it is."""
        return self.file.place

    @property
    def size(self) -> int:
        """How long it was."""
        return self.version.size

    @property
    def modified_ns(self) -> int:
        """When it was last written."""
        return self.version.modified_ns


Source = HomeFile | Kept


def whole_of(source: Source) -> bytes:
    """All bytes of a small file."""
    if isinstance(source, Kept):
        return b"".join(source.archive.content(source.version))
    return read_small(source.path)


def records_on(reading: Reading | KeptReading, line: Line) -> Iterator[tuple[Record | Problem, int, int]]:
    """Everything on a line, each with where it begins and how long it is; of a long line all are where it is."""
    if line.data is None:
        for item in decode_long_line(reading.pieces(line)):
            yield item, line.start, line.end - line.start
        return
    start = line.start
    for item in decode_all(line.data):
        yield item, start, len(item.raw)
        start += len(item.raw)


def in_pieces(source: Source, size: int = 256 * 1024) -> Iterator[bytes]:
    """The bytes of a file in pieces, cut behind a newline where there is one, else between words."""
    rest = b""
    for block in _blocks(source):
        rest += block
        while len(rest) > size:
            cut = max(rest.rfind(mark, 0, size) for mark in (b"\n", b" ", b'"', b",")) + 1 or size
            newline = rest.rfind(b"\n", 0, size) + 1
            cut = newline or cut
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def bookmark_of(source: HomeFile) -> Bookmark:
    """The bookmark behind the whole of a file."""
    with Reading(source.path) as reading:
        for _ in reading.rest():
            pass
        return reading.bookmark


def _blocks(source: Source) -> Iterator[bytes]:
    if isinstance(source, Kept):
        yield from source.archive.content(source.version)
    else:
        with Reading(source.path) as reading:
            yield from reading.rest()
