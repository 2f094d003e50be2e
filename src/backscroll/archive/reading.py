"""Read a kept file line by line, like a live one."""

from collections.abc import Iterator
from typing import Self

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import Version
from backscroll.files.reading import Bookmark, Change, Line, lines_of, pieces_of


class KeptReading:
    """One pass over the lines of a kept version. It will not grow, so its tail is final."""

    def __init__(self, archive: Archive, version: Version) -> None:
        self._archive = archive
        self._version = version
        self.tail: Line | None = None
        self.change = Change.NEW
        self.bookmark: Bookmark | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def __iter__(self) -> Iterator[Line]:
        for line, is_complete in lines_of(self.read, self._version.size):
            if is_complete:
                yield line
            else:
                self.tail = line

    def rest(self) -> Iterator[bytes]:
        """All bytes, chunk by chunk."""
        return self._archive.content(self._version)

    def take_tail(self) -> None:
        """Count the tail as read."""
        self.tail = None

    def pieces(self, line: Line) -> Iterator[bytes]:
        """The bytes of a line that was too long to return at once."""
        return pieces_of(self.read, line)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`."""
        return self._archive.read(self._version, start, end)
