"""Send new segments of this device to a remote, after healing the remote.

The order makes a crash harmless: first the object, which is durable when `put` returns, then the state. A bundle that
is on the remote and not in the state was written just before a crash, or before this machine was set back to an older
state: its index lists its contents, and it is taken over if its segments are ours.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from backscroll.archive.forgetting import keys_to_forget
from backscroll.errors import NothingFound
from backscroll.sync.bounds import BUNDLE_BYTES, MAX_ENTRIES, MAX_FORGOTTEN
from backscroll.sync.bundles import Index, SentSegment, encode_bundle, read_bundles
from backscroll.sync.consent import drop_gone
from backscroll.sync.folder_objects import RefusedObjectError
from backscroll.sync.healing import Healer
from backscroll.sync.objects import BundleObject
from backscroll.sync.own_streams import OwnStream, new_segments
from backscroll.sync.remaking import Remaker, must_begin
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.removal import objects_of, own_objects, remove_content
from backscroll.sync.sender import CopiedLibraryError, Pushed, Sender
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SentStream, SentStreamName, unchecked, unchecked_rules
from backscroll.sync.stored_objects import StoredObject, sha256_of
from backscroll.sync.streams import first_head

Parts = list[tuple[str, SentSegment]]
"""Segments, each with the id of its stream in the first generation."""


def push(
    sender: Sender,
    remote: Remote,
    state: SyncState,
    on_bytes: Callable[[int], object] = lambda _: None,
    listing: Sequence[RemoteObject] | None = None,
    *,
    only_forgets: bool = False,
) -> Pushed:
    """Send all new segments, and write again the bundles that the remote has lost. `listing` is a fresh one, if any.

    With `only_forgets`, no content is sent: forgotten files are removed, and their hashes sent to other devices.
    """
    return _Push(sender, remote, state, on_bytes).run(listing, only_forgets=only_forgets)


def mend(sender: Sender, remote: Remote, state: SyncState, damaged: Collection[str] = ()) -> Pushed:
    """Write lost bundles and `damaged` objects again; remove objects that do not belong there."""
    return _Push(sender, remote, state, lambda _: None).mend(damaged)


class _Push:
    """State of a single push."""

    def __init__(self, sender: Sender, remote: Remote, state: SyncState, on_bytes: Callable[[int], object]) -> None:
        self._sender, self._remote, self._state, self._on_bytes = sender, remote, state, on_bytes
        self._remaker = Remaker(sender, state)
        self._streams = self._remaker.streams
        self._done = Pushed()
        self._shorter: set[str] = set()
        self._healer = Healer(sender, remote, state, self._remaker, self._done.healed)

    def run(self, listing: Sequence[RemoteObject] | None = None, *, only_forgets: bool = False) -> Pushed:
        """Compare, mend, remove and send, in this order."""
        listed = objects_of(self._remote, self._sender.device, listing)
        self._heal(listed)
        with self._state.saving():
            self._done.withheld, self._done.unknown = drop_gone(self._sender, self._state, self._streams.keys())
        self._remove_unwanted()
        self._send(() if only_forgets else self._parts_of_bundles())
        self._remove_unwanted()  # content that newer generations replace
        self._healer.delete_elsewhere(listed)
        return self._done

    def mend(self, damaged: Collection[str]) -> Pushed:
        """Mend without sending, except that everything is sent if mending takes a new log."""
        listed = objects_of(self._remote, self._sender.device)
        self._heal(listed, damaged)
        self._remove_unwanted()
        if not self._state.last_bundle[0]:
            self._send(self._parts_of_bundles())
        self._healer.delete_elsewhere(listed)
        return self._done

    def _heal(self, listed: Sequence[BundleObject], damaged: Collection[str] = ()) -> None:
        if self._sender.signer is None:
            self._healer.heal_trusted(listed)
        else:
            self._healer.heal(listed, damaged)

    # Sending

    def _send(self, bundles: Iterable[Parts]) -> None:
        """Send bundle by bundle. While one is packed and stored, the next is made; the state is updated in order."""
        state = self._state
        forgotten = sorted(self._sender.archive.forgotten - state.suppressed())
        is_first_signed = self._sender.signer is not None and state.last_bundle[0] > 0 and state.signed_from is None
        sending: tuple[Parts, Future[tuple[Index, StoredObject]]] | None = None
        with ThreadPoolExecutor(1, "backscroll-store") as pool:
            for parts, keys in self._new_bundles(bundles, forgotten, at_least_one=is_first_signed):
                if sending is not None:
                    self._note(*sending)
                number, previous = state.last_bundle
                index = self._remaker.index(number + 1, previous, keys)
                sending = parts, pool.submit(self._store, self._object(number + 1), index, parts)
            if sending is not None:
                self._note(*sending)

    def _new_bundles(
        self, bundles: Iterable[Parts], forgotten: Sequence[str], *, at_least_one: bool
    ) -> Iterator[tuple[Parts, list[str]]]:
        """Yield the contents of each new bundle: segments, and hashes of forgotten files."""
        waiting = [list(forgotten[at : at + MAX_FORGOTTEN]) for at in range(0, len(forgotten), MAX_FORGOTTEN)]
        for parts in bundles:
            yield parts, waiting.pop(0) if waiting else []
            at_least_one = False
        for keys in waiting or ([[]] if at_least_one else []):
            yield [], keys

    def _parts_of_bundles(self) -> Iterator[Parts]:
        waiting: Parts = []
        size = 0
        for base, part in self._new_parts():
            waiting.append((base, part))
            size += len(part.segment.data)
            if size >= BUNDLE_BYTES or len(waiting) >= MAX_ENTRIES:
                yield waiting
                waiting, size = [], 0
        if waiting:
            yield waiting

    def _new_parts(self) -> Iterator[tuple[str, SentSegment]]:
        sent = self._state.sent()
        for base, stream in self._streams.items():
            if self._sender.is_held(stream.file):
                continue
            known = sent.get(base)
            if known is None:
                generation, head, source = 0, first_head(stream.key(0)), 0
            elif self._begins_anew(stream, known):
                generation = known.generation + 1
                head, source = first_head(stream.key(generation)), 0
            else:
                generation, head, source = known.generation, known.head, known.source
            if source > stream.version.size and stream.base not in self._shorter:
                self._shorter.add(stream.base)
                self._done.unknown += 1
            if source < stream.version.size:
                archive, outgoing = self._sender.archive, self._sender.outgoing
                for part in new_segments(archive, stream, outgoing, generation, head, source):
                    yield base, part

    def _begins_anew(self, stream: OwnStream, known: SentStream) -> bool:
        """Whether the bytes that were sent are not the beginning of those that would be sent now."""
        size = stream.version.size
        is_shorter = size < known.source
        rules, is_unchecked, compared = unchecked_rules(known.rules)
        if is_unchecked and rules == stream.rules:
            if is_shorter:  # the remote has more of it, and keeps it
                if compared != size and not self._is_beginning(stream, known):
                    raise CopiedLibraryError(self._sender.device)
                self._note_rules(stream, unchecked(rules, size))
                return False
            if self._remaker.is_other(stream, known):
                raise CopiedLibraryError(self._sender.device)
            self._note_rules(stream, rules)
        elif is_unchecked and is_shorter:
            return False
        if size > known.source and (known.is_end or not stream.key(0).is_lines):
            return True
        if stream.rules == rules:
            if is_shorter:  # the archive was set back
                self._note_rules(stream, unchecked(rules))
            # Earlier versions sent a line that was cut off with all of its text.
            return not is_shorter and known.is_end and self._remaker.is_other(stream, known)
        if self._remaker.is_other(stream, known):
            return True
        self._note_rules(stream, stream.rules)
        return False

    def _note_rules(self, stream: OwnStream, rules: str) -> None:
        with self._state.saving():
            self._state.note_rules(stream.base, rules)

    def _is_beginning(self, stream: OwnStream, known: SentStream) -> bool:
        """Whether the longer file on the remote begins with the bytes that we have."""
        for row in self._state.segments_of(known.stream):
            if row.source <= stream.version.size:
                if self._remaker.same(stream, known, row) is None:
                    return False
                continue
            key = stream.key(known.generation)
            ours = self._remaker.segment(stream, key, row.number, stream.version.size).segment
            number = self._state.bundle_of(row)
            holding = [
                bundle_object
                for bundle_object in own_objects(self._remote, self._state, self._sender)
                if number in bundle_object.bundles
            ]
            bundles = read_bundles(self._remote.get(holding[0].name), self._sender.seal) if holding else ()
            for bundle in bundles:
                for entry in bundle.index.entries:
                    if (entry.stream, entry.number) == (row.stream, row.number) and entry.file is not None:
                        return bundle.content(entry).startswith(must_begin(stream.rules, ours.data))
            break
        return True

    def _store(self, one: BundleObject, index: Index, parts: Parts) -> tuple[Index, StoredObject]:
        """Pack a bundle and put it on the remote; return its index and the stored object. The state is not touched."""
        sender = self._sender
        index, data = encode_bundle(index, [part for _, part in parts], sender.seal, sender.signer)
        while not self._remote.put(one.name, data):
            if not self._is_refused(one.name):
                raise CopiedLibraryError(sender.device)  # it was not there when we looked
            one = one._replace(revision=one.revision + 1)
        return index, StoredObject(one._replace(size=len(data)), sha256_of(data))

    def _is_refused(self, name: str) -> bool:
        """Whether a link or a special file has the name of an object: a listing leaves it out."""
        try:
            next(iter(self._remote.pieces(name)), b"")
        except RefusedObjectError:
            return True
        except NothingFound:
            return False
        return False

    def _note(self, parts: Parts, storing: Future[tuple[Index, StoredObject]]) -> None:
        """Record a bundle in the state as soon as it is on the remote."""
        index, stored = storing.result()
        with self._state.saving():
            names = [SentStreamName(base, _keys_of(self._streams[base])) for base, _ in parts]
            self._state.note_bundle(index, names)
            self._state.note_signed(index.number, is_signed=self._sender.signer is not None)
            self._state.objects.note(*stored)
        done = self._done
        done.streams += len({base for base, _ in parts})
        done.segments += len(parts)
        done.stored += stored.one.size
        done.objects += 1
        done.asks += len(index.forgotten)
        raw = sum(len(part.segment.data) for _, part in parts)
        done.size += raw
        self._on_bytes(raw)

    def _remove_unwanted(self) -> None:
        """Remove content that must not be on the remote any more. The state knows it until it is gone."""
        unwanted = self._state.unwanted()
        if unwanted:
            damaged = remove_content(self._remote, self._state, self._sender, unwanted)
            if damaged:  # made again, without that content
                self._heal(objects_of(self._remote, self._sender.device), damaged)
            with self._state.saving():
                self._state.note_removed(unwanted)
            self._done.removed += len(unwanted)

    def _object(self, number: int) -> BundleObject:
        return BundleObject(self._sender.device, self._state.log or "", number, number, 0)


def _keys_of(stream: OwnStream) -> set[str]:
    return keys_to_forget([(stream.file.home, stream.file.path)])
