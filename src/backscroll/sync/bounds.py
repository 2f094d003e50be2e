"""Bounds of every field of a bundle that other machines write, checked before anything is kept.

The types say what an index has to look like: an index that differs is not read at all. The facts of each file are
checked by themselves, so that an impossible file costs only itself. This program writes far within all bounds.
"""

import re
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from backscroll.archive.catalogue import read_name
from backscroll.archive.plausible import HIGHEST, MOST_VERSIONS
from backscroll.files.times import FARTHEST

if TYPE_CHECKING:
    from backscroll.sync.bundles import Entry, FileFacts, Index

MAX_ENTRIES: Final = 20_000
"""Segments of a bundle, so that its index takes a few megabytes: servers refuse an index too long to check."""
MAX_FORGOTTEN: Final = 100_000
"""Hashes of forgotten files that a bundle is written with."""
LARGEST_INDEX: Final = 16 << 20
"""Bytes of an index, unpacked: room for the most entries, or for twice the most hashes."""
MAX_BRACES: Final = 4 * MAX_ENTRIES
"""Opening braces in an index: its entries are counted by them before each takes several times its text in memory."""
LONG_INDEX: Final = 1 << 20
LONGEST_TEXT: Final = 1 << 16
"""Bytes of a text in a long index: with a single rare letter, all of it takes four times as much memory."""
MAX_QUOTES: Final = 3_000_000
"""Quotes in an index, so that its texts are found in a second."""
BUNDLE_BYTES: Final = 16 << 20
"""Bytes of a bundle before packing. A bundle is closed as soon as it has this many."""
LONGEST_LINE: Final = 1 << 30
"""Bytes of a segment. A segment over 1 MiB is a single line, and no client can hold a line of more than 512 MiB."""
LONGEST_NAME: Final = 2400
"""Bytes of a home and a path in a database, whose index has them as keys. Claude Code writes no longer names."""
LONGEST_MACHINE: Final = 255
LONGEST_KIND: Final = 64
LONGEST_RULES: Final = 256
MOST_GENERATIONS: Final = 1 << 31

Hash = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
HeadHash = Annotated[str, Meta(pattern=r"\A([0-9a-f]{32}|[0-9a-f]{64})?\Z")]
"""The head of a stream; before its first segment, its id. Empty where the content was removed."""
StreamId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Count = Annotated[int, Meta(ge=0, le=HIGHEST)]
Number = Annotated[int, Meta(ge=1, le=9_999_999_999)]
"""Number of a bundle: ten digits of the name of an object."""
Moment = Annotated[str, Meta(pattern=r"\A[ -~]{0,40}\Z")]
LogName = Annotated[str, Meta(pattern=r"\A([0-9]{6}-[0-9a-f]{8})?\Z")]
DeviceName = Annotated[str, Meta(min_length=1, max_length=LONGEST_MACHINE)]
Digits = Annotated[str, Meta(pattern=r"\A[0-9a-f]{0,128}\Z")]


def is_heavy(plain: bytes) -> bool:
    """Whether an index might take many times its text in memory. It is JSON, but perhaps not well-formed."""
    if plain.count(b"{") > MAX_BRACES or plain.count(b'"') > MAX_QUOTES:
        return True
    texts = TEXT.finditer(plain) if len(plain) > LONG_INDEX else ()
    return any(text.end() - text.start() > LONGEST_TEXT for text in texts)


def is_machine_name(name: str) -> bool:
    """Whether a text can be the name of a machine: printable characters, neither blank nor a step of a path."""
    return 0 < len(name) <= LONGEST_MACHINE and name.isprintable() and name.strip() == name and name not in (".", "..")


def problem_of_index(index: "Index", frame_margin: int) -> str:
    """Return why no machine can have written this bundle; empty if nothing is wrong."""
    if not (is_machine_name(index.machine) and is_machine_name(index.device)):
        return "its machine is called as no machine is"
    if "/" in index.machine and index.machine != index.device:
        return "its machine is called as no machine is"
    end, lengths = 0, [0]
    for entry in index.entries:
        if entry.packed > entry.length + (entry.length >> 7) + frame_margin:
            return "a segment takes more room packed than unpacked"
        if entry.file is None:
            continue
        if entry.offset < end:
            return "its segments overlap"
        end = entry.offset + entry.packed
        lengths.append(entry.length)
    if end > index.size:
        return "it ends before its segments do"
    if max(lengths) > LONGEST_LINE or sum(lengths) - max(lengths) > BUNDLE_BYTES:
        return "it unpacks to more than a machine sends at once"
    return ""


def problem_of_file(entry: "Entry", facts: "FileFacts") -> str:
    """Return why no machine can have such a file; empty if nothing is wrong."""
    try:
        home, path = read_name(facts.home, facts.home_hex), read_name(facts.path, facts.path_hex)
    except ValueError:
        return "a name that no file has"
    numbers = (
        1 <= facts.version <= MOST_VERSIONS
        and 0 <= facts.generation < MOST_GENERATIONS
        and abs(facts.modified_ns) <= FARTHEST
    )
    if not numbers:
        return "numbers that no file has"
    is_path = all(part not in ("", ".", "..") for part in path.split("/"))
    if "\0" in home + path or not is_path or size_of_name(f"{home}{path}") > LONGEST_NAME:
        return "a name that no file has"
    texts = len(facts.type) <= LONGEST_KIND and len(facts.rules) <= LONGEST_RULES
    return "" if texts and f"{facts.type}{facts.rules}".isprintable() and entry.head else "a kind that no file has"


def size_of_name(name: str) -> int:
    """Return the most bytes that a name can take."""
    return sum(1 if letter.isascii() else 4 for letter in name)


TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string in JSON; an unterminated one extends to the end of the input, so that it is scanned only once."""
