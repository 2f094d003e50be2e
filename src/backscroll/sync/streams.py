"""Streams and segments: the bytes that a device sends of its files, and hashes that prove both sides equal.

A stream is one version of one kept file. Its segments are consecutive whole lines of the bytes that leave the device,
numbered from 0. Each segment has a head, which includes the head before it: equal heads mean equal bytes up to there.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

LONGEST_SEGMENT: Final = 1 << 20
"""Bytes of a segment, unless a single line is longer."""


class StreamKey(NamedTuple):
    """The identity of a stream among those of its device."""

    home: str
    path: str
    version: int
    """The number of the version of the file, from 1."""
    generation: int = 0
    """Number of times that the stream started again: because the rules changed, or a small file did."""

    @property
    def id(self) -> str:
        """Hash that reveals nothing about the file."""
        parts = (self.home, self.path, str(self.version), str(self.generation))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]

    @property
    def is_lines(self) -> bool:
        """Whether the file grows line by line. Any other file is sent whole each time it changes."""
        return self.path.endswith(".jsonl")


class Head(NamedTuple):
    """The extent of a stream: the number of its segments and bytes, and the head of the last segment."""

    segments: int
    size: int
    hash: str


class StreamSegment(NamedTuple):
    """Consecutive lines of a stream."""

    number: int
    start: int
    """Offset of the segment in the stream."""
    data: bytes
    head: Head
    """The head of the stream up to the end of this segment."""


def first_head(key: StreamKey) -> Head:
    """Return the head of a stream before anything was sent."""
    return Head(0, 0, key.id)


def extend(head: Head, data: bytes) -> StreamSegment:
    """Return the next segment of a stream."""
    return StreamSegment(head.segments, head.size, data, head_after(head, (data,)))


def head_after(head: Head, pieces: Iterable[bytes]) -> Head:
    """Return the head of a stream after a segment that comes in pieces."""
    digest, size, lines, last = hashlib.sha256(), 0, 0, b""
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        lines += piece.count(b"\n")
        last = piece[-1:] or last
    lines += last != b"\n"
    statement = f"{head.hash} {head.segments} {lines} {size} {digest.hexdigest()}"
    return Head(head.segments + 1, head.size + size, hashlib.sha256(statement.encode()).hexdigest())


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of some pieces, each with its newline; the last may have none."""
    rest: list[bytes] = []
    for piece in pieces:
        *ended, last = piece.split(b"\n")
        for line in ended:
            yield b"".join([*rest, line, b"\n"])
            rest = []
        if last:
            rest.append(last)
    if rest:
        yield b"".join(rest)


def root_of(heads: Iterable[tuple[str, Head]]) -> str:
    """Return one hash over all streams: equal roots mean that two sides have equal streams."""
    statement = "\n".join(f"{stream} {head.segments} {head.size} {head.hash}" for stream, head in sorted(heads))
    return hashlib.sha256(statement.encode()).hexdigest()
