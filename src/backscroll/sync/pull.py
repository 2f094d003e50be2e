"""Take the files that other devices sent to a remote into the local archive, under their machines.

The archive changes first, then the state. A bundle that is in the archive and not in the state was taken just before a
crash: its bytes are there, and are not added again.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from backscroll.archive.catalogue import AddedBytes
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.packing import CHUNK, in_chunks, pack
from backscroll.archive.plausible import MOST_VERSIONS
from backscroll.archive.rewriting import Writer
from backscroll.archive.writer import now
from backscroll.errors import NothingFound
from backscroll.files.layout import FileKind, LeftOut, place_of
from backscroll.files.reading import Bookmark
from backscroll.files.source_key import SourceKey
from backscroll.sync.bundles import PLAIN, Bundle, DamagedBundleError, Entry, OddFileError, Seal, file_key
from backscroll.sync.following import Follower, LateBundleError, NotFollowingError, size_of
from backscroll.sync.forgotten_elsewhere import OnForgotten, take_forgotten
from backscroll.sync.gaps import problems_of
from backscroll.sync.objects import BundleObject, devices_in, in_log, latest_log
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.replacing import remove_replaced
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import ReceivedStream
from backscroll.sync.streams import LONGEST_SEGMENT, Head, StreamKey, first_head
from backscroll.sync.trust import Judge, Proof, RefusedError


@dataclass
class Pulled:
    """Counts and messages of a pull."""

    devices: dict[str, int] = field(default_factory=dict)
    """The last bundle of each device that is in the archive."""
    files: int = 0
    size: int = 0
    forgotten: int = 0
    ignored: int = 0
    """Segments of files that were forgotten here before they came."""
    replaced: int = 0
    """Versions that came again under other rules, and whose older bytes were removed."""
    withdrawn: int = 0
    """Files that their device withdrew."""
    unknown: int = 0
    """Files of kinds that this version does not know, which stay on the remote for a version that does."""
    unasked: int = 0
    """Files that a device asks to forget although it has never signed anything: the user is not asked about them."""
    notes: list[str] = field(default_factory=list)
    """Messages about oddities that stopped nothing."""
    problems: list[str] = field(default_factory=list)
    """Messages about bundles that could not be taken, with reasons."""
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Parts of files that were not taken, by machine and reason."""
    sources: set[str] = field(default_factory=set)
    """Ids of the files that have grown."""


Writing = Callable[[], AbstractContextManager[Writer]]
"""Opens the archive for writing. It is held for one bundle, and never during a request to the remote."""


RECEIVED_CHUNK: Final = 256 << 10
"""Files of other machines are read from the archive only, text by text: chunks smaller than those of our own homes,
whose files are read in place, unpack sooner."""
MOST_LATE: Final = 16
"""Most versions of a file that may be missing before one that is here."""
COPY: Final = "-copy"
COPIES: Final = re.compile(f"({COPY})+$")
KINDS: Final = frozenset(map(str, FileKind))
"""Kinds of files that this version knows. Others stay on the remote until a version that knows them takes them."""
Pieces = Callable[[], Iterable[bytes]]
"""Returns the bytes of a segment, from its beginning at each call. A single long line comes in several pieces."""
Incoming = Callable[[str, int, Iterable[bytes]], Iterable[bytes]]
"""Returns the bytes to keep of a segment, by path of the file and length: as many bytes, perhaps others."""


def has_news(listing: Iterable[RemoteObject], state: SyncState, own: str) -> bool:
    """Whether another device has sent something that is not here yet."""
    for device, objects in devices_in(listing).items():
        log = latest_log(objects)
        known, number, _ = state.pulled(device)
        if device == own:
            continue
        followed = in_log(objects, log)
        if (
            log != known
            or any(bundle_object.last > number for bundle_object in followed)
            or state.can_return(device, KINDS)
        ):
            return True
        if state.gaps.of(device) or state.proof.followed(device) not in (None, (known, size_of(followed))):
            return True
    return False


def pull(
    writing: Writing,
    remote: Remote,
    state: SyncState,
    own: str,
    seal: Seal = PLAIN,
    on_bytes: Callable[[int], object] = lambda _: None,
    listing: Sequence[RemoteObject] | None = None,
    is_own: Callable[[str], bool] = lambda _: False,
    incoming: Incoming = lambda _, __, pieces: pieces,
    temporary: str | None = None,
    on_forgotten: OnForgotten | None = None,
    judge: Judge | None = None,
) -> Pulled:
    """Take every new bundle from other devices. A device whose objects are damaged holds up no other.

    `is_own` says of a machine of the archive whether it is this one; `incoming` may change the bytes that are taken;
    `temporary` is a folder for objects that are too large for memory, if not the system's. `on_forgotten` must record
    the files that other devices forgot before it returns, and nothing is removed; without it, they are removed from the
    archive. `judge` decides which bundles count; without one, all do: the remote knows its devices.
    """
    pulling = _Pull(writing, remote, state, seal, on_bytes, is_own, incoming, temporary, on_forgotten, judge)
    for device, objects in sorted(devices_in(remote.list() if listing is None else listing).items()):
        if device != own:
            pulling.take_from(device, objects)
    done = pulling.done
    done.problems += (f"{machine}: {why} ({count:,})" for (machine, why), count in done.left_out.items())
    return done


