"""Read the lines of a file that is still being written, and continue there on the next visit.

A Bookmark has the position up to which a file was read and checksums of the content before it, so that a file which was
cut, rewritten or replaced in the meantime is noticed. Memory is bounded whatever the length of a line.
"""

import os
import time
import zlib
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from backscroll.files.opening import open_regular
from backscroll.files.times import storable_time

PIECE: Final = 1024 * 1024
LONGEST_LINE: Final = 16 * 1024 * 1024
"""A longer line is not read into memory at once; it can be read in pieces."""
CLOCK_TICK_NS: Final = 20_000_000
UNSETTLED: Final = -1
"""A bookmark's `changed_ns` that always causes the file to be read again."""
WINDOW: Final = 4096
"""The number of bytes at the beginning, and before the bookmark, that are compared on every visit."""
CHECKED_AT_ONCE: Final = 256 * 1024
"""Up to this size, everything read before is compared after each append; this bounds the work per append."""
QUIET_NS: Final = 60_000_000_000
"""The time for which a larger file must be unchanged before all of it is compared."""


Read = Callable[[int, int], bytes]
"""Return the bytes from one offset to another; fewer at the end of the file."""


class Line(NamedTuple):
    """A line: its start, the start of the next one, and its bytes without the newline.

    `data` is None if the line is longer than LONGEST_LINE.
    """

    start: int
    end: int
    data: bytes | None


class Bookmark(NamedTuple):
    """The position up to which a file was read, and its state then. Plain integers, to be kept between runs."""

    offset: int
    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    head: int
    """CRC-32 of the first WINDOW bytes, as far as they were read."""
    edge: int
    """CRC-32 of the WINDOW bytes before the offset."""
    whole: int
    """CRC-32 of everything before the offset."""


class Change(StrEnum):
    """The change of a file since its bookmark."""

    NEW = "new"
    UNCHANGED = "unchanged"
    GROWN = "grown"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"
    REPLACED = "replaced"

    @property
    def starts_over(self) -> bool:
        """Whether the file no longer has the content that was read before, so that it is read from its beginning."""
        return self in (Change.TRUNCATED, Change.REWRITTEN, Change.REPLACED)


