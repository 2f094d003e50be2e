"""Recover the end of a catalogue from the copies of its lines in the packs.

The lines are exactly those that were written: each has its checksum and that of the line before it. The chunks they
name are read and checked against their SHA-256 first. The catalogue is replaced in one step, so an interrupted recovery
changes nothing, and a repeated one has nothing to do.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from backscroll.archive.catalogue import (
    BEGINNING,
    AddedBytes,
    BadLine,
    CaptureEnd,
    CatalogueEntry,
    Chunk,
    ImpossibleLine,
    VerificationEnd,
    decode,
)
from backscroll.archive.end_note import read_note
from backscroll.archive.line_copies import CopiedLine, Copy, continuation, copies_in, gaps, reaches_back
from backscroll.disk import read_whole, write_private

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

BEFORE_REPAIR: Final = "catalogue.before-repair"


@dataclass(frozen=True)
class Recovered:
    """The result of a recovery: recovered and missing lines."""

    lines: int = 0
    files: int = 0
    """The number of files that these lines are about."""
    size: int = 0
    """The bytes of these files that the catalogue no longer named."""
    missing: int = 0
    """The lines that were written and are in no pack, not counting notes about captures and verifications."""
    is_written: bool = False


@dataclass(frozen=True)
class _Beginning:
    """The intact part of a catalogue, up to its first damaged line."""

    data: bytes
    lines: int
    sum: str
    later: frozenset[bytes]
    """Intact lines after a damaged one that must not be lost."""


def recover(archive: "Archive") -> Recovered:
    """Append to the catalogue the lines after its end that only the packs have.

    This also completes a commit that was interrupted between pack and catalogue.
    """
    note = archive.note
    is_doubtful = archive.lost_end is not None or bool(archive.bad_lines) or not archive.has_header
    copies = list(copies_in(archive, gaps(archive, only_last=not is_doubtful)))
    if not is_doubtful and not continuation(copies, archive.last_sum):
        return Recovered()
    beginning = _beginning_of(archive)
    written = note.lines if note is not None else 0
    parts = _proven(archive, continuation(copies, beginning.sum), beginning.lines, written)
    lines = [line for part in parts for line in part]
    total = beginning.lines + len(lines)
    lacks_only_notes = note is not None and 0 < note.copied <= total
    missing = 0 if lacks_only_notes else max(0, written - total)
    if archive.bad_lines and not beginning.later <= {line.text for line in lines}:
        return Recovered(missing=missing)  # recovery would lose lines
    if not lines:
        return Recovered(missing=missing)
    if archive.bad_lines:
        write_private(archive.folder / BEFORE_REPAIR, read_whole(archive.catalogue))
    write_private(archive.catalogue, beginning.data + b"".join(line.text for line in lines))
    chunks = {chunk.id: chunk for line in lines for chunk in _chunks(line.entry)}
    return Recovered(
        lines=len(lines),
        files=len({number for line in lines if (number := getattr(line.entry, "file", None)) is not None}),
        size=sum(chunk.size for chunk in chunks.values() if chunk.id not in archive.chunks),
        missing=missing,
        is_written=True,
    )


def has_all_copies(archive: "Archive", copies: list[Copy]) -> bool:
    """Whether the packs have all lines that they should have; True if that cannot be known."""
    note = archive.note
    if note is None or not archive.is_complete:
        return True
    if reaches_back(copies, archive.copied_sum):
        return True
    now = read_note(archive.folder)
    return now is None or now.header != note.header  # rewritten since the catalogue was read


def _proven(archive: "Archive", parts: list[list[CopiedLine]], before: int, written: int) -> list[list[CopiedLine]]:
    """Return the parts, except trailing commits whose chunks did not reach the disk and that may be incomplete."""
    parts = list(parts)
    while parts and before + sum(map(len, parts)) > written:
        if all(archive.is_sound(chunk) for line in parts[-1] for chunk in _chunks(line.entry)):
            break
        parts.pop()
    return parts


def _chunks(entry: CatalogueEntry | ImpossibleLine) -> list[Chunk]:
    return entry.chunks if isinstance(entry, AddedBytes) else []


def _beginning_of(archive: "Archive") -> _Beginning:
    try:
        data = read_whole(archive.catalogue)
    except FileNotFoundError:
        data = b""
    end = count = 0
    last_sum = BEGINNING
    later = set()
    is_sound = True
    start = 0
    for line in decode(data):
        bad = line.entry if isinstance(line.entry, BadLine) else None
        entry, text = (bad.entry, bad.text) if bad else (line.entry, data[start : line.end].rstrip(b"\n"))
        is_sound = is_sound and bad is None
        if is_sound:
            end, count, last_sum = line.end, count + 1, line.sum
        elif (bad is None or bad.is_intact) and not isinstance(entry, (CaptureEnd, VerificationEnd)):
            later.add(text + b"\n")
        start = line.end
    kept = data[:end]
    return _Beginning(kept if kept.endswith(b"\n") or not kept else kept + b"\n", count, last_sum, frozenset(later))
