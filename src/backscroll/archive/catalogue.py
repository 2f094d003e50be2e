"""The catalogue: a text file that lists the kept files and the positions of their bytes in the packs.

It has one JSON object per line and is append-only. Each line ends with a checksum in two halves: one over the line
itself, so that a change affects only this line, and one that includes the checksum of the previous line, so that lost,
doubled or moved lines are noticed. docs/reference/archive-format.md describes the format.
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
"""Stands in for the previous checksum in the first line."""


class Chunk(NamedTuple):
    """Some bytes of a file and their place: SHA-256, pack, offset and length in the pack, unpacked size."""

    id: str
    pack: int
    offset: int
    length: int
    size: int


class CatalogueEntry(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """A line of the catalogue. `at` is the time when it was written, in UTC."""

    at: str


class Header(CatalogueEntry, frozen=True, kw_only=True, tag="archive", omit_defaults=False):
    """The first line. Packs below `first_pack` that no line names are garbage."""

    format: int = FORMAT
    hash: str = "sha256"
    compression: str = "zstd"
    first_pack: int = 1


class NewFile(CatalogueEntry, frozen=True, kw_only=True, tag="file"):
    """A file that is kept from now on. `file` is its number in all later lines.

    A name that is not UTF-8 is in `path_hex` or `home_hex`, as hexadecimal bytes.
    """

    file: int
    machine: str
    home: str
    path: str
    type: str
    home_hex: str | None = None
    path_hex: str | None = None


class AddedBytes(CatalogueEntry, frozen=True, kw_only=True, tag="bytes"):
    """More bytes of a file. A new version starts at offset 0.

    `size` is the size of the version including these bytes; `bookmark` is the position up to which the source was read,
    and its state then. `unrelated` is true if the version has nothing in common with the one before it. Versions of
    backscroll that do not know the name show less of such a file, as they did before.
    """

    file: int
    version: int
    size: int
    modified_ns: int
    chunks: list[Chunk]
    bookmark: list[int]
    unrelated: bool | None = None


class Moved(CatalogueEntry, frozen=True, kw_only=True, tag="moved"):
    """A file that moved within its home."""

    file: int
    path: str
    path_hex: str | None = None


class Gone(CatalogueEntry, frozen=True, kw_only=True, tag="gone"):
    """A file that is gone from its home. It stays kept; new bytes mean that it is back."""

    file: int


class Suspect(CatalogueEntry, frozen=True, kw_only=True, tag="suspect"):
    """A file whose kept bytes are damaged: if it still exists, it is kept again from the start.

    `withdrawn` takes earlier such lines back: all bytes of the file were found intact. Versions that do not know the
    name continue to count the file as damaged.
    """

    file: int
    withdrawn: bool = False


class Forgotten(CatalogueEntry, frozen=True, kw_only=True, tag="forgotten"):
    """A file that the user removed and that must not be kept again, as a hash (see `forgetting`)."""

    key: str


class CaptureEnd(CatalogueEntry, frozen=True, kw_only=True, tag="captured"):
    """The end of a capture: everything in the home at that time is kept."""

    machine: str
    home: str
    home_hex: str | None = None


class VerificationEnd(CatalogueEntry, frozen=True, kw_only=True, tag="verified"):
    """The result of a verification."""

    damaged: int
    quick: bool


class BadLine(NamedTuple):
    """A damaged line of the catalogue."""

    number: int
    text: bytes
    entry: CatalogueEntry | None
    """The apparent entry, if the line can be parsed at all."""
    is_intact: bool = False
    """Whether the content is intact: only its newline, its place or the previous line is wrong."""

    @property
    def files(self) -> list[int]:
        """The file numbers that can still be read in it."""
        return [int(number) for number in FILE.findall(self.text)]


class ImpossibleLine(NamedTuple):
    """A line with the right checksum, of a known kind, with content that no line of its kind can have."""

    text: bytes

    @property
    def files(self) -> list[int]:
        """The numbers of the files that it seems to be about."""
        return [int(number) for number in FILE.findall(self.text)]

    @property
    def is_header(self) -> bool:
        """Whether it is the first line of a catalogue."""
        return self.text.startswith(b'{"kind":"archive"')


class CatalogueLine(NamedTuple):
    """A line, with its checksum and the offset of the next line."""

    entry: CatalogueEntry | BadLine | ImpossibleLine
    end: int
    sum: str


def written_name(name: str) -> tuple[str, str | None]:
    """Return a name as text, and its bytes in hexadecimal if it is not UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace").decode(), os.fsencode(name).hex()
    return name, None


def read_name(text: str, in_hex: str | None) -> str:
    """Return the name that `written_name` encoded."""
    return text if in_hex is None else os.fsdecode(bytes.fromhex(in_hex))