class Reading:
    """A pass over the complete lines of a file, from a bookmark to the end that the file had when it was opened.

    Claude Code may be halfway through writing the last line. A line without its newline is not among the lines: it is
    `tail`, for a caller who knows whether it is complete, and it is left for the next reading unless `take_tail` is
    called. `bookmark` is always just after the last line that was returned.
    """

    def __init__(self, path: Path, bookmark: Bookmark | None = None) -> None:
        self.path = path
        self.tail: Line | None = None
        self._descriptor = open_regular(path)
        self._opened_ns = time.time_ns()
        self._reached_end = False
        self._is_proven = True
        try:
            self._status = os.fstat(self._descriptor)
            self._times = storable_time(self._status.st_mtime_ns), storable_time(self._status.st_ctime_ns)
            self.change = self._compare(bookmark)
            self._offset = 0 if bookmark is None or self.change.starts_over else bookmark.offset
            self._sum = 0 if bookmark is None or self.change.starts_over else bookmark.whole
            self._head = self.read(0, min(WINDOW, self._offset))
            # The bytes around the offset that the checksums do not include yet, and their start.
            self._before = self.read(max(0, self._offset - WINDOW), self._offset)
        except BaseException:
            self.close()
            raise
        self._block = b""
        self._block_start = self._offset

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What was read stays valid."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __iter__(self) -> Iterator[Line]:
        self.tail = None
        for block in _blocks(self.read, self._offset, self._status.st_size):
            if not block.complete:
                self.tail = Line(block.start, block.end, block.data)
            elif block.data is None:
                self._pass_over(block.end)
                yield Line(block.start, block.end, None)
            else:
                self._begin(block.data, block.start)
                for line in _split(block.data, block.start):
                    self._offset = line.end
                    yield line
        self._reached_end = True

    def rest(self, limit: int | None = None) -> Iterator[bytes]:
        """Yield all bytes from the bookmark on, complete lines or not, in pieces; they count as read.

        With a `limit`, only those among the first `limit` bytes of the file; later bytes are passed over.
        """
        end = self._status.st_size if limit is None else min(self._status.st_size, limit)
        while piece := self.read(self._offset, min(end, self._offset + PIECE)):
            self._begin(piece, self._offset)
            self._offset += len(piece)
            yield piece
        self._reached_end = True

    def take_tail(self) -> None:
        """Count the tail as read: it was complete, and only its newline is missing."""
        if self.tail is not None:
            self._pass_over(self.tail.end)
            self.tail = None

    def pieces(self, line: Line) -> Iterator[bytes]:
        """Yield the bytes of a line that was too long to return at once."""
        return pieces_of(self.read, line)

    @property
    def bookmark(self) -> Bookmark:
        """The position at which to continue next time, after the line that was returned last."""
        done = self._block[: self._offset - self._block_start]
        return Bookmark(
            offset=self._offset,
            device=self._status.st_dev,
            inode=self._status.st_ino,
            size=self._status.st_size,
            modified_ns=self._times[0],
            changed_ns=self._times[1] if self._is_settled() else UNSETTLED,
            head=zlib.crc32((self._head + done)[:WINDOW]),
            edge=zlib.crc32((self._before + done)[-WINDOW:]),
            whole=zlib.crc32(done, self._sum),
        )

    def _is_settled(self) -> bool:
        """Whether a file that still looks like this on the next visit can be passed over.

        Not if it was not read to its end; nor if it was appended to and the content before was not compared; nor if it
        was written within the last tick of the file system's clock, for then another write could leave it looking the
        same.
        """
        return self._reached_end and self._is_proven and self._status.st_ctime_ns < self._opened_ns - CLOCK_TICK_NS

    def _compare(self, bookmark: Bookmark | None) -> Change:
        if bookmark is None:
            return Change.NEW
        status = self._status
        same_file = (status.st_dev, status.st_ino) == (bookmark.device, bookmark.inode)
        if status.st_size < bookmark.offset:
            return Change.TRUNCATED if same_file else Change.REPLACED
        different = Change.REWRITTEN if same_file else Change.REPLACED
        if not self._windows_match(bookmark):
            return different
        touched = self._times != (bookmark.modified_ns, bookmark.changed_ns)
        if same_file and not touched:
            return Change.GROWN if status.st_size > bookmark.offset else Change.UNCHANGED
        # Something may have changed between the windows. To compare everything after each append would cost too much
        # for a long file: it waits until the file is left alone, and until then the bookmark stays unsettled.
        appended = same_file and (status.st_size > bookmark.size or bookmark.changed_ns == UNSETTLED)
        if appended and bookmark.offset > CHECKED_AT_ONCE and not self._is_quiet():
            self._is_proven = False
        elif self._checksum(bookmark.offset) != bookmark.whole:
            return different
        return Change.GROWN if status.st_size > bookmark.offset else Change.UNCHANGED

    def _is_quiet(self) -> bool:
        """Whether the file has not been written to for a while; a time in the future means nothing."""
        return not 0 <= self._opened_ns - self._status.st_ctime_ns < QUIET_NS

    def _windows_match(self, bookmark: Bookmark) -> bool:
        offset = bookmark.offset
        head = zlib.crc32(self.read(0, min(WINDOW, offset)))
        return head == bookmark.head and zlib.crc32(self.read(max(0, offset - WINDOW), offset)) == bookmark.edge

    def _checksum(self, end: int) -> int:
        value = at = 0
        while piece := self.read(at, min(end, at + PIECE)):
            value = zlib.crc32(piece, value)
            at += len(piece)
        return value

    def _begin(self, block: bytes, start: int) -> None:
        """Add the bytes read from the previous block to the checksums, and begin this block."""
        done = self._block[: self._offset - self._block_start]
        self._sum = zlib.crc32(done, self._sum)
        if len(self._head) < WINDOW:
            self._head = (self._head + done)[:WINDOW]
        self._before = (self._before + done[-WINDOW:])[-WINDOW:]
        self._block = block
        self._block_start = self._offset = start

    def _pass_over(self, end: int) -> None:
        """Add everything up to `end` to the checksums, piece by piece."""
        while self._offset < end and (piece := self.read(self._offset, min(end, self._offset + PIECE))):
            self._begin(piece, self._offset)
            self._offset += len(piece)

    def read(self, start: int, end: int) -> bytes:
        """Return the file's bytes from `start` to `end`; fewer if it has been cut in the meantime."""
        os.lseek(self._descriptor, start, os.SEEK_SET)
        parts = []
        while start < end:
            part = os.read(self._descriptor, end - start)
            if not part:
                self._is_proven = False  # it has been cut since it was opened, or a file system lost its end for once
                break
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def read_lines(path: Path, start: int = 0) -> Iterator[Line]:
    """Yield each complete line from byte `start` on, for a caller who needs no bookmark."""
    with Reading(path) as reading:
        for block in _blocks(reading.read, start, reading._status.st_size):
            if block.complete and block.data is not None:
                yield from _split(block.data, block.start)
            elif block.complete:
                yield Line(block.start, block.end, None)


def lines_of(read: Read, size: int, start: int = 0) -> Iterator[tuple[Line, bool]]:
    """Yield the lines of anything that can be read from byte to byte, each with whether it is complete."""
    for block in _blocks(read, start, size):
        if block.complete and block.data is not None:
            for line in _split(block.data, block.start):
                yield line, True
        else:
            yield Line(block.start, block.end, block.data), block.complete


def pieces_of(read: Read, line: Line) -> Iterator[bytes]:
    """Yield the bytes of a long line in pieces, without its newline."""
    at = line.start
    while piece := read(at, min(line.end, at + PIECE)):
        at += len(piece)
        yield piece.removesuffix(b"\n") if at == line.end else piece


class _Block(NamedTuple):
    """Some complete lines, or one line that is too long to be held (no data), or the unfinished last line."""

    start: int
    end: int
    data: bytes | None
    complete: bool


def _blocks(read: Read, start: int, size: int) -> Iterator[_Block]:
    """Yield the bytes from `start` to `size` in blocks of whole lines."""
    at = start
    pending: list[bytes] = []  # the beginning of a line, as long as it is short enough to be kept
    while piece := read(at, min(size, at + PIECE)):
        newline = piece.find(b"\n")
        length = at + (newline if newline >= 0 else len(piece)) - start
        if newline < 0 or length > LONGEST_LINE:
            if length > LONGEST_LINE:
                pending.clear()
            else:
                pending.append(piece)
            at = start + length
            if newline >= 0:
                at += 1
                yield _Block(start, at, None, complete=True)
                start = at
            continue
        last = piece.rfind(b"\n") + 1
        end = at + last
        yield _Block(start, end, b"".join([*pending, piece[:last]]), complete=True)
        start = end
        at += len(piece)
        pending = [piece[last:]]
    if at > start:
        yield _Block(start, at, None if at - start > LONGEST_LINE else b"".join(pending), complete=False)


def _split(block: bytes, start: int) -> Iterator[Line]:
    for data in block[:-1].split(b"\n"):
        end = start + len(data) + 1
        yield Line(start, end, data)
        start = end
