"""Images are shared without invisible metadata, and look the same."""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.redaction.pictures import without_metadata
from backscroll.redaction.redactor import Redactor
from backscroll.render.html.images import detect_media_type

NOTE = b"made at 47.05,8.30 by ada"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*extra: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + pixels + chunk(b"IEND", b"")


def jpeg(*extra: bytes) -> bytes:
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 1, 1, 1) + b"\1\x11\0"
    return b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" + b"".join(extra) + frame + b"\xff\xda\0\2pixels\xff\xd9"


def segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def webp(flags: int, *extra: bytes) -> bytes:
    body = (
        b"VP8X"
        + struct.pack("<I", 10)
        + bytes([flags, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        + b"VP8L\x02\0\0\0ab"
        + b"".join(extra)
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def gif(*extra: bytes) -> bytes:
    return b"GIF89a\1\0\1\0\x80\0\0" + b"\0" * 6 + b"".join(extra) + b"\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0\x3b"


WITH_NOTE = {
    "png text": (png(chunk(b"tEXt", b"Comment\0" + NOTE)), png()),
    "png exif": (png(chunk(b"eXIf", NOTE)), png()),
    "png behind its end": (png() + NOTE, png()),
    "jpeg exif": (jpeg(segment(0xE1, b"Exif\0\0" + NOTE)), jpeg()),
    "jpeg comment": (jpeg(segment(0xFE, NOTE)), jpeg()),
    "webp exif": (webp(0x08, b"EXIF" + struct.pack("<I", len(NOTE)) + NOTE + b"\0"), webp(0)),
    "gif comment": (gif(b"\x21\xfe" + bytes([len(NOTE)]) + NOTE + b"\0"), gif()),
}


@pytest.mark.parametrize("name", WITH_NOTE)
def test_metadata_is_taken_out_and_nothing_else(name: str) -> None:
    picture, plain = WITH_NOTE[name]
    assert NOTE in picture
    assert without_metadata(picture) == plain
    assert without_metadata(plain) is plain
    assert detect_media_type(plain) == detect_media_type(picture) != None  # noqa: E711


def test_the_visible_image_stays() -> None:
    for picture in (
        png(chunk(b"tRNS", b"\0" * 6)),
        jpeg(segment(0xE2, b"ICC_PROFILE\0")),
        gif(b"\x21\xf9\4\1\0\0\0\0"),
    ):
        assert without_metadata(picture) is picture


@given(st.sampled_from(sorted(WITH_NOTE)), st.integers(0, 200), st.binary(max_size=8))
def test_damaged_pictures_are_no_trouble(name: str, at: int, other: bytes) -> None:
    picture = WITH_NOTE[name][0]
    without_metadata(picture[:at] + other)
    without_metadata(picture[:at] + other + picture[at:])


@pytest.mark.parametrize(
    "place",
    [
        lambda data: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        lambda data: {"type": "image", "file": {"base64": data, "type": "image/png", "originalSize": 9}},
    ],
)
def test_a_picture_in_a_record_is_shared_without_its_metadata(place: Any) -> None:  # noqa: ANN401
    with_note, plain = (base64.b64encode(picture).decode() for picture in WITH_NOTE["png text"])
    assert Redactor().value({"content": [place(with_note)]}) == {"content": [place(plain)]}
    unchanged = {"content": [place(plain)]}
    assert Redactor().value(unchanged) is unchanged


def test_real_pictures_stay_pictures(corpus: Path) -> None:
    seen = 0
    for path in sorted(corpus.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            if b'"media_type"' not in line:
                continue
            try:
                record = json.loads(line)
            except ValueError:
                continue
            content = (record.get("message") or {}).get("content")
            for block in content if isinstance(content, list) else []:
                if isinstance(block, dict) and block.get("type") == "image":
                    picture = base64.b64decode(block["source"]["data"])
                    assert detect_media_type(without_metadata(picture)) == detect_media_type(picture)
                    seen += 1
    assert seen
