"""The catalogue: a text file that says what is kept and where it lies in the packs.

One JSON object a line, only ever appended to. Each line ends with a sum in two halves: over the line itself, so that a
change in it is noticed and costs no other, and over it and the sum before it, so that a line which was lost, doubled or
moved is noticed. The format is described in docs/reference/archive-format.md.
"""

import hashlib
import os
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


class CatalogueEntry(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """A line of the catalogue. `at` is when it was written, in UTC."""

    at: str


class Header(CatalogueEntry, frozen=True, kw_only=True, tag="archive", omit_defaults=False):
    """The first line. Packs with a lower number than `first_pack` that no line speaks of are rubbish."""

    format: int = FORMAT
    hash: str = "sha256"
    compression: str = "zstd"
    first_pack: int = 1


class NewFile(CatalogueEntry, frozen=True, kw_only=True, tag="file"):
    """A file that is kept from now on. `file` is its number in all lines after this one.

    A name that is no UTF-8 stands in `path_hex` or `home_hex`, as the hexadecimal digits of its bytes.
    """

    file: int
    machine: str
    home: str
    path: str
    type: str
    home_hex: str | None = None
    path_hex: str | None = None


class AddedBytes(CatalogueEntry, frozen=True, kw_only=True, tag="bytes"):
    """More bytes of a file. A version that was not there before begins at its beginning.

    `size` is the size of the version with these bytes; `bookmark` is how far and in which state the source was read.
    """

    file: int
    version: int
    size: int
    modified_ns: int
    chunks: list[Chunk]
    bookmark: list[int]


class Moved(CatalogueEntry, frozen=True, kw_only=True, tag="moved"):
    """A file that lies elsewhere in its home now."""

    file: int
    path: str
    path_hex: str | None = None


class Gone(CatalogueEntry, frozen=True, kw_only=True, tag="gone"):
    """A file that is not in its home any more. What was kept of it stays; new bytes of it say that it is back."""

    file: int


class Suspect(CatalogueEntry, frozen=True, kw_only=True, tag="suspect"):
    """A file of which something kept is damaged: if it is still there, it is kept once more from its beginning."""

    file: int


class Forgotten(CatalogueEntry, frozen=True, kw_only=True, tag="forgotten"):
    """A file that the user had removed, and that is not to be kept again: the SHA-256 of machine, home and path."""

    key: str


class CaptureEnd(CatalogueEntry, frozen=True, kw_only=True, tag="captured"):
    """The end of a capture: everything in the home at that time is kept."""

    machine: str
    home: str
    home_hex: str | None = None


class VerificationEnd(CatalogueEntry, frozen=True, kw_only=True, tag="verified"):
    """Somebody looked whether everything is whole."""

    damaged: int
    quick: bool


class BadLine(NamedTuple):
    """A line that is not what was written."""

    number: int
    text: bytes
    entry: CatalogueEntry | None
    """What it seems to say, if it can be read at all."""
    is_intact: bool = False
    """Whether it says what was written: only its newline, its place or the line before it is wrong."""

    @property
    def files(self) -> list[int]:
        """The numbers of files that are left in it."""
        return [int(number) for number in FILE.findall(self.text)]


class CatalogueLine(NamedTuple):
    """A line as it was read, with where the next one begins and its sum."""

    entry: CatalogueEntry | BadLine
    end: int
    sum: str


def written_name(name: str) -> tuple[str, str | None]:
    """A name as it is written: the text, and its bytes in hexadecimal where it is no UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace").decode(), os.fsencode(name).hex()
    return name, None


def read_name(text: str, in_hex: str | None) -> str:
    """The name that was written."""
    return text if in_hex is None else os.fsdecode(bytes.fromhex(in_hex))


def encode(entries: Iterable[CatalogueEntry], last_sum: str) -> tuple[bytes, str]:
    """The lines for these entries after a line with `last_sum`; and the sum of the last of them."""
    lines = []
    for entry in entries:
        body = ENCODER.encode(entry)
        last_sum = _sum(body) + _sum(last_sum.encode() + body)
        lines.append(b'%s,"sum":"%s"}\n' % (body[:-1], last_sum.encode()))
    return b"".join(lines), last_sum


def without_sums(lines: bytes) -> bytes:
    """Sound lines as they were before they got their sums."""
    return b"".join(_parts(text)[0] + b"\n" for text in lines.split(b"\n") if text)


def with_sums(bodies: bytes, last_sum: str) -> Iterator[tuple[bytes, str, CatalogueEntry]]:
    """The same lines with their sums, behind a line with `last_sum`: each with its newline, its sum, what it says."""
    for body in bodies.splitlines():
        entry = _entry(body)
        if entry is None:
            return
        last_sum = _sum(body) + _sum(last_sum.encode() + body)
        yield b'%s,"sum":"%s"}\n' % (body[:-1], last_sum.encode()), last_sum, entry


def decode(data: bytes) -> Iterator[CatalogueLine]:
    """The lines of a catalogue. One that breaks off before its sum was never acknowledged, and is left out."""
    before = [BEGINNING]  # what the sum of the line before may have been; nothing where that is not to be known
    for number, text in enumerate(_texts(data), start=1):
        body, written = _parts(text.text)
        entry = _entry(body)
        is_intact = entry is not None and written[:HALF] == _sum(body)
        has_form = text.text[-TAIL:].startswith(b',"sum":"') and text.text.endswith(b'"}')
        chained = [_sum(one.encode() + body) for one in before]
        is_chained = not before or written[HALF:] in chained
        if is_intact and is_chained and has_form and text.ends_well and entry is not None:
            yield CatalogueLine(entry, text.end, written)
        else:
            yield CatalogueLine(BadLine(number, text.text, entry, is_intact=is_intact), text.end, written)
        if not is_intact:
            before = []
        elif is_chained:
            before = [written]
        else:  # its place is wrong, or only the half of its sum that speaks of that: the next line knows which
            before = [written, *(written[:HALF] + half for half in chained)]


class _Text(NamedTuple):
    text: bytes
    end: int
    ends_well: bool
    """With a newline, or with nothing at all behind its sum."""


def _texts(data: bytes) -> Iterator[_Text]:
    """The lines of the file; two whose newline was changed are still two."""
    at = 0
    while at < len(data):  # one by one: all lines at once would be a second copy of the catalogue
        newline = data.find(b"\n", at)
        end = (newline if newline >= 0 else len(data)) + 1
        text = data[at : end - 1]
        while joined := JOINED.search(text):
            at += joined.end()
            yield _Text(text[: joined.start(2)], at, False)
            text = text[joined.end() :]
        if end <= len(data):
            yield _Text(text, end, True)
        elif found := WHOLE.match(text):  # the last one: whole, with its newline missing or changed
            yield _Text(found[1], len(data), not found[2])
        at = end


def _parts(text: bytes) -> tuple[bytes, str]:
    """A line without its sum, and the sum. Both have their place, whatever became of the signs around them."""
    return text[:-TAIL] + b"}", text[-TAIL + len(b',"sum":"') : -len(b'"}')].decode("utf-8", "replace")


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:HALF]


def _entry(body: bytes) -> CatalogueEntry | None:
    try:
        return DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


JOINED: Final = re.compile(rb'("sum":"[0-9a-f]{32}"\})([^\n])(?=\{"kind":")', re.DOTALL)
WHOLE: Final = re.compile(rb'(.*,"sum":"[0-9a-f]{32}"\})(.?)\Z', re.DOTALL)
FILE: Final = re.compile(rb'"file":(\d+)')
HALF: Final = 16
TAIL: Final = len(b',"sum":""}') + 2 * HALF
ENCODER: Final = msgspec.json.Encoder()
DECODER: Final[msgspec.json.Decoder[CatalogueEntry]] = msgspec.json.Decoder(
    Header | NewFile | AddedBytes | Moved | Gone | Suspect | Forgotten | CaptureEnd | VerificationEnd
)