def encode(entries: Iterable[CatalogueEntry], last_sum: str) -> tuple[bytes, str]:
    """Return the lines for these entries after a line with checksum `last_sum`, and the checksum of the last one."""
    lines = []
    for entry in entries:
        body = ENCODER.encode(entry)
        last_sum = _sum(body) + _sum(last_sum.encode() + body)
        lines.append(b'%s,"sum":"%s"}\n' % (body[:-1], last_sum.encode()))
    return b"".join(lines), last_sum


def without_sums(lines: bytes) -> bytes:
    """Return intact lines without their checksums."""
    return b"".join(_parts(text)[0] + b"\n" for text in lines.split(b"\n") if text)


def with_sums(bodies: bytes, last_sum: str) -> Iterator[tuple[bytes, str, CatalogueEntry | ImpossibleLine]]:
    """Yield lines after one with checksum `last_sum`: each with its newline, its checksum and its content."""
    for body in bodies.splitlines():
        entry = _entry(body) or (ImpossibleLine(body) if _has_known_kind(body) else None)
        if entry is None:
            return
        last_sum = _sum(body) + _sum(last_sum.encode() + body)
        yield b'%s,"sum":"%s"}\n' % (body[:-1], last_sum.encode()), last_sum, entry


def last_bytes(last_sum: str) -> bytes:
    """Return the last bytes of a line with this checksum."""
    return b',"sum":"%s"}\n' % last_sum.encode()


def decode(data: bytes, last_sum: str = BEGINNING, first: int = 1) -> Iterator[CatalogueLine]:
    """Yield the lines of a catalogue, or those from line `first` on, after a line with checksum `last_sum`.

    A line that ends before its checksum was never acknowledged and is left out.
    """
    before = [last_sum]  # possible checksums of the previous line; empty if unknown
    for number, text in enumerate(_texts(data), start=first):
        body, written = _parts(text.text)
        entry = _entry(body)
        is_impossible = entry is None and written[:HALF] == _sum(body) and _has_known_kind(body)
        is_intact = is_impossible or (entry is not None and written[:HALF] == _sum(body))
        has_form = text.text[-TAIL:].startswith(b',"sum":"') and text.text.endswith(b'"}')
        chained = [_sum(previous.encode() + body) for previous in before]
        is_chained = not before or written[HALF:] in chained
        if is_intact and is_chained and has_form and text.ends_well:
            yield CatalogueLine(ImpossibleLine(text.text) if entry is None else entry, text.end, written)
        else:
            yield CatalogueLine(BadLine(number, text.text, entry, is_intact=is_intact), text.end, written)
        if not is_intact:
            before = []
        elif is_chained:
            before = [written]
        else:  # its place is wrong, or only the second half of its checksum: the next line shows which
            before = [written, *(written[:HALF] + half for half in chained)]


class _Text(NamedTuple):
    text: bytes
    end: int
    ends_well: bool
    """Whether the line ends with a newline, or with nothing after its checksum."""


def _texts(data: bytes) -> Iterator[_Text]:
    """Yield the lines of the file; two lines whose newline was changed are still two."""
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
        elif last_line := WHOLE.match(text):  # the last line: complete, with its newline missing or changed
            yield _Text(last_line[1], len(data), not last_line[2])
        at = end


def _parts(text: bytes) -> tuple[bytes, str]:
    """Split a line into its content and its checksum, by fixed positions, even if the characters around them
    changed.
    """
    return text[:-TAIL] + b"}", text[-TAIL + len(b',"sum":"') : -len(b'"}')].decode("utf-8", "replace")


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:HALF]


def _entry(body: bytes) -> CatalogueEntry | None:
    try:
        return DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _has_known_kind(body: bytes) -> bool:
    try:
        kind = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get("kind", b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return bytes(kind) in KINDS


JOINED: Final = re.compile(rb'("sum":"[0-9a-f]{32}"\})([^\n])(?=\{"kind":")', re.DOTALL)
WHOLE: Final = re.compile(rb'(.*,"sum":"[0-9a-f]{32}"\})(.?)\Z', re.DOTALL)
FILE: Final = re.compile(rb'"file":(\d{1,18})(?![\d.eE])')
HALF: Final = 16
TAIL: Final = len(b',"sum":""}') + 2 * HALF
ENCODER: Final = msgspec.json.Encoder()
DECODER: Final[msgspec.json.Decoder[CatalogueEntry]] = msgspec.json.Decoder(
    Header | NewFile | AddedBytes | Moved | Gone | Suspect | Forgotten | CaptureEnd | VerificationEnd
)
KINDS: Final = frozenset(
    b'"%s"' % kind
    for kind in (b"archive", b"file", b"bytes", b"moved", b"gone", b"suspect", b"forgotten", b"captured", b"verified")
)
