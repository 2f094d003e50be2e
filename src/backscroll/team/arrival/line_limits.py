"""Withhold arriving lines with too many values, each of which takes many times its bytes in memory while indexed.

Such a line packs into a few bytes. Claude Code writes none: its long lines have a few long strings. A marker of the
same length replaces the line in the library, so that all offsets in the stream stay; the object is not changed.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from backscroll.sync.pull import Incoming
from backscroll.sync.streams import LONGEST_SEGMENT

MAX_VALUES: Final = 100_000
"""Values of a line: commas and brackets outside of strings."""
MANY_VALUES: Final = 20_000
CROWDED: Final = b'{"type":"withheld","why":"it has too many values"}'
SIGNS: Final = (b"{", b"[", b",")


class LineLimits:
    """Replaces crowded lines in arriving segments. `then` processes the segments further."""

    def __init__(self, then: Incoming = lambda _, __, pieces: pieces) -> None:
        self._then = then
        self.is_heavy = False
        """Whether a segment arrived that takes much memory while it is indexed."""

    def incoming(self, path: str, size: int, pieces: Iterable[bytes]) -> Iterable[bytes]:
        """Return a segment of this size without its crowded lines."""
        if not path.endswith(".jsonl"):
            return self._then(path, size, pieces)
        if size > LONGEST_SEGMENT:
            self.is_heavy = True
            return self._one_line(path, size, pieces)
        data = b"".join(pieces)
        if sum(map(data.count, SIGNS)) > MANY_VALUES:
            data = b"".join(map(self._line, data.splitlines(keepends=True)))
        return self._then(path, size, (data,))

    def _one_line(self, path: str, size: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a line that is too long for memory, blank from where it has too many values."""
        values = Values()

        def kept() -> Iterator[bytes]:
            for piece in pieces:
                values.count(piece)
                yield piece if values.number <= MAX_VALUES else _blank(piece)

        yield from self._then(path, size, kept())

    def _line(self, line: bytes) -> bytes:
        values = Values()
        values.count(line)
        self.is_heavy |= values.number > MANY_VALUES
        if values.number <= MAX_VALUES:
            return line
        body = line.rstrip(b"\r\n")
        return CROWDED[: len(body)].ljust(len(body)) + line[len(body) :]


class Values:
    """Counts the commas and brackets of a line that are not in strings. The line comes in pieces."""

    def __init__(self) -> None:
        self.number = 0
        self._inside = self._escaped = False

    def count(self, piece: bytes) -> None:
        """Count the values of the next piece."""
        if self._escaped:
            piece = piece[1:]
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        self._escaped = backslashes % 2 == 1
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = parts[self._inside :: 2]
        self.number += sum(part.count(sign) for part in outside for sign in SIGNS)
        self._inside ^= len(parts) % 2 == 0


def _blank(piece: bytes) -> bytes:
    return b" " * (len(piece) - piece.endswith(b"\n")) + (b"\n" if piece.endswith(b"\n") else b"")
