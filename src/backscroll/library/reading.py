"""Where the bytes of a session come from: its live file, else what is kept of it, and the small files beside it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backscroll.archive import Archive, KeptFile, KeptReading, Version
from backscroll.conversation import Chats, Place
from backscroll.errors import BackscrollError
from backscroll.files import Bookmark, FileKind, HomeFile, Line, Reading, read_small
from backscroll.files import Place as FilePlace
from backscroll.records import Problem, Record, agent_meta, custom_title, decode_all, decode_long_line

TITLE_FILE: Final = "custom-title.json"


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


def tail_of(reading: Reading | KeptReading) -> list[tuple[Record, int, int]]:
    """What stands on a last line without a newline, if it is whole.

    Half a record is still being written, or never will be.
    """
    items = list(records_on(reading, reading.tail)) if reading.tail else []
    whole = [(item, start, length) for item, start, length in items if not isinstance(item, Problem)]
    return whole if len(whole) == len(items) else []


def beside_paths(path: Path) -> tuple[Path, Path]:
    """Where the small files lie that say something of a transcript: what an agent is, and the title the user gave."""
    stem = path.with_suffix("")
    return stem.with_suffix(".meta.json"), stem / TITLE_FILE


def take_beside(chats: Chats, place: Place, beside: Iterable[Source]) -> None:
    """Take what the small files beside a transcript say; without them, it has no title but its own."""
    chats.entitle(place, None)
    for source in beside:
        try:
            data = whole_of(source)
        except (OSError, BackscrollError):
            continue  # gone since we looked, or not to be read: it only adds to what the rows say
        if source.kind is FileKind.AGENT_META:
            chats.add(place, (), agent_meta(data))
        else:
            chats.entitle(place, custom_title(data))


def in_pieces(source: Source, size: int = 256 * 1024) -> Iterator[bytes]:
    """The bytes of a file in pieces, cut behind a newline where there is one, else between words."""
    rest = b""
    for block in _blocks(source):
        rest += block
        while len(rest) > size:
            newline = rest.rfind(b"\n", 0, size) + 1
            cut = newline or max(rest.rfind(mark, 0, size) for mark in (b" ", b'"', b",")) + 1 or size
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
