"""The catalogue: a text file that says what is kept and where it lies in the packs.

One JSON object a line, only ever appended to. Each line ends with a sum over itself and the sum of the line before, so
that a line which was changed, lost or moved is noticed. The format is described in docs/reference/archive-format.md.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

FORMAT: Final = 1
BEGINNING: Final = "backscroll archive"
"""What the first line's sum is taken over, in the place of a sum before it."""


class Chunk(NamedTuple):
    """Some bytes of a file, and where they lie: SHA-256 of the bytes, pack, offset and length there, size unpacked."""

    id: str
    pack: int
    offset: int
    length: int
    size: int


class Entry(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """A line of the catalogue. `at` is when it was written, in UTC."""

    at: str


class Header(Entry, frozen=True, kw_only=True, tag="archive"):
    """The first line."""

    format: int = FORMAT
    hash: str = "sha256"
    compression: str = "zstd"


class NewFile(Entry, frozen=True, kw_only=True, tag="file"):
    """A file that is kept from now on. `file` is its number in all lines after this one."""

    file: int
    machine: str
    home: str
    path: str
    type: str


class Bytes(Entry, frozen=True, kw_only=True, tag="bytes"):
    """More bytes of a file. A version that was not there before begins at its beginning.

    `size` is the size of the version with these bytes; `bookmark` is how far and in which state the source was read.
    """

    file: int
    version: int
    size: int
    modified_ns: int
    chunks: list[Chunk]
    bookmark: list[int]


class Moved(Entry, frozen=True, kw_only=True, tag="moved"):
    """A file that lies elsewhere in its home now."""

    file: int
    path: str


class Gone(Entry, frozen=True, kw_only=True, tag="gone"):
    """A file that is not in its home any more. What was kept of it stays; new bytes of it say that it is back."""

    file: int


class Forgotten(Entry, frozen=True, kw_only=True, tag="forgotten"):
    """A file that the user had removed, and that is not to be kept again: the SHA-256 of machine, home and path."""

    key: str


class Captured(Entry, frozen=True, kw_only=True, tag="captured"):
    """The end of a capture: everything in the home at that time is kept."""

    machine: str
    home: str


class Verified(Entry, frozen=True, kw_only=True, tag="verified"):
    """Somebody looked whether everything is whole."""

    damaged: int
    quick: bool


class BadLine(NamedTuple):
    """A line that is not what was written."""

    number: int
    text: bytes
    entry: Entry | None
    """What it seems to say, if it can be read at all."""


class Line(NamedTuple):
    """A line as it was read, with where the next one begins and its sum."""

    entry: Entry | BadLine
    end: int
    sum: str


def encode(entries: Iterable[Entry], last_sum: str) -> tuple[bytes, str]:
    """The lines for these entries after a line with `last_sum`; and the sum of the last of them."""
    lines = []
    for entry in entries:
        body = ENCODER.encode(entry)
        last_sum = _sum(last_sum, body)
        lines.append(b'%s,"sum":"%s"}\n' % (body[:-1], last_sum.encode()))
    return b"".join(lines), last_sum


def decode(data: bytes) -> Iterator[Line]:
    """The lines of a catalogue. One without its newline is not whole yet, and is left out."""
    last_sum = BEGINNING
    at = 0
    number = 0
    while (end := data.find(b"\n", at) + 1) > 0:
        number += 1
        text = data[at : end - 1]
        found = SUM.search(text)
        body = text[: found.start()] + b"}" if found else text
        entry = _entry(body)
        if found is None or entry is None or _sum(last_sum, body) != found[1].decode():
            yield Line(BadLine(number, text, entry), end, found[1].decode() if found else last_sum)
        else:
            yield Line(entry, end, found[1].decode())
        last_sum = found[1].decode() if found else last_sum
        at = end


def _sum(last_sum: str, body: bytes) -> str:
    return hashlib.sha256(last_sum.encode() + body).hexdigest()[:32]


def _entry(body: bytes) -> Entry | None:
    try:
        return DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


SUM: Final = re.compile(rb',"sum":"([0-9a-f]{32})"\}\Z')
ENCODER: Final = msgspec.json.Encoder()
DECODER: Final[msgspec.json.Decoder[Entry]] = msgspec.json.Decoder(
    Header | NewFile | Bytes | Moved | Gone | Forgotten | Captured | Verified
)
