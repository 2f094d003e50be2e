"""Send what is new on this device to a remote.

The order makes a crash harmless: first the object, which is durable when `put` returns, then the state. A bundle that
is on the remote and not in the state was written just before a crash, or before this machine was set back to an older
state: its index says what it holds, and it is taken over if its segments are ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import keys_to_forget
from backscroll.errors import BackscrollError
from backscroll.sync.bundles import (
    MAX_ENTRIES,
    PLAIN,
    Bundle,
    Entry,
    Index,
    Seal,
    SentSegment,
    encode_bundle,
    file_key,
    read_bundles,
)
from backscroll.sync.objects import BundleObject, current, in_log, latest_log, missing, next_log, superseded
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import ModeOf, OwnStream, new_segments, own_streams, same_segment, withheld_bases
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.removal import objects_of, remove_content
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SentSegmentRow, SentStream, SentStreamName, unchecked, unchecked_rules
from backscroll.sync.streams import Head, StreamKey, first_head

BUNDLE_BYTES: Final = 16 << 20
"""How much goes into one object, before it is packed."""
SegmentEnds = Mapping[tuple[str, int], tuple[Head, int]]
"""Of segments, by stream and number: the head of the stream up to the end, and how many bytes of the file that is."""
NO_ENDS: Final[SegmentEnds] = {}
Parts = list[tuple[str, SentSegment]]
"""Segments, each with the id of its stream in the first generation."""


@dataclass
class Sender:
    """What a push needs to know of this device."""

    device: str
    """Its name on the remote."""
    machine: str
    """What the machine is called."""
    archive: Archive
    is_own: Callable[[str], bool]
    """Whether a machine of the archive is this one."""
    mode_of: ModeOf
    outgoing: Outgoing
    seal: Seal = PLAIN
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


@dataclass
class Pushed:
    """What a push did."""

    streams: int = 0
    """Streams that were begun or continued."""
    segments: int = 0
    size: int = 0
    """Bytes that left, before they were packed."""
    stored: int = 0
    """Bytes of the objects."""
    objects: int = 0
    mended: int = 0
    """Bundles that the remote had lost, and that were written again."""
    adopted: int = 0
    """Bundles that were on the remote already."""
    removed: int = 0
    """Streams whose content was removed from the remote."""
    unknown: int = 0
    """Sessions on the remote under this name that the archive does not have, and that were not forgotten."""


class CopiedLibraryError(BackscrollError):
    """Another machine writes as this device."""

    def __init__(self, device: str) -> None:
        message = f"another machine writes to this remote as {device}: its files are not those of this one"
        super().__init__(message, "if this library is a copy, run backscroll sync enroll: this machine gets a new name")


def push(
    sender: Sender,
    remote: Remote,
    state: SyncState,
    on_bytes: Callable[[int], object] = lambda _: None,
    listing: Sequence[RemoteObject] | None = None,
) -> Pushed:
    """Send everything that is new, and write again what the remote has lost. `listing` is a fresh one, if there is."""
    return _Push(sender, remote, state, on_bytes).run(listing)


class _Push:
    """One push."""

    def __init__(self, sender: Sender, remote: Remote, state: SyncState, on_bytes: Callable[[int], object]) -> None:
        self._sender, self._remote, self._state, self._on_bytes = sender, remote, state, on_bytes
        leaving = own_streams(sender.archive, sender.is_own, sender.mode_of, sender.outgoing)
        self._streams = {stream.base: stream for stream in leaving}
        self._done = Pushed()
        self._objects: list[BundleObject] = []

    def run(self, listing: Sequence[RemoteObject] | None = None) -> Pushed:
        """Compare, mend, remove and send, in this order."""
        state = self._state
        listed = objects_of(self._remote, self._sender.device, listing)
        log = latest_log(listed)
        if state.log is None or state.log != log:
            with state.saving():
                state.begin_log(log or next_log(listed))
        objects = in_log(listed, state.log)
        self._objects = current(objects)
        if not self._adopt(self._objects) or not self._mend(objects):
            with state.saving():
                state.begin_log(next_log(listed))  # the remote has lost more than can be made again
        with state.saving():
            self._drop()
        self._remove_unwanted()
        self._send()
        self._remove_unwanted()  # what newer generations replace
        left = (one for one in listed if one.log != state.log)
        for one in (*superseded(objects), *left):  # of a process that did not get to delete them
            self._remote.delete(one.name)
        return self._done

    def _drop(self) -> None:
        """Content leaves the remote if it was forgotten, or if its project was switched off, and for no other reason.

        What the archive merely does not have may be nowhere else: the archive was set back to an older state, or lost.
        """
        sent = self._state.sent()
        gone = sent.keys() - self._streams.keys()
        if not gone:
            return
        sender = self._sender
        archive = sender.archive
        withheld = withheld_bases(archive, sender.is_own, sender.mode_of, sender.outgoing)
        own = (file for file in archive.files.values() if sender.is_own(file.machine))
        known = keys_to_forget((file.home, file.path) for file in own)
        for base in gone:
            keys = sent[base].keys
            if base in withheld or not keys.isdisjoint(archive.forgotten):
                self._state.drop_stream(base)
            elif len(keys) > 1 and keys.isdisjoint(known):  # of a session; one that moved is still known
                self._done.unknown += 1

    # What is there already

    def _adopt(self, objects: list[BundleObject]) -> bool:
        """Take over the bundles of this device that the state does not know; False if one before them is missing."""
        for one in objects:
            if one.last <= self._state.last_bundle[0]:
                continue
            for bundle in read_bundles(self._remote.get(one.name), self._sender.seal):
                number, before = self._state.last_bundle
                if bundle.index.number <= number:
                    continue
                if bundle.index.number > number + 1:
                    return False
                if bundle.index.previous != before or bundle.index.device != self._sender.device:
                    raise CopiedLibraryError(self._sender.device)
                ends = {(entry.stream, entry.number): (entry.after, entry.source) for entry in bundle.index.entries}
                streams = [self._adopted(entry, bundle, ends) for entry in bundle.index.entries]
                with self._state.saving():
                    self._state.note_bundle(bundle.index, streams)
                self._done.adopted += 1
        return True

    def _adopted(self, entry: Entry, bundle: Bundle, ends: SegmentEnds) -> SentStreamName:
        """The stream of a segment that is on the remote already.

        A segment of a file that we have must be what we would have sent. Where we have less of the file, ours must be
        its beginning; the rest is compared once we have as much. Files that we do not have are compared if they come.
        """
        if entry.file is None:
            return SentStreamName(entry.stream, ())
        key = file_key(entry)
        base = key._replace(generation=0).id
        stream = self._streams.get(base)
        if stream is None:
            return SentStreamName(base, keys_to_forget([(key.home, key.path)]), is_checked=False)
        is_checked = entry.source <= stream.version.size
        if entry.file.rules == stream.rules:
            size = min(entry.source, stream.version.size)
            ours = self._make_again(stream, key, entry.number, size, ends).segment
            is_same = ours.head == entry.after if is_checked else bundle.content(entry).startswith(_lines(ours.data))
            if not is_same:
                raise CopiedLibraryError(self._sender.device)
        return SentStreamName(base, _keys_of(stream), is_checked)

    def _mend(self, objects: list[BundleObject]) -> bool:
        """Write again the bundles that the remote has lost; False if one cannot be made again.

        They are the same as before, except for what no longer leaves.
        """
        lost = missing(objects, self._state.last_bundle[0])
        if not lost:
            return True
        sent = self._state.sent()
        own = {sent[base].stream: (stream, sent[base]) for base, stream in self._streams.items() if base in sent}
        for number in lost:
            parts: list[SentSegment | Entry] = []
            for row in self._state.segments_in(number):
                stream, known = own.get(row.stream, (None, None))
                again = self._same(stream, known, row) if stream and known else None
                parts.append(again or _without_content(row))
            previous = self._state.bundle_hash(number - 1)
            index = self._index(number, previous, self._state.suppressed_in(number))
            index, data = encode_bundle(index, parts, self._sender.seal)
            if index.hash != self._state.bundle_hash(number):
                return False
            self._done.mended += self._remote.put(self._object(number).name, data)
        return True

    def _same(self, stream: OwnStream, known: SentStream, row: SentSegmentRow) -> SentSegment | None:
        """A segment that was sent, made again; None if it would be another one now."""
        if row.source > stream.version.size:
            return None
        again = self._make_again(stream, stream.key(known.generation), row.number, row.source)
        return again._replace(is_end=row.is_end) if again.segment.head == row.head else None

    def _make_again(
        self, stream: OwnStream, key: StreamKey, number: int, source: int, ends: SegmentEnds = NO_ENDS
    ) -> SentSegment:
        """The segment with this number, up to this many bytes of its file; `ends`: what the state does not know yet."""
        head, start = first_head(key), 0
        if number:
            end = ends.get((key.id, number - 1))
            if end is None:
                row = self._state.segments_of(key.id)[number - 1]
                end = row.head, row.source
            head, start = end
        sender = self._sender
        return same_segment(sender.archive, stream, sender.outgoing, key.generation, head, start, source)

    # What is new

    def _send(self) -> None:
        """Send bundle by bundle. While one is packed and stored, the next one is made; the state is noted in order."""
        forgotten = sorted(self._sender.archive.forgotten - self._state.suppressed())
        sending: tuple[Parts, Future[tuple[Index, int]]] | None = None
        with ThreadPoolExecutor(1, "backscroll-store") as pool:
            for parts in self._new_bundles(at_least_one=bool(forgotten)):
                if sending is not None:
                    self._note(*sending)
                number, previous = self._state.last_bundle
                index = self._index(number + 1, previous, forgotten)
                sending, forgotten = (parts, pool.submit(self._store, self._object(number + 1).name, index, parts)), []
            if sending is not None:
                self._note(*sending)

    def _new_bundles(self, *, at_least_one: bool) -> Iterator[Parts]:
        waiting: Parts = []
        size = 0
        for base, part in self._new_parts():
            waiting.append((base, part))
            size += len(part.segment.data)
            if size >= BUNDLE_BYTES or len(waiting) >= MAX_ENTRIES:
                yield waiting
                waiting, size, at_least_one = [], 0, False
        if waiting or at_least_one:
            yield waiting

    def _new_parts(self) -> Iterator[tuple[str, SentSegment]]:
        sent = self._state.sent()
        for base, stream in self._streams.items():
            known = sent.get(base)
            if known is None:
                generation, head, source = 0, first_head(stream.key(0)), 0
            elif self._begins_anew(stream, known):
                generation = known.generation + 1
                head, source = first_head(stream.key(generation)), 0
            else:
                generation, head, source = known.generation, known.head, known.source
            if source < stream.version.size:
                sender = self._sender
                for part in new_segments(sender.archive, stream, sender.outgoing, generation, head, source):
                    yield base, part

    def _begins_anew(self, stream: OwnStream, known: SentStream) -> bool:
        """Whether what was sent is not the beginning of what would be sent now."""
        size = stream.version.size
        is_shorter = size < known.source
        rules, is_unchecked, compared = unchecked_rules(known.rules)
        if is_unchecked and rules == stream.rules:
            if is_shorter:  # the remote has more of it, and keeps it
                if compared != size and not self._is_beginning(stream, known):
                    raise CopiedLibraryError(self._sender.device)
                self._note_rules(stream, unchecked(rules, size))
                return False
            if self._is_other(stream, known):
                raise CopiedLibraryError(self._sender.device)
            self._note_rules(stream, rules)
        elif is_unchecked and is_shorter:
            return False
        if size > known.source and (known.is_end or not stream.key(0).is_lines):
            return True
        if stream.rules == rules:
            if is_shorter:  # the archive was set back
                self._note_rules(stream, unchecked(rules))
            return False
        if self._is_other(stream, known):
            return True
        self._note_rules(stream, stream.rules)
        return False

    def _is_other(self, stream: OwnStream, known: SentStream) -> bool:
        """Whether a segment that was sent would be another one now."""
        return any(self._same(stream, known, row) is None for row in self._state.segments_of(known.stream))

    def _note_rules(self, stream: OwnStream, rules: str) -> None:
        with self._state.saving():
            self._state.note_rules(stream.base, rules)

    def _is_beginning(self, stream: OwnStream, known: SentStream) -> bool:
        """Whether the remote, which has more of a file, begins with what we have of it."""
        for row in self._state.segments_of(known.stream):
            if row.source <= stream.version.size:
                if self._same(stream, known, row) is None:
                    return False
                continue
            ours = self._make_again(stream, stream.key(known.generation), row.number, stream.version.size).segment
            number = self._state.bundle_of(row)
            holding = [one for one in self._objects if number in one.bundles]
            bundles = read_bundles(self._remote.get(holding[0].name), self._sender.seal) if holding else ()
            for bundle in bundles:
                for entry in bundle.index.entries:
                    if (entry.stream, entry.number) == (row.stream, row.number) and entry.file is not None:
                        return bundle.content(entry).startswith(_lines(ours.data))
            break
        return True

    def _store(self, name: str, index: Index, parts: Parts) -> tuple[Index, int]:
        """Pack a bundle and put it on the remote; return its index and its size there. The state is not touched."""
        index, data = encode_bundle(index, [part for _, part in parts], self._sender.seal)
        if not self._remote.put(name, data):
            raise CopiedLibraryError(self._sender.device)  # it was not there when we looked
        return index, len(data)

    def _note(self, parts: Parts, stored: Future[tuple[Index, int]]) -> None:
        """Note a bundle as soon as it is on the remote."""
        index, size = stored.result()
        with self._state.saving():
            names = [SentStreamName(base, _keys_of(self._streams[base])) for base, _ in parts]
            self._state.note_bundle(index, names)
        done = self._done
        done.streams += len({base for base, _ in parts})
        done.segments += len(parts)
        done.stored += size
        done.objects += 1
        raw = sum(len(part.segment.data) for _, part in parts)
        done.size += raw
        self._on_bytes(raw)

    def _remove_unwanted(self) -> None:
        """Remove content that must not be on the remote any more. The state knows it until it is gone."""
        unwanted = self._state.unwanted()
        if unwanted:
            remove_content(self._remote, self._state, self._sender.device, unwanted, self._sender.seal)
            with self._state.saving():
                self._state.note_removed(unwanted)
            self._done.removed += len(unwanted)

    def _object(self, number: int) -> BundleObject:
        return BundleObject(self._sender.device, self._state.log or "", number, number, 0)

    def _index(self, number: int, previous: str, forgotten: list[str]) -> Index:
        sender = self._sender
        return Index(
            device=sender.device, machine=sender.machine, number=number, previous=previous,
            at=sender.clock().isoformat(timespec="seconds"), entries=[], forgotten=forgotten,
        )  # fmt: skip


def _lines(data: bytes) -> bytes:
    """Its whole lines: the last one may be cut off, and be masked otherwise once it is whole."""
    return data[: data.rfind(b"\n") + 1]


def _keys_of(stream: OwnStream) -> set[str]:
    return keys_to_forget([(stream.file.home, stream.file.path)])


def _without_content(row: SentSegmentRow) -> Entry:
    return Entry(stream=row.stream, number=row.number, start=0, length=row.head.size, head=row.head.hash)
