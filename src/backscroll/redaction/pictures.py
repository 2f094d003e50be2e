"""Remove the invisible metadata of a picture: place, time and author, comments, text of programs.

Pixels are never touched. A file that does not follow its format is returned unchanged.
"""

from collections.abc import Callable, Iterator
from typing import Final


def without_metadata(data: bytes) -> bytes:
    """Return the picture without its metadata; the same object if it has none."""
    for magic, parts in FORMATS:
        if data.startswith(magic):
            try:
                kept = b"".join(parts(data))
            except (IndexError, ValueError):
                return data
            return kept if len(kept) < len(data) else data
    return data


def _png(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    at, kind = 8, b""
    while kind != b"IEND":
        kind, end = data[at + 4 : at + 8], at + 12 + _number(data, at, 4, "big")
        if end > len(data):
            raise ValueError("cut short")
        # Chunks that a decoder needs begin with a capital letter.
        if kind[:1].isupper() or kind in PNG_SEEN:
            yield data[at:end]
        at = end


def _jpeg(data: bytes) -> Iterator[bytes]:
    yield data[:2]
    at = 2
    while data[at + 1] != 0xDA:  # the pixels
        if data[at] != 0xFF:
            raise ValueError("no marker")
        end = at + 2 + _number(data, at + 2, 2, "big")
        if data[at + 1] not in JPEG_UNSEEN:
            yield data[at:end]
        at = end
    yield data[at:]


def _webp(data: bytes) -> Iterator[bytes]:
    if data[8:12] != b"WEBP":
        raise ValueError("no picture")
    chunks = []
    at = 12
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], _number(data, at + 4, 4, "little")
        chunk = data[at : at + 8 + size + size % 2]
        if kind == b"VP8X":  # has flags for the other chunks
            chunk = chunk[:8] + bytes([chunk[8] & ~0x0C]) + chunk[9:]
        if kind not in (b"EXIF", b"XMP "):
            chunks.append(chunk)
        at += 8 + size + size % 2
    content = b"".join(chunks)
    yield b"RIFF" + (len(content) + 4).to_bytes(4, "little") + b"WEBP" + content


def _gif(data: bytes) -> Iterator[bytes]:
    at = 13 + _colours(data[10])
    yield data[:at]
    while data[at] != 0x3B:
        begin = at
        if data[at] == 0x21:
            is_seen = data[at + 1] != 0xFE and data[at + 3 : at + 11] != b"XMP Data"
            at += 2
        elif data[at] == 0x2C:
            is_seen = True
            at += 11 + _colours(data[at + 9])
        else:
            raise ValueError("no block")
        while data[at]:
            at += 1 + data[at]
        at += 1
        if is_seen:
            yield data[begin:at]
    yield b"\x3b"


def _colours(flags: int) -> int:
    """Return the size of a table of colours in bytes."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _number(data: bytes, at: int, size: int, order: str) -> int:
    if at + size > len(data):
        raise ValueError("cut short")
    return int.from_bytes(data[at : at + size], "big" if order == "big" else "little")


PNG_SEEN: Final = frozenset(
    {b"tRNS", b"gAMA", b"sRGB", b"cHRM", b"iCCP", b"sBIT", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"}
)
JPEG_UNSEEN: Final = frozenset({0xE1, *range(0xE3, 0xEE), 0xEF, 0xFE})
"""Exif and XMP, notes of programs, comments. Colour profiles and Adobe's colour segment stay."""
FORMATS: Final[tuple[tuple[bytes, Callable[[bytes], Iterator[bytes]]], ...]] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8\xff", _jpeg),
    (b"RIFF", _webp),
    (b"GIF8", _gif),
)
