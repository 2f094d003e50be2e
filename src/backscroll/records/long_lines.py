"""Decode a line that is too long to hold in memory: with its long strings cut.

Such lines carry images, documents or the output of a runaway tool, so only a few strings make them long. These are
skipped piece by piece; a reader sees the beginning of each long string and the size of the cut. The whole bytes stay in
the session file and in the archive.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from backscroll.records.decode import Problem, decode_all
from backscroll.records.record import Record

LONGEST_STRING: Final = 256 * 1024
"""Bytes of a string that are kept; the rest is cut."""
LONGEST_REMAINDER: Final = 16 * 1024 * 1024
"""If a line is longer than this even with its strings cut, it is a Problem."""


def decode_long_line(pieces: Iterable[bytes]) -> Iterator[Record | Problem]:
    """Yield all items on a line that comes in pieces. `raw` holds the cut line, not the original bytes."""
    line = bytearray()
    for part in cut_strings(pieces):
        line += part
        if len(line) > LONGEST_REMAINDER:
            detail = f"longer than {LONGEST_REMAINDER} bytes even with its long strings cut"
            yield Problem(kind="too-long", detail=detail, raw=bytes(line[:LONGEST_STRING]))
            return
    yield from decode_all(bytes(line))


def cut_strings(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the JSON with no string longer than LONGEST_STRING; a cut string ends with the number of bytes cut."""
    inside = False  # a string
    escaped = False  # the next byte follows a backslash
    kept = bytearray()  # the beginning of this string
    size = 0  # all of it
    for piece in pieces:
        at = 0
        while at < len(piece):
            if not inside:
                quote = piece.find(b'"', at)
                end = len(piece) if quote < 0 else quote + 1
                yield piece[at:end]
                inside, escaped, size, at = quote >= 0, False, 0, end
                kept.clear()
                continue
            end, escaped = _end_of_string(piece, at, escaped)
            kept += piece[at : min(end, at + LONGEST_STRING - len(kept))]
            size += end - at
            at = end
            if end < len(piece):
                yield _shorten(kept, size) + b'"'
                inside = False
                at += 1
    if inside:
        yield bytes(kept)


def _end_of_string(piece: bytes, begin: int, escaped: bool) -> tuple[int, bool]:
    """Return the end of the string around `begin` (its quote, or the end of data), and whether an escape is open."""
    at = begin + 1 if escaped else begin
    while True:
        quote = piece.find(b'"', at)
        end = quote if quote >= 0 else len(piece)
        # An odd run of backslashes escapes what follows it.
        odd = (end - at - len(piece[at:end].rstrip(b"\\"))) % 2 == 1
        if quote < 0 or not odd:
            return end, odd
        at = quote + 1


def _shorten(kept: bytearray, size: int) -> bytes:
    if size == len(kept):
        return bytes(kept)
    whole = WHOLE_ESCAPES.match(kept)
    head = bytes(kept[: whole.end() if whole else 0]).decode("utf-8", "ignore").encode()
    return head + f" …[{size - len(head)} bytes cut]".encode()


WHOLE_ESCAPES: Final = re.compile(rb"[^\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^\\]*)*")
