"""What the state of a sync says of streams, segments and devices."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from backscroll.sync.streams import Head

UNCHECKED: Final = "unchecked"


def unchecked(rules: str, compared: int = 0) -> str:
    """Stands for the rules of a stream if the remote has more of it than the archive, or if only the remote has it.

    `compared` is how many bytes of the file are known to be the same there.
    """
    return f"{UNCHECKED}\n{rules}\n{compared}"


def unchecked_rules(noted: str) -> tuple[str, bool, int]:
    """The rules of a stream, whether it is noted as unchecked, and how many bytes of it were compared."""
    parts = noted.split("\n")
    return (parts[1], True, int(parts[2])) if len(parts) == 3 and parts[0] == UNCHECKED else (noted, False, 0)


class SentStream(NamedTuple):
    """How much of a stream was sent."""

    generation: int
    stream: str
    head: Head
    source: int
    """How many bytes of the file it covers."""
    is_end: bool
    rules: str
    keys: frozenset[str]
    """By which of these hashes the archive would know that the user forgot the file."""


class SentStreamName(NamedTuple):
    """Which stream a segment belongs to, whatever its generation."""

    base: str
    """The id of the stream in its first generation."""
    keys: Iterable[str]
    is_checked: bool = True
    """Whether it is known that its bytes are those of the archive."""


class SentSegmentRow(NamedTuple):
    """A segment that was sent."""

    stream: str
    number: int
    head: Head
    """The head of the stream up to its end."""
    source: int
    is_end: bool


class ReceivedStream(NamedTuple):
    """How much of another device's stream is in the archive, and in which version of the file."""

    version: int
    head: Head
    machine: str = ""
    """The machine under whose name it is kept."""
    first: str = ""
    """The id of the stream in its first generation."""
    generation: int = 0
    source: int = 0
    """How many bytes of the original file it covers."""
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
    """What its machine is called; empty until something of it was taken."""
    log: str
    bundles: int
    """The number of its last bundle."""
    size: int
