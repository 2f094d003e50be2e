"""A picture is what its bytes say."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.images import detect_media_type


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x06\0\0\0" + b"\0" * 4


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 302) + b"\0" * 300
    return b"\xff\xd8" + exif + b"\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body.ljust(10, b"\0")


def lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height))


def lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def extended(width: int, height: int) -> bytes:
    return webp(b"VP8X", b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


KINDS = [
    (png, "image/png"),
    (gif, "image/gif"),
    (jpeg, "image/jpeg"),
    (lossy, "image/webp"),
    (lossless, "image/webp"),
    (extended, "image/webp"),
]


@pytest.mark.parametrize(("make", "media_type"), KINDS)
def test_the_four_kinds_are_known_by_their_bytes(make, media_type: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert detect_media_type(make(640, 480)) == media_type


@pytest.mark.parametrize("make", [png, gif, jpeg, lossy, lossless, extended])
def test_more_than_fifty_megapixels_are_no_picture(make) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert detect_media_type(make(10_000, 5_000)) is not None
    assert detect_media_type(make(10_000, 5_001)) is None


@pytest.mark.parametrize("make", [png, gif, jpeg, lossy])
def test_a_picture_without_pixels_is_none(make) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert detect_media_type(make(0, 10)) is None


@pytest.mark.parametrize(("make", "needed"), [(png, 33), (gif, 13), (jpeg, 316), (lossy, 30), (extended, 30)])
def test_a_header_that_is_cut_short_is_no_picture(make, needed: int) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    whole = make(640, 480)
    assert [end for end in range(needed) if detect_media_type(whole[:end])] == []
    assert detect_media_type(whole[:needed])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<?xml version='1.0'?><svg/>",
        b"<html><script>alert(1)</script>",
        b"\x89PNG\r\n\x1a\n<svg onload=alert(1)>" + b" " * 40,
        b"\xff\xd8\xff<script>alert(1)</script>" + b" " * 40,
        b"\xff\xd8" + b"\xff\xe0\0\0" * 1000,
        b"\xff\xd8" + b"\xff" * 100_000,
        b"RIFF\0\0\0\0WAVEfmt " + b"\0" * 40,
        b"RIFF\0\0\0\0WEBPJUNK" + b"\0" * 40,
        b"BM" + b"\0" * 60,
        b"II*\0" + b"\0" * 60,
        b"%PDF-1.7",
        b"\0\0\0\x1cftypavif" + b"\0" * 40,
    ],
)
def test_all_else_is_no_picture(data: bytes) -> None:
    assert detect_media_type(data) is None


@given(st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"]), st.binary())
def test_any_bytes_have_an_answer(start: bytes, rest: bytes) -> None:
    assert detect_media_type(start + rest) in {None, "image/png", "image/jpeg", "image/gif", "image/webp"}
