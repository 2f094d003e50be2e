"""Take what other devices sent to a remote into the local archive, as theirs.

First the archive, then the state. A bundle that is in the archive and not in the state was taken just before a crash:
its bytes are there, and are not added again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from backscroll.archive.catalogue import AddedBytes
from backscroll.archive.forgetting import owned_key
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.packing import CHUNK, in_chunks, pack
from backscroll.archive.rewriting import ReplacedVersion, Writer
from backscroll.archive.writer import now
from backscroll.errors import BackscrollError, NothingFound
from backscroll.files.layout import FileKind, LeftOut, place_of
from backscroll.files.reading import Bookmark
from backscroll.files.source_key import SourceKey, owner_of
from backscroll.sync.bundles import PLAIN, Bundle, DamagedBundleError, Entry, Seal, file_key, read_bundles
from backscroll.sync.objects import BundleObject, current, devices_in, in_log, latest_log
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.removal import objects_of
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import ReceivedStream, StreamInArchive
from backscroll.sync.streams import LONGEST_SEGMENT, Head, StreamKey, first_head


@dataclass
class Pulled:
    """What a pull did."""

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
    """Files that their device took back."""
    unknown: int = 0
    """Files of kinds that this version does not know, which stay on the remote for one that does."""
    problems: list[str] = field(default_factory=list)
    """What could not be taken, and why."""
    sources: set[str] = field(default_factory=set)
    """The ids of the files that have more in them than before."""


Writing = Callable[[], AbstractContextManager[Writer]]
"""Gives the archive to be written to. It is held for one bundle, and never while the remote is asked for something."""


LONGEST_NAME: Final = 2400
"""Of a home and a path, in bytes of a database: names are keys of its index. Claude Code writes no longer one."""
RECEIVED_CHUNK: Final = 256 << 10
"""What other machines sent is read from the archive only, text by text: smaller chunks than those of a home of this
machine, whose files are read where they are, unpack sooner."""
KINDS: Final = frozenset(map(str, FileKind))
"""Of the files that this version knows. Others are left on the remote until a version takes them that does."""
Pieces = Callable[[], Iterable[bytes]]
"""The bytes of a segment, from its beginning each time. One that is a single long line comes in several pieces."""
Incoming = Callable[[str, int, Iterable[bytes]], Iterable[bytes]]
"""What is kept of a segment of the file with this path and this many bytes: as many bytes, perhaps others."""
MAX_IN_MEMORY: Final = 8 << 20
"""Bytes of an object; a larger one is a temporary file while it is taken."""


def has_news(listing: Iterable[RemoteObject], state: SyncState, own: str) -> bool:
    """Whether another device has sent something that is not here yet."""
    for device, objects in devices_in(listing).items():
        log = latest_log(objects)
        known, number, _ = state.pulled(device)
        if device == own:
            continue
        if log != known or any(one.last > number for one in in_log(objects, log)) or state.can_return(device, KINDS):
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
) -> Pulled:
    """Take everything that is new from other devices. A device whose objects are damaged holds up no other.

    `is_own` says of a machine of the archive whether it is this one; `incoming` may change what is taken; `temporary`
    is a folder for objects that are too large for memory, if not the system's.
    """
    pulling = _Pull(writing, remote, state, seal, on_bytes, is_own, incoming, temporary)
    for device, objects in sorted(devices_in(remote.list() if listing is None else listing).items()):
        if device != own:
            pulling.take_from(device, objects)
    return pulling.done


@dataclass
class _Pull:
    """One pull."""

    writing: Writing
    remote: Remote
    state: SyncState
    seal: Seal
    on_bytes: Callable[[int], object]
    is_own: Callable[[str], bool]
    incoming: Incoming
    temporary: str | None
    done: Pulled = field(default_factory=Pulled)

    def take_from(self, device: str, objects: Sequence[BundleObject]) -> None:
        """Take everything that is new of one device, and note what cannot be taken."""
        try:
            self.done.replaced += _remove_replaced(self.writing, self.state, device)  # what was cut off
            try:
                self._take_new(device, objects)
            except NothingFound:  # it was merged since we looked
                self._take_new(device, objects_of(self.remote, device))
            self.done.replaced += _remove_replaced(self.writing, self.state, device)
        except (DamagedBundleError, NothingFound) as error:
            self.done.problems.append(f"{device}: {error}")
        self.done.devices[device] = self.state.pulled(device)[1]

    def _take_new(self, device: str, objects: Sequence[BundleObject]) -> None:
        state = self.state
        log = latest_log(objects)
        if log is not None and log != state.pulled(device)[0]:
            with state.saving():
                state.begin_pulling(device, log)
        if state.can_return(device, KINDS):
            with state.saving():
                state.return_to_skipped(device)
        for one in current(in_log(objects, log)):
            if one.last <= state.pulled(device)[1]:
                continue
            with SpooledTemporaryFile(MAX_IN_MEMORY, dir=self.temporary) as file:
                for piece in self.remote.pieces(one.name):
                    file.write(piece)
                self._take_object(device, file)

    def _take_object(self, device: str, file: IO[bytes]) -> None:
        for bundle in read_bundles(file, self.seal):
            _, number, before = self.state.pulled(device)
            if bundle.index.number <= number:
                continue
            if bundle.index.number > number + 1:
                raise DamagedBundleError(f"bundle {number + 1} is missing")
            if bundle.index.device != device or bundle.index.previous != before:
                hint = "it was set back or copied: run backscroll sync verify on that machine"
                raise DamagedBundleError(f"bundle {number + 1} does not follow the one before; {hint}")
            with self.writing() as writer:
                _Receiver(self, writer, device, bundle).take()
            self.on_bytes(sum(entry.length for entry in bundle.index.entries))


def _remove_replaced(writing: Writing, state: SyncState, device: str) -> int:
    """Put what came again under other rules in the place of what came before; return how many versions that were.

    The older bytes are removed: there may be a secret in them that is masked now. First the archive changes, then the
    state; what was cut off in between is finished the next time, before anything else is taken.
    """
    replaced = [(olds, group[-1]) for group in state.regenerated(device) if (olds := _replaced_in(group))]
    if not replaced:
        return 0
    with writing() as writer:
        files = {(file.machine, StreamKey(file.home, file.path, 0).id): file for file in writer.files.values()}
        changes: list[ReplacedVersion] = []
        settled = []
        for olds, new in replaced:
            file = files.get((new.machine, new.base))
            target = file.version(min(one.version for one in olds)) if file is not None else None
            more = _changes_in(file, olds, new) if file is not None else []
            changes += more
            if target is not None and (more or target.size == new.size):  # now, or before it was cut off
                settled.append((olds, new, target.number))
        if changes:
            writer.forget((), (), changes)
        with state.saving():
            for olds, new, number in settled:
                state.note_version(device, new.stream, number)
                for one in olds:
                    state.forget_received(device, one.stream)
    return len(changes)


def _replaced_in(generations: list[StreamInArchive]) -> list[StreamInArchive]:
    """The generations of a stream that the last one replaces: it goes as far, and the rules changed since."""
    last = generations[-1]
    return [
        one
        for at, one in enumerate(generations[:-1])
        if last.source >= one.source and any(later.rules != one.rules for later in generations[at + 1 :])
    ]


def _changes_in(file: KeptFile, olds: list[StreamInArchive], new: StreamInArchive) -> list[ReplacedVersion]:
    """What to change in a file; nothing if that was done before."""
    fresh = file.version(new.version)
    if fresh is None or fresh.size != new.size:
        return []
    changes: list[ReplacedVersion] = []
    for one in sorted(olds, key=lambda one: one.version):
        version = file.version(one.version)
        if version is not None and version.size == one.size and version is not fresh:
            changes.append(ReplacedVersion(file, version, None if changes else fresh))
    return changes


class _Receiver:
    """Takes one bundle."""

    def __init__(self, pulling: _Pull, writer: Writer, device: str, bundle: Bundle) -> None:
        self._writer, self._device, self._bundle = writer, device, bundle
        self._state, self._done, self._incoming = pulling.state, pulling.done, pulling.incoming
        machine = bundle.index.machine
        # This machine under a name that it had before, or one with a copy of its library: its files are not ours.
        self._machine = f"{machine}-copy" if pulling.is_own(machine) else machine

    def take(self) -> None:
        """Forget what its device forgot, and add its segments to the archive."""
        index = self._bundle.index
        self._forget(index.forgotten)  # before the bundle counts as taken: a crash must not lose it
        with self._state.saving():
            for entry in index.entries:
                if entry.file is not None:
                    self._take_entry(entry)
            self._state.note_pulled(self._device, index.number, index.hash)
            self._state.note_machine(self._device, self._machine)
            self._writer.commit()  # before the state is: what the state says is there must be there

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
        if facts is None or not _is_safe(key.path) or _key_size(f"{key.home}{key.path}") > LONGEST_NAME:
            return
        if self._writer.is_forgotten(key.home, key.path, self._machine):
            self._done.ignored += 1
            return
        known = self._state.received(self._device, entry.stream)
        head = known.head if known else first_head(key)
        if entry.number < head.segments:
            return  # sent again
        if entry.number > head.segments:
            self._done.problems.append(f"{self._machine}: a part of {key.path} is missing")
            return
        pieces = self._verified(entry, head, key.path)
        file = self._file(key, facts.type)
        base = key._replace(version=0, generation=0).id
        number = known.version if known else self._version_for(file, base, pieces)
        number = self._put(file, number, entry.start, entry.length, pieces, facts.modified_ns)
        first = key._replace(generation=0).id
        taken = ReceivedStream(number, entry.after, self._machine, first, key.generation, entry.source, facts.rules)
        self._state.note_received(self._device, base, entry.stream, taken)

    def _verified(self, entry: Entry, head: Head, path: str) -> Pieces:
        """What is kept of a segment, which continues a stream with this head; an error if it does not."""
        if entry.length <= LONGEST_SEGMENT:
            data = b"".join(self._incoming(path, entry.length, (self._bundle.segment(entry, head).data,)))
            return lambda: (data,)
        self._bundle.check_after(entry, head)
        return lambda: self._incoming(path, entry.length, self._bundle.pieces(entry))

    def _file(self, key: StreamKey, kind: str) -> KeptFile:
        source = SourceKey(self._machine, key.home, key.path)
        return self._writer.sources.get(source) or self._writer.new_file(self._machine, key.home, key.path, kind)

    def _version_for(self, file: KeptFile, base: str, pieces: Pieces) -> int:
        """The number of the version that a stream goes into: a new one, or one that was added just before a crash."""
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
        """Have these bytes at this place of a version; return its number, which is a new one if they differ."""
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
            raise BackscrollError(f"a part of {file.name} of {self._machine} is missing", "run backscroll sync verify")
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

    def _forget(self, keys: list[str]) -> None:
        owner = owner_of(self._machine)
        new = {owned_key(owner, key) for key in keys} - self._writer.forgotten
        if not new:
            return
        known = self._writer.forgotten
        self._writer.forgotten = known | new
        files = [
            file
            for file in self._writer.files.values()
            if self._writer.is_forgotten(file.home, file.path, file.machine)
        ]
        self._writer.forgotten = known
        self._writer.forget(files, new)
        self._done.forgotten += len(files)


def _after(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The bytes without the first ones."""
    for piece in pieces:
        if rest := piece[size:]:
            yield rest
        size = max(0, size - len(piece))


def _is_safe(path: str) -> bool:
    """Whether a path from another machine is one that Claude Code writes."""
    parts = path.split("/")
    return all(part not in ("", ".", "..") for part in parts) and not isinstance(place_of(parts), LeftOut)


def _key_size(name: str) -> int:
    """How many bytes a name takes at most."""
    return sum(1 if letter.isascii() else 4 for letter in name)
