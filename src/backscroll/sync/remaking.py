"""Rebuild segments and bundles that were sent before from the archive and the state: equal bytes, or none."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from backscroll.sync.bundles import Entry, Index, SentSegment, encode_bundle
from backscroll.sync.own_streams import OwnStream, same_segment
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SentSegmentRow, SentStream
from backscroll.sync.streams import Head, StreamKey, first_head

SegmentEnds = Mapping[tuple[str, int], tuple[Head, int]]
"""Ends of segments, by stream and number: the head of the stream there, and the bytes of the file up to there."""
NO_ENDS: Final[SegmentEnds] = {}


class Remaker:
    """Rebuilds sent segments of this device. `streams` are those that may leave now, by their id in generation 0."""

    def __init__(self, sender: Sender, state: SyncState) -> None:
        self._sender, self._state = sender, state
        self.streams = {stream.base: stream for stream in sender.streams()}
        self.incomplete: set[str] = set()
        """Streams of which a segment was made again without its content."""

    def bundles(self, numbers: Iterable[int]) -> Iterator[bytes | None]:
        """Yield bundles as they were, without content that may not leave any more; None for one that would differ."""
        own = {known.stream: (base, known) for base, known in self._state.sent().items()}
        for number in numbers:
            parts: list[SentSegment | Entry] = []
            for row in self._state.segments_in(number):
                base, known = own.get(row.stream, ("", None))
                stream = self.streams.get(base)
                again = self.same(stream, known, row) if stream and known else None
                parts.append(again or _without_content(row))
                if known and not again:
                    self.incomplete.add(base)
            index = self.index(number, self._state.bundle_hash(number - 1), self._state.suppressed_in(number))
            index, data = encode_bundle(index, parts, self._sender.seal, self._sender.signer)
            yield data if index.hash == self._state.bundle_hash(number) else None

    def same(self, stream: OwnStream, known: SentStream, row: SentSegmentRow) -> SentSegment | None:
        """Rebuild a segment that was sent; None if it would differ now."""
        if row.source > stream.version.size:
            return None
        again = self.segment(stream, stream.key(known.generation), row.number, row.source)
        return again._replace(is_end=row.is_end) if again.segment.head == row.head else None

    def segment(
        self, stream: OwnStream, key: StreamKey, number: int, source: int, ends: SegmentEnds = NO_ENDS
    ) -> SentSegment:
        """Return the segment with this number, up to byte `source`; `ends` has those that the state lacks."""
        head, start = first_head(key), 0
        if number:
            end = ends.get((key.id, number - 1))
            if end is None:
                row = self._state.segments_of(key.id)[number - 1]
                end = row.head, row.source
            head, start = end
        sender = self._sender
        return same_segment(sender.archive, stream, sender.outgoing, key.generation, head, start, source)

    def can_be_complete(self) -> bool:
        """Whether a stream is not complete on the remote, and could be."""
        sent = self._state.sent()
        return any(
            base in sent and base in self.streams and not self.is_other(self.streams[base], sent[base])
            for base in self._state.incomplete()
        )

    def is_other(self, stream: OwnStream, known: SentStream) -> bool:
        """Whether a segment that was sent would differ now."""
        return any(self.same(stream, known, row) is None for row in self._state.segments_of(known.stream))

    def index(self, number: int, previous: str, forgotten: list[str]) -> Index:
        """Return the index of a bundle of this device, without entries."""
        sender = self._sender
        return Index(
            device=sender.device, machine=sender.machine, number=number, previous=previous,
            at=sender.clock().isoformat(timespec="seconds"), entries=[], forgotten=forgotten,
            log=self._state.log or "",
        )  # fmt: skip


def must_begin(rules: str, data: bytes) -> bytes:
    """Return the bytes that a longer segment must begin with, if it is of the same file as this one.

    A last line that is cut off may be masked differently once it is whole.
    """
    return data if rules == "full" else data[: data.rfind(b"\n") + 1]


def _without_content(row: SentSegmentRow) -> Entry:
    return Entry(stream=row.stream, number=row.number, start=0, length=row.head.size, head=row.head.hash)
