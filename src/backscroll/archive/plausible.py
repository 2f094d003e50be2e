"""Check that lines of the catalogue are plausible: their numbers fit, and their names can be names.

An intact line can still have content that no file can have, because it came from another machine. Such a line costs its
own file at most: it counts as lost, and `verify` reports it.
"""

from typing import Final

from backscroll.archive.catalogue import (
    AddedBytes,
    CaptureEnd,
    CatalogueEntry,
    Chunk,
    Header,
    Moved,
    NewFile,
    VerificationEnd,
    read_name,
)
from backscroll.files.reading import Bookmark

HIGHEST: Final = 2**50
"""The highest plausible number of a file, size, or offset."""
MOST_VERSIONS: Final = 100_000
"""The most versions of a file; a line may name one that follows lost lines."""


def is_plausible(entry: CatalogueEntry) -> bool:
    """Whether the numbers and names of a line are possible for kept files."""
    if isinstance(entry, AddedBytes):
        return _fits(entry.version, MOST_VERSIONS) and _fits(entry.size) and all(map(_is_place, entry.chunks))
    if isinstance(entry, NewFile):
        names = _is_name(entry.home, entry.home_hex) and _is_path(entry.path, entry.path_hex)
        return _fits(entry.file) and names and "\0" not in entry.machine
    if isinstance(entry, Moved):
        return _is_path(entry.path, entry.path_hex)
    if isinstance(entry, CaptureEnd):
        return _is_name(entry.home, entry.home_hex)
    if isinstance(entry, VerificationEnd):
        return _fits(entry.damaged)
    return not isinstance(entry, Header) or _fits(entry.first_pack)


def bookmark_in(entry: AddedBytes) -> Bookmark | None:
    """Return the bookmark of a line, if it has a possible one."""
    numbers = entry.bookmark
    is_whole = len(numbers) == len(Bookmark._fields) and all(-(2**63) <= number < 2**64 for number in numbers)
    return Bookmark(*numbers) if is_whole else None


def _is_place(chunk: Chunk) -> bool:
    return chunk.pack > 0 and min(chunk[1:]) >= 0 and max(chunk[1:]) <= HIGHEST


def _fits(number: int, highest: int = HIGHEST) -> bool:
    return 0 <= number <= highest


def _is_path(text: str, in_hex: str | None) -> bool:
    return _is_name(text, in_hex) and any(part not in ("", ".") for part in read_name(text, in_hex).split("/"))


def _is_name(text: str, in_hex: str | None) -> bool:
    try:
        return "\0" not in read_name(text, in_hex)
    except ValueError:  # no hexadecimal digits
        return False
