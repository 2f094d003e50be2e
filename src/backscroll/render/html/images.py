"""Detect the media type of an image from its first bytes. The type in the transcript is not trusted."""

from typing import Final, NamedTuple


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def detect_media_type(data: bytes) -> str | None:
    """Return the media type: png, jpeg, gif or webp. None for other types, truncated headers and absurd sizes.

    SVG is not supported, because it can contain scripts.
    """
    for magic, media_type, measure in (
        (PNG, "image/png", png_size),
        (b"\xff\xd8\xff", "image/jpeg", jpeg_size),
        (b"GIF87a", "image/gif", gif_size),
        (b"GIF89a", "image/gif", gif_size),
        (b"RIFF", "image/webp", webp_size),
    ):
        if data.startswith(magic):
            size = measure(data)
            return media_type if size and 0 < size.width * size.height <= MAX_PIXELS else None
    return None


def png_size(data: bytes) -> Size | None:
    """Read the size from the header, the first chunk."""
    if data[8:16] != b"\0\0\0\rIHDR" or len(data) < 33:
        return None
    return Size(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))


def gif_size(data: bytes) -> Size | None:
    """Read the size of the logical screen."""
    if len(data) < 13:
        return None
    return Size(int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))


def jpeg_size(data: bytes) -> Size | None:
    """Read the size from the frame header, which follows segments of any length."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in FRAMES:
            if at + 9 > len(data):
                return None
            return Size(int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big"))
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # no length
            at += 2
        elif marker in (0xD9, 0xDA):  # the end, or the pixels: too late for a header
            return None
        else:
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if length < 2:
                return None
            at += 2 + length
    return None


def webp_size(data: bytes) -> Size | None:
    """Read the size from the first chunk, which has one of three formats."""
    if data[8:12] != b"WEBP" or len(data) < 30:
        return None
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return Size(
            int.from_bytes(body[6:8], "little") & 0x3FFF,
            int.from_bytes(body[8:10], "little") & 0x3FFF,
        )
    if kind == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X":
        return Size(int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1)
    return None


MAX_PIXELS: Final = 50_000_000
PNG: Final = b"\x89PNG\r\n\x1a\n"
FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