@dataclass
class _Pull:
    """State of a single pull."""

    writing: Writing
    remote: Remote
    state: SyncState
    seal: Seal
    on_bytes: Callable[[int], object]
    is_own: Callable[[str], bool]
    incoming: Incoming
    temporary: str | None
    on_forgotten: OnForgotten | None = None
    judge: Judge | None = None
    done: Pulled = field(default_factory=Pulled)

    def take_from(self, device: str, objects: Sequence[BundleObject]) -> None:
        """Take every new bundle of one device, and record the problems."""
        try:
            self.done.replaced += remove_replaced(
                self.writing, self.state, device
            )  # left over from an interrupted pull
            if self.state.can_return(device, KINDS):
                with self.state.saving():
                    self.state.return_to_skipped(device)
            self._follower(device).take_new(objects)
            if self.judge is not None:
                self.judge.keys.clear_refused(self.name_of(device))
            self.done.replaced += remove_replaced(self.writing, self.state, device)
        except (DamagedBundleError, LateBundleError, NothingFound, RefusedError) as error:
            self.done.problems.append(f"{self.name_of(device)}: {error}")
        gaps = problems_of(self.state.gaps.of(device))
        self.done.problems += (f"{self.name_of(device)}: {problem}" for problem in gaps)
        self.done.devices[device] = self.state.pulled(device)[1]

    def _follower(self, device: str) -> Follower:
        def take(bundle: Bundle, proof: Proof, log: str) -> None:
            with self.writing() as writer:
                _Receiver(self, writer, device, bundle, proof, log).take()
            self.on_bytes(sum(entry.length for entry in bundle.index.entries))

        def note(note: str) -> None:
            self.done.notes.append(f"{self.name_of(device)}: {note}")

        return Follower(self.remote, self.state, self.seal, device, take, self.judge, self.temporary, note)

    def name_of(self, device: str) -> str:
        """Return the name of a device's machine, or of the device if that is unknown."""
        return next((seen.machine for seen in self.state.seen() if seen.device == device and seen.machine), device)


