"""Packed segments of an object: read in place, and unpacked piece by piece, whatever their size."""

from collections.abc import Iterator
from typing import IO, Final

import zstandard

LARGEST_WINDOW: Final = 8 << 20
"""Largest window of a frame: the memory that every reader of zstd can be expected to have for it."""
PIECE: Final = 1 << 20


class FramePart:
    """A range of bytes of a file, with the interface of a file."""

    def __init__(self, file: IO[bytes], begin: int, length: int) -> None:
        self._file, self._begin, self._length, self._at = file, begin, length, 0

    def seek(self, offset: int) -> int:
        """Continue reading at this offset."""
        self._at = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        left = self._length - self._at
        data = read_at(self._file, self._begin + self._at, left if size < 0 else min(size, left))
        self._at += len(data)
        return data

    def close(self) -> None:
        """Do nothing: the file stays open."""


def unpacked(source: IO[bytes]) -> Iterator[bytes]:
    """Yield the unpacked bytes of a frame. Whatever their size, they are in memory only piece by piece."""
    with zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW).stream_reader(source, read_size=PIECE) as reader:
        while piece := reader.read(PIECE):
            yield piece


def read_at(file: IO[bytes], at: int, length: int) -> bytes:
    """Return bytes of a file from an offset."""
    file.seek(at)
    return file.read(length)
