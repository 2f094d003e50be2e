"""Read a kept file line by line, like a live one.

A bookmark in a kept version identifies the version's chunks at that time: chunks are known by their hashes, so the
bytes before the bookmark are the same exactly if the chunks are. Nothing has to be unpacked to know that a version only
grew.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, Self

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import Chunk
from backscroll.archive.kept_file import Version
from backscroll.files.reading import Bookmark, Change, Line, lines_of, pieces_of

KEPT: Final = -2
"""The device of a bookmark in kept bytes. No live file is on it, so such a bookmark never fits one."""


class KeptReading:
    """A pass over the lines of a kept version, from a bookmark on if the version has only grown since."""

    def __init__(self, archive: Archive, version: Version, bookmark: Bookmark | None = None) -> None:
        self._archive = archive
        self._version = version
        self._offset = 0
        self.tail: Line | None = None
        self.change = Change.NEW
        if bookmark is not None:
            self.change = Change.GROWN if _is_beginning_of(bookmark, version) else Change.REPLACED
            self._offset = bookmark.offset if self.change is Change.GROWN else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no file is open."""

    def __iter__(self) -> Iterator[Line]:
        for line, is_complete in lines_of(self.read, self._version.size, self._offset):
            if is_complete:
                self._offset = line.end
                yield line
            else:
                self.tail = line

    @property
    def bookmark(self) -> Bookmark:
        """The position at which to continue when the version has grown, after the line that was returned last."""
        version = self._version
        return Bookmark(
            self._offset, KEPT, version.number, version.size, version.modified_ns, 0, 0, 0, _digest(version.chunks)
        )

    def rest(self) -> Iterator[bytes]:
        """Return all bytes, chunk by chunk."""
        return self._archive.content(self._version)

    def take_tail(self) -> None:
        """Count the tail as read."""
        if self.tail is not None:
            self._offset = self.tail.end
        self.tail = None

    def pieces(self, line: Line) -> Iterator[bytes]:
        """Yield the bytes of a line that was too long to return at once."""
        return pieces_of(self.read, line)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`."""
        return self._archive.read(self._version, start, end)


def _is_beginning_of(bookmark: Bookmark, version: Version) -> bool:
    """Whether a version begins with the chunks that it had when the bookmark was made."""
    if (bookmark.device, bookmark.inode) != (KEPT, version.number) or bookmark.size > version.size:
        return False
    chunks, size = [], 0
    for chunk in version.chunks:
        if size >= bookmark.size:
            break
        chunks.append(chunk)
        size += chunk.size
    return size == bookmark.size and _digest(chunks) == bookmark.whole


def _digest(chunks: Iterable[Chunk]) -> int:
    """Return a number for a row of chunks, in the range of a checksum."""
    ids = "".join(chunk.id for chunk in chunks).encode()
    return int.from_bytes(hashlib.blake2b(ids, digest_size=7).digest())
