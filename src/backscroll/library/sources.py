"""Where the bytes of a session come from: its live file, else what is kept of it, and the small files beside it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from backscroll.archive import Archive, KeptFile, KeptReading, Version
from backscroll.conversation import Chats, Place, Transcript
from backscroll.errors import BackscrollError
from backscroll.files import Bookmark, FileKind, HomeFile, Line, Reading
from backscroll.files import Place as FilePlace
from backscroll.records import Problem, Record, agent_meta, custom_title, decode_all, decode_long_line

Part = TypeVar("Part")
TITLE_FILE: Final = "custom-title.json"


@dataclass(frozen=True)
class Kept:
    """A version of a file that is read from the archive."""

    is_kept: ClassVar = True
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

    def open(self, _bookmark: Bookmark | None = None) -> KeptReading:
        """Read it from its beginning: there are no bookmarks in what is kept."""
        return KeptReading(self.archive, self.version)


Source = HomeFile | Kept
"""Both are opened alike, and read alike."""
Item = tuple[Record | Problem, int, int]
"""What stands on a line, where it begins, and how long it is."""
MOST_BESIDE: Final = 1024 * 1024


class SourceError(Exception):
    """A source could not be read. That costs this source; an error of the store or the archive's own is another."""

    def __init__(self, path: Path, error: OSError | BackscrollError) -> None:
        reason = error.message if isinstance(error, BackscrollError) else error.strerror or str(error)
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.is_gone = isinstance(error, FileNotFoundError)


@contextmanager
def reading_of(source: Source) -> Iterator[None]:
    """Turn every failure to read into a SourceError."""
    try:
        yield
    except (OSError, BackscrollError) as error:
        raise SourceError(source.path, error) from error


def read_from(source: Source, parts: Iterable[Part]) -> Iterator[Part]:
    """What is read from a source piece by piece, with every failure to do so as a SourceError."""
    with reading_of(source):
        yield from parts


def whole_of(source: Source) -> bytes:
    """All bytes of a small file."""
    if source.size > MOST_BESIDE:
        raise OSError(f"longer than {MOST_BESIDE} bytes: {source.path}")
    return b"".join(_blocks(source))


def lines_in(reading: Reading | KeptReading) -> Iterator[tuple[Line, list[Item], bool]]:
    """Each line with what is on it, and whether it is complete.

    A last line without its newline is among them, and counts as read, if it is whole. Half a record is still being
    written, or never will be.
    """
    for line in reading:
        yield line, list(records_on(reading, line)), True
    if (tail := reading.tail) is not None:
        items = list(records_on(reading, tail))
        if items and not any(isinstance(item, Problem) for item, _, _ in items):
            reading.take_tail()
            yield tail, items, False


def records_in(reading: Reading | KeptReading) -> Iterator[tuple[Record, int, int]]:
    """Every record, where it begins, and how long it is."""
    for _, items, _ in lines_in(reading):
        for item, start, length in items:
            if not isinstance(item, Problem):
                yield item, start, length


def records_on(reading: Reading | KeptReading, line: Line) -> Iterator[Item]:
    """Everything on a line, each with where it begins and how long it is; of a long line all are where it is."""
    if line.data is None:
        for item in decode_long_line(reading.pieces(line)):
            yield item, line.start, line.end - line.start
        return
    start = line.start
    for item in decode_all(line.data):
        yield item, start, len(item.raw)
        start += len(item.raw)


def beside_paths(path: Path) -> tuple[Path, Path]:
    """Where the small files lie that say something of a transcript: what an agent is, and the title the user gave."""
    stem = path.with_suffix("")
    return stem.with_suffix(".meta.json"), stem / TITLE_FILE


def take_beside(
    chats: Chats, place: Place, beside: Iterable[Source], before: Transcript | None = None
) -> list[SourceError]:
    """Take what the small files beside a transcript say; without them, it has no title but its own.

    One that cannot be read says what it said `before`. Those that are not just gone are returned.
    """
    title: str | None = None
    failed = []
    for source in beside:
        try:
            with reading_of(source):
                data = whole_of(source)
        except SourceError as error:
            if error.is_gone:
                continue
            failed.append(error)
            if before is not None and source.kind is FileKind.AGENT_META:
                chats.add(place, (), before.meta)
            elif before is not None:
                title = before.title_beside
            continue
        if source.kind is FileKind.AGENT_META:
            chats.add(place, (), agent_meta(data))
        else:
            title = custom_title(data)
    chats.entitle(place, title)
    return failed


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


def bookmark_of(source: Source) -> Bookmark | None:
    """The bookmark behind the whole of a file; none of what is kept."""
    if source.is_kept:
        return None
    with source.open() as reading:
        for _ in reading.rest():
            pass
        return reading.bookmark


def _blocks(source: Source) -> Iterator[bytes]:
    with source.open() as reading:
        yield from reading.rest()
