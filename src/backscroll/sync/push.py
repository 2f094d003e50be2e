"""Send what is new on this device to a remote.

The order makes a crash harmless: first the object, which is durable when `put` returns, then the state. A bundle that
is on the remote and not in the state was written just before a crash, or before this machine was set back to an older
state: its index says what it holds, and it is taken over if its segments are ours.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.errors import BackscrollError
from backscroll.sync.bundles import (
    PLAIN,
    Entry,
    Index,
    Seal,
    SentSegment,
    encode_bundle,
    file_key,
    read_bundles,
)
from backscroll.sync.objects import BundleObject, current, in_log, latest_log, missing, next_log
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import ModeOf, OwnStream, new_segments, own_streams, same_segment
from backscroll.sync.remotes import Remote
from backscroll.sync.removal import objects_of, remove_content
from backscroll.sync.state import SentSegmentRow, SentStream, SyncState
from backscroll.sync.streams import Head, StreamKey, first_head

BUNDLE_BYTES: Final = 16 << 20
"""How much goes into one object, before it is packed."""
MOST_SUPPRESSED: Final = 10_000


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


class CopiedLibraryError(BackscrollError):
    """Another machine writes as this device."""

    def __init__(self, device: str) -> None:
        message = f"another machine writes to this remote as {device}: its files are not those of this one"
        super().__init__(message, "if this library is a copy, run backscroll sync enroll: this machine gets a new name")


def push(
    sender: Sender, remote: Remote, state: SyncState, on_bytes: Callable[[int], object] = lambda _: None
) -> Pushed:
    """Send everything that is new, and write again what the remote has lost."""
    done = Pushed()
    listed = objects_of(remote, sender.device)
    streams = {
        stream.base: stream for stream in own_streams(sender.archive, sender.is_own, sender.mode_of, sender.outgoing)
    }
    log = latest_log(listed)
    if state.log is None or state.log != log:
        with state.saving():
            state.begin_log(log or next_log(listed))
    objects = in_log(listed, state.log)
    if not (
        _adopt(sender, remote, state, streams, current(objects), done)
        and _mend(sender, remote, state, streams, objects, done)
    ):
        with state.saving():
            state.begin_log(next_log(listed))  # the remote has lost more than can be made again
    outdated = _send(sender, remote, state, streams, done, on_bytes)
    outdated |= _withdrawn(state, streams)
    if outdated:
        done.removed = remove_content(remote, state, sender.device, outdated, sender.seal)
    for one in listed:
        if one.log != state.log:
            remote.delete(one.name)
    return done


def _adopt(
    sender: Sender,
    remote: Remote,
    state: SyncState,
    streams: dict[str, OwnStream],
    objects: list[BundleObject],
    done: Pushed,
) -> bool:
    """Take over the bundles of this device that the state does not know; False if one before them is missing."""
    for one in objects:
        if one.last <= state.last_bundle[0]:
            continue
        for bundle in read_bundles(remote.get(one.name), sender.seal):
            number, before = state.last_bundle
            if bundle.index.number <= number:
                continue
            if bundle.index.number > number + 1:
                return False
            if bundle.index.previous != before or bundle.index.device != sender.device:
                raise CopiedLibraryError(sender.device)
            bases = [_base_of(entry) for entry in bundle.index.entries]
            for entry, base in zip(bundle.index.entries, bases, strict=True):
                _demand_ours(sender, state, streams.get(base), entry)
            with state.saving():
                state.note_bundle(bundle.index, bases)
            done.adopted += 1
    return True


def _base_of(entry: Entry) -> str:
    return file_key(entry)._replace(generation=0).id if entry.file else entry.stream


def _demand_ours(sender: Sender, state: SyncState, stream: OwnStream | None, entry: Entry) -> None:
    """A segment of a file that we have must be what we would have sent. A file that we do not have tells nothing."""
    if stream is None or entry.file is None or entry.file.rules != stream.rules or entry.source > stream.version.size:
        return
    head, start = _before(state, file_key(entry), entry.number)
    again = same_segment(sender.archive, stream, sender.outgoing, entry.file.generation, head, start, entry.source)
    if again.segment.head != entry.after:
        raise CopiedLibraryError(sender.device)


def _mend(
    sender: Sender,
    remote: Remote,
    state: SyncState,
    streams: dict[str, OwnStream],
    objects: list[BundleObject],
    done: Pushed,
) -> bool:
    """Write again the bundles that the remote has lost; False if one cannot be made again.

    They are the same as before but for what no longer leaves.
    """
    lost = missing(objects, state.last_bundle[0])
    if not lost:
        return True
    sent = state.sent()
    own = {sent[base].stream: (stream, sent[base].generation) for base, stream in streams.items() if base in sent}
    for number in lost:
        parts = [_again(sender, state, own.get(row.stream), row) for row in state.segments_in(number)]
        index = _index(sender, number, state.bundle_hash(number - 1), state.suppressed_in(number))
        index, data = encode_bundle(index, parts, sender.seal)
        if index.hash != state.bundle_hash(number):
            return False
        done.mended += remote.put(_object(sender, state, number).name, data)
    return True


def _again(
    sender: Sender, state: SyncState, own: tuple[OwnStream, int] | None, row: SentSegmentRow
) -> SentSegment | Entry:
    """A segment that was sent, made again; without its content where that is no longer the same."""
    if own is not None and row.source <= own[0].version.size:
        stream, generation = own
        head, start = _before(state, stream.key(generation), row.number)
        again = same_segment(sender.archive, stream, sender.outgoing, generation, head, start, row.source)
        if again.segment.head == row.head:
            return again._replace(is_end=row.is_end)
    return Entry(stream=row.stream, number=row.number, start=0, length=row.head.size, head=row.head.hash)


def _before(state: SyncState, key: StreamKey, number: int) -> tuple[Head, int]:
    """The head before a segment, and how many bytes of the file it covers."""
    if number == 0:
        return first_head(key), 0
    row = state.segments_of(key.id)[number - 1]
    return row.head, row.source


def _send(
    sender: Sender,
    remote: Remote,
    state: SyncState,
    streams: dict[str, OwnStream],
    done: Pushed,
    on_bytes: Callable[[int], object],
) -> set[str]:
    """Send what is new in bundles; return the ids of streams that newer generations replace."""
    outdated: set[str] = set()
    forgotten = sorted(sender.archive.forgotten - state.suppressed())
    waiting: list[tuple[str, SentSegment]] = []
    size = 0
    for base, part in _new_parts(sender, state, streams, outdated):
        waiting.append((base, part))
        size += len(part.segment.data)
        if size >= BUNDLE_BYTES:
            _put(sender, remote, state, waiting, forgotten, done)
            on_bytes(size)
            waiting, forgotten, size = [], [], 0
    if waiting or forgotten:
        _put(sender, remote, state, waiting, forgotten, done)
        on_bytes(size)
    return outdated


def _new_parts(
    sender: Sender, state: SyncState, streams: dict[str, OwnStream], outdated: set[str]
) -> Iterator[tuple[str, SentSegment]]:
    sent = state.sent()
    for base, stream in streams.items():
        known = sent.get(base)
        if known is None:
            generation, head, source = 0, first_head(stream.key(0)), 0
        elif _begins_anew(sender, state, stream, known):
            outdated.add(known.stream)
            generation = known.generation + 1
            head, source = first_head(stream.key(generation)), 0
        else:
            generation, head, source = known.generation, known.head, known.source
        if source < stream.version.size:
            for part in new_segments(sender.archive, stream, sender.outgoing, generation, head, source):
                yield base, part


def _begins_anew(sender: Sender, state: SyncState, stream: OwnStream, known: SentStream) -> bool:
    """Whether what was sent is not the beginning of what would be sent now."""
    is_grown = stream.version.size > known.source
    if is_grown and (known.is_end or not stream.key(0).is_lines):
        return True
    if stream.rules == known.rules:
        return False
    for row in state.segments_of(known.stream):
        if not isinstance(_again(sender, state, (stream, known.generation), row), SentSegment):
            return True
    with state.saving():
        state.note_rules(stream.base, stream.rules)
    return False


def _put(
    sender: Sender,
    remote: Remote,
    state: SyncState,
    parts: list[tuple[str, SentSegment]],
    forgotten: list[str],
    done: Pushed,
) -> None:
    number, previous = state.last_bundle
    index, data = encode_bundle(
        _index(sender, number + 1, previous, forgotten), [part for _, part in parts], sender.seal
    )
    if not remote.put(_object(sender, state, number + 1).name, data):
        raise CopiedLibraryError(sender.device)  # it was not there when we looked
    with state.saving():
        state.note_bundle(index, [base for base, _ in parts])
    done.streams += len({base for base, _ in parts})
    done.segments += len(parts)
    done.size += sum(len(part.segment.data) for _, part in parts)
    done.stored += len(data)
    done.objects += 1


def _object(sender: Sender, state: SyncState, number: int) -> BundleObject:
    return BundleObject(sender.device, state.log or "", number, number, 0)


def _index(sender: Sender, number: int, previous: str, forgotten: list[str]) -> Index:
    at = sender.clock().isoformat(timespec="seconds")
    return Index(
        device=sender.device, machine=sender.machine, number=number, previous=previous, at=at, entries=[],
        forgotten=forgotten,
    )  # fmt: skip


def _withdrawn(state: SyncState, streams: dict[str, OwnStream]) -> set[str]:
    """Streams on the remote that no longer leave: their files were forgotten, or their project was switched off."""
    gone = {base: sent.stream for base, sent in state.sent().items() if base not in streams}
    with state.saving():
        for base in gone:
            state.drop_stream(base)
    return set(gone.values())
