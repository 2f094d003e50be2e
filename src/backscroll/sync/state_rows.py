"""Rows about streams, segments and devices in the state of a sync."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from backscroll.sync.streams import Head

UNCHECKED: Final = "unchecked"


def unchecked(rules: str, compared: int = 0) -> str:
    """Return a text in place of the rules of a stream of which the remote has more than the archive, or all.

    `compared` is the number of bytes of the file that are known to be equal there.
    """
    return f"{UNCHECKED}\n{rules}\n{compared}"


def unchecked_rules(noted: str) -> tuple[str, bool, int]:
    """Return the rules of a stream, whether it is unchecked, and the number of bytes that were compared."""
    parts = noted.split("\n")
    return (parts[1], True, int(parts[2])) if len(parts) == 3 and parts[0] == UNCHECKED else (noted, False, 0)


class SentStream(NamedTuple):
    """The sent part of a stream."""

    generation: int
    stream: str
    head: Head
    source: int
    """Bytes of the file that the stream covers."""
    is_end: bool
    rules: str
    keys: frozenset[str]
    """Hashes by which the archive would know that the user forgot the file."""


class SentStreamName(NamedTuple):
    """The stream that a segment belongs to, whatever its generation."""

    base: str
    """The id of the stream in its first generation."""
    keys: Iterable[str]
    is_checked: bool = True
    """Whether its bytes are known to be those of the archive."""


class SentSegmentRow(NamedTuple):
    """A segment that was sent."""

    stream: str
    number: int
    head: Head
    """Head of the stream up to the end of the segment."""
    source: int
    is_end: bool


class ReceivedStream(NamedTuple):
    """The part of another device's stream that is in the archive, and its version of the file."""

    version: int
    head: Head
    machine: str = ""
    """The machine under whose name it is kept."""
    first: str = ""
    """The id of the stream in its first generation."""
    generation: int = 0
    source: int = 0
    """Bytes of the original file that the stream covers."""
    rules: str = ""


class StreamInArchive(NamedTuple):
    """One generation of a stream that was taken."""

    stream: str
    first: str
    base: str
    """The id of the file."""
    machine: str
    version: int
    size: int
    source: int
    rules: str


class SeenDevice(NamedTuple):
    """A device as the last listing had it."""

    device: str
    machine: str
    """Name of its machine; empty until a bundle of it was taken."""
    log: str
    bundles: int
    """The number of its last bundle."""
    size: int
