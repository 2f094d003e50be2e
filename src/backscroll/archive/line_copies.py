"""A second copy of the catalogue's lines, in the packs, from which a lost end is recovered.

Each commit first writes the lines for the catalogue into the pack, after the chunks they name, and one flush brings
both to the disk. A copy is a skippable Zstandard frame, which other readers ignore. It names the checksum of the line
before its first one, which proves that copies follow the catalogue and each other.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import zstandard

from backscroll.archive.catalogue import (
    BEGINNING,
    AddedBytes,
    CaptureEnd,
    CatalogueEntry,
    Header,
    ImpossibleLine,
    VerificationEnd,
    with_sums,
    without_sums,
)
from backscroll.disk import open_own, read_at
from backscroll.errors import storage_error

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

MAGIC: Final = b"\x5b\x2a\x4d\x18"
"""0x184D2A5B, one of the magic numbers of skippable frames."""
NAME: Final = b"bscroll1"
HEAD: Final = len(MAGIC) + 4 + len(NAME)
SUM: Final = 16
CHECK: Final = 8
PIECE: Final = 4 * 1024 * 1024


class Gap(NamedTuple):
    """Bytes of a pack that belong to no chunk in the catalogue."""

    pack: int
    start: int
    end: int


class CopiedLine(NamedTuple):
    """A line of the catalogue, with its newline."""

    text: bytes
    sum: str
    entry: CatalogueEntry | ImpossibleLine


class Copy(NamedTuple):
    """Consecutive lines, the checksum of the line before them, and the number of bytes they take in the pack."""

    before: str
    lines: list[CopiedLine]
    length: int


def is_worth_a_copy(entries: Iterable[CatalogueEntry]) -> bool:
    """Whether losing these lines would lose anything. Mere notes wait for the next copy."""
    return not all(
        isinstance(entry, (Header, CaptureEnd, VerificationEnd))
        or (isinstance(entry, AddedBytes) and not entry.chunks and entry.size > 0)
        for entry in entries
    )


def pack_copy(lines: bytes, before: str) -> bytes:
    """Return the frame with a copy of these lines."""
    packed = zstandard.ZstdCompressor(level=LEVEL, dict_data=DICTIONARY).compress(without_sums(lines))
    content = (bytes(SUM) if before == BEGINNING else bytes.fromhex(before)) + packed
    content = NAME + _check(content) + content
    return MAGIC + len(content).to_bytes(4, "little") + content


def gaps(archive: "Archive", *, only_last: bool = False) -> Iterator[Gap]:
    """Yield the bytes that the catalogue does not name, or only those after the last chunk of the last pack."""
    claimed: dict[int, list[tuple[int, int]]] = {}
    for chunk in archive.chunks.values():
        claimed.setdefault(chunk.pack, []).append((chunk.offset, chunk.offset + chunk.length))
    try:
        numbers = archive.packs_on_disk()
    except OSError as error:
        raise storage_error(error, "the packs could not be read") from error
    for number in numbers[-1:] if only_last else numbers:
        try:
            size = archive.pack(number).stat().st_size
        except FileNotFoundError:
            continue  # forgotten meanwhile
        except OSError as error:
            raise storage_error(error, f"pack {number} could not be read") from error
        at = 0
        if only_last:
            at = max((end for _, end in claimed.get(number, [])), default=0)
        else:
            for start, end in sorted(claimed.get(number, [])):
                if start > at:
                    yield Gap(number, at, min(start, size))
                at = max(at, end)
        if at < size:
            yield Gap(number, at, size)


def copies_in(archive: "Archive", found: Iterable[Gap]) -> Iterator[Copy]:
    """Yield the copies in these gaps, in the order they were written."""
    for gap in found:
        try:
            yield from _copies(archive.pack(gap.pack), gap)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise storage_error(error, f"pack {gap.pack} could not be read") from error


def continuation(copies: list[Copy], last_sum: str) -> list[list[CopiedLine]]:
    """Return the lines written after the line with this checksum, by copy; empty if there are none, or none are known.

    The search goes backwards from the latest copy: the lines of an interrupted commit that others replaced are not a
    continuation.
    """
    positions = {
        line.sum: (number, count) for number, copy in enumerate(copies) for count, line in enumerate(copy.lines, 1)
    }
    seen: set[int] = set()
    for latest in range(len(copies) - 1, -1, -1):
        parts: list[list[CopiedLine]] = []
        number, count = latest, len(copies[latest].lines)
        while number not in seen or number == latest:
            seen.add(number)
            copy = copies[number]
            sums = [copy.before, *(line.sum for line in copy.lines[:count])]
            if last_sum in sums:
                parts.append(copy.lines[sums.index(last_sum) : count])
                return [part for part in reversed(parts) if part]
            parts.append(copy.lines[:count])
            if copy.before not in positions or positions[copy.before][0] == number:
                break
            number, count = positions[copy.before]
    return []


def reaches_back(copies: list[Copy], last_sum: str) -> bool:
    """Whether the copies have the line with this checksum and all lines before it."""
    before = {line.sum: copy.before for copy in copies for line in copy.lines}
    while last_sum in before:
        last_sum = before[last_sum]
    return last_sum == BEGINNING


def _copies(path: Path, gap: Gap) -> Iterator[Copy]:
    with open_own(path) as file:
        at = gap.start
        while at < gap.end:
            piece = read_at(file.fileno(), at, min(PIECE, gap.end - at))
            place = piece.find(MAGIC)
            if place < 0 or len(piece) < HEAD:
                at += max(1, len(piece) - len(MAGIC) + 1)
                continue
            at += place
            length = int.from_bytes(read_at(file.fileno(), at + len(MAGIC), 4), "little")
            end = at + len(MAGIC) + 4 + length
            copy = _read(read_at(file.fileno(), at + len(MAGIC) + 4, length)) if end <= gap.end else None
            if copy is not None:
                yield copy
            at = at + len(MAGIC) if copy is None else end


def _read(content: bytes) -> Copy | None:
    rest = content[len(NAME) + CHECK :]
    if not content.startswith(NAME) or content[len(NAME) : len(NAME) + CHECK] != _check(rest) or len(rest) <= SUM:
        return None
    before = BEGINNING if rest[:SUM] == bytes(SUM) else rest[:SUM].hex()
    try:
        data = zstandard.ZstdDecompressor(dict_data=DICTIONARY).decompress(rest[SUM:])
    except zstandard.ZstdError:
        return None
    lines = [CopiedLine(*line) for line in with_sums(data, before)]
    return Copy(before, lines, len(MAGIC) + 4 + len(content))


def _check(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:CHECK]


LEVEL: Final = 3
TYPICAL: Final = (
    b'{"kind":"file","at":"2026-01-05T10:00:00Z","file":1,"machine":"box","home":"/home/ada/.claude","path":"projects/'
    b'/subagents/agent-.jsonl","type":"session"}\n{"kind":"gone","at":"2026-01-05T10:00:00Z","file":1}\n'
    b'{"kind":"captured","at":"2026-01-05T10:00:00Z","machine":"box","home":"/home/ada/.claude"}\n'
    b'{"kind":"bytes","at":"2026-01-05T10:00:00Z","file":1,"version":0,"size":7,"modified_ns":17,"chunks":[["c",1,0,20,7'
    b']],"bookmark":[7,2049,131,7,17,17,2143842329,2143842329,2143842329]}\n'
)
"""The compression dictionary: typical lines. It halves the copy of one line. Never change it: old copies need it."""
DICTIONARY: Final = zstandard.ZstdCompressionDict(TYPICAL, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