class _Receiver:
    """Takes a single bundle into the archive."""

    def __init__(self, pulling: _Pull, writer: Writer, device: str, bundle: Bundle, proof: Proof, log: str) -> None:
        self._writer, self._device, self._bundle, self._proof, self._log = writer, device, bundle, proof, log
        self._state, self._done, self._incoming = pulling.state, pulling.done, pulling.incoming
        self._on_forgotten, self._is_judged = pulling.on_forgotten, pulling.judge is not None
        self._machine = name_here(bundle.index.machine, pulling.is_own)

    def take(self) -> None:
        """Pass on or forget the files that its device forgot, and add its segments to the archive."""
        index = self._bundle.index
        if self._proof is not Proof.UNSIGNED:  # before the bundle counts as taken: a crash must not lose it
            self._done.forgotten += take_forgotten(self._writer, self._machine, index, self._on_forgotten)
        with self._state.saving():
            if self._proof is Proof.UNSIGNED and index.forgotten:
                self._state.proof.note_unasked(self._device, index.number - 1, index.previous)
                self._done.unasked += len(index.forgotten)
            elif self._proof is Proof.SIGNED and self._is_judged:
                self._state.proof.note_signed_log(self._device, self._log)
            for entry in index.entries:
                if entry.file is not None:
                    self._take_possible(entry)
            self._state.note_pulled(self._device, index.number, index.hash)
            self._state.note_machine(self._device, self._machine)
            self._writer.commit()  # before the state is committed: the archive must have what the state claims

    def _take_possible(self, entry: Entry) -> None:
        """Take a segment; one with impossible facts costs only itself."""
        try:
            self._take_entry(entry)
        except OddFileError as error:
            self._leave_out(f"left out what has {error.what}")

    def _leave_out(self, why: str) -> None:
        self._done.left_out[self._machine, why] += 1

    def _take_entry(self, entry: Entry) -> None:
        key = file_key(entry)
        facts = entry.file
        if facts is not None and facts.type not in KINDS:
            index = self._bundle.index
            base = key._replace(version=0, generation=0).id
            self._done.unknown += self._state.note_skipped(
                self._device, base, facts.type, index.number - 1, index.previous
            )
            return
        if facts is None or isinstance(place_of(key.path.split("/")), LeftOut):
            return  # Claude Code writes no such file
        if self._writer.is_forgotten(key.home, key.path, self._machine):
            self._done.ignored += 1
            return
        known = self._state.received(self._device, entry.stream)
        head = known.head if known else first_head(key)
        first = key._replace(generation=0).id
        if entry.number < head.segments or (known is None and self._is_late(key)):
            return  # sent again; or it could not be read until after its replacement came
        if entry.number > head.segments:
            self._leave_out("left out parts of files whose beginning is not here")
            return
        pieces = self._verified(entry, head, key.path)
        file = self._file(key, facts.type)
        if len(file.versions) >= MOST_VERSIONS:
            raise OddFileError("more versions than a file has")
        base = key._replace(version=0, generation=0).id
        number = known.version if known else self._version_for(file, base, pieces)
        number = self._put(file, number, entry.start, entry.length, pieces, facts.modified_ns)
        taken = ReceivedStream(number, entry.after, self._machine, first, key.generation, entry.source, facts.rules)
        self._state.note_received(self._device, base, entry.stream, taken)
        # An older log that was put back may have replaced the content of a later one.
        is_latest = not self._is_judged or self._log == self._state.proof.highest_log(self._device)
        self._state.proof.note(self._device, entry.stream, is_proved=self._proof is Proof.SIGNED and is_latest)

    def _is_late(self, key: StreamKey) -> bool:
        """Whether a later state of a file is here already, and has to stay its last one."""
        taken = self._state.generations(self._device, key._replace(version=0, generation=0).id)
        first = key._replace(generation=0)
        if any(stream == first.id and generation > key.generation for stream, generation in taken):
            return True
        later = range(key.version + 1, key.version + len(taken) + MOST_LATE) if taken and not key.generation else ()
        streams = {stream for stream, _ in taken}
        return any(first._replace(version=version).id in streams for version in later)

    def _verified(self, entry: Entry, head: Head, path: str) -> Pieces:
        """Return the bytes to keep of a segment; raise if it does not continue a stream with this head."""
        if entry.length <= LONGEST_SEGMENT:
            data = b"".join(self._incoming(path, entry.length, (self._bundle.segment(entry, head).data,)))
            return lambda: (data,)
        self._bundle.check_after(entry, head)
        return lambda: self._incoming(path, entry.length, self._bundle.pieces(entry))

    def _file(self, key: StreamKey, kind: str) -> KeptFile:
        source = SourceKey(self._machine, key.home, key.path)
        return self._writer.sources.get(source) or self._writer.new_file(self._machine, key.home, key.path, kind)

    def _version_for(self, file: KeptFile, base: str, pieces: Pieces) -> int:
        """Return the number of the version for a stream: a new version, or one that was added just before a crash."""
        taken = self._state.received_versions(self._device, base)
        for version in file.versions:
            is_free = version.size and version.number not in taken
            if is_free and self._is_there(version, 0, pieces):
                return version.number
        return len(file.versions) + 1

    def _is_there(self, version: Version, start: int, pieces: Pieces) -> bool:
        """Whether a version has these bytes from a place on, as far as it goes."""
        for piece in pieces():
            there = self._writer.read(version, start, start + len(piece))
            if not piece.startswith(there):
                return False
            start += len(piece)
            if start >= version.size:
                break
        return True

    def _put(self, file: KeptFile, number: int, start: int, length: int, pieces: Pieces, modified_ns: int) -> int:
        """Store these bytes at this offset of a version; return its number, which is new if the bytes differ."""
        has = file.version(number)
        size = has.size if has is not None else 0
        if has is None or size <= start:
            self._add(file, number, start, pieces(), modified_ns)
            return number
        if self._is_there(has, start, pieces):
            if size < start + length:  # cut off in between
                self._add(file, number, size, _after(pieces(), size - start), modified_ns)
            return number
        before = (self._writer.read(has, at, min(start, at + CHUNK)) for at in range(0, start, CHUNK))
        self._add(file, len(file.versions) + 1, 0, chain(before, pieces()), modified_ns)
        return len(file.versions)

    def _add(self, file: KeptFile, number: int, start: int, pieces: Iterable[bytes], modified_ns: int) -> None:
        version: Version | None = file.version(number)
        if (version.size if version else 0) != start:
            raise NotFollowingError(self._bundle.index.number)  # the archive was set back: all of it is read again
        lines = (line for piece in pieces for line in piece.splitlines(keepends=True))
        chunks, end = [], start
        for chunk in in_chunks(lines, RECEIVED_CHUNK):
            chunks.append(self._writer.put(pack(chunk))[0])
            end += len(chunk)
        bookmark = Bookmark(end, 0, 0, end, modified_ns, 0, 0, 0, 0)
        self._writer.add_chunks(
            AddedBytes(
                at=now(),
                file=file.number,
                version=number - 1,
                size=end,
                modified_ns=modified_ns,
                chunks=chunks,
                bookmark=list(bookmark),
            )
        )
        self._done.files += start == 0
        self._done.size += end - start
        self._done.sources.add(file.key.id)


def name_here(machine: str, is_own: Callable[[str], bool]) -> str:
    """Return the name under which this archive keeps the files of a machine.

    This machine under an earlier name, and a machine with a copy of its library, get a name of their own: their files
    are not ours. So does another machine that already has that name: it must not add to their files.
    """
    return f"{machine}{COPY}" if is_own(COPIES.sub("", machine)) else machine


def _after(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the pieces without their first `size` bytes."""
    for piece in pieces:
        if rest := piece[size:]:
            yield rest
        size = max(0, size - len(piece))
