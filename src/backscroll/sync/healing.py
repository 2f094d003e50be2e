"""Restore the objects that this device stored on a remote: write lost ones again, and remove foreign ones.

The listing is compared with the stored objects, by names and sizes; only those that differ are read. Objects that the
device itself stored are taken over; everything else in its folder is junk. First the right content is written again,
under another name than anything that is listed, then the bad objects are deleted.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from backscroll.sync.adopting import Adopter, GapError, choose_log
from backscroll.sync.comparing import Comparison, compare, not_covered, rows_of
from backscroll.sync.objects import BundleObject, current, in_log, latest_log, next_log, superseded
from backscroll.sync.remaking import Remaker
from backscroll.sync.remotes import Remote
from backscroll.sync.removal import LARGEST_MERGED, put_stored, with_away
from backscroll.sync.scanning import SMALLEST_OBJECT, ScannedObject, scan
from backscroll.sync.sender import Healed, Sender
from backscroll.sync.state import SyncState


@dataclass
class Healer:
    """Heals the objects of one device on one remote."""

    sender: Sender
    remote: Remote
    state: SyncState
    remaker: Remaker
    done: Healed = field(default_factory=Healed)
    _written: set[str] = field(default_factory=set)

    def heal(self, listed: Sequence[BundleObject], damaged: Collection[str] = ()) -> None:
        """Compare a listing of the device's folder with the stored objects, and mend. `damaged` objects are replaced.

        If the remote has lost content that cannot be made again, a new log begins.
        """
        state = self.state
        listed = with_away(self.remote, state, self.sender.device, listed)
        log = choose_log(self.remote, self.sender, state, listed)
        if log is None or log != state.log or self.remaker.can_be_complete():
            self._begin(log if log != state.log else None)
        assume_stored(state, self.sender.device, listed)
        difference = self._compare(listed, damaged)
        if difference.is_equal:
            return
        before = state.last_bundle[0]
        scanned = [each for each in map(self._scan, self._unclear(difference)) if each is not None]
        try:
            self.done.adopted += Adopter(self.sender, self.remote, state, self.remaker).adopt(scanned)
        except GapError:
            self._begin(None)
            return
        self._recognise(scanned, difference)
        difference = self._compare(listed, damaged)
        lost_to = difference.lost[-1] if difference.lost else 0
        self.done.is_set_back |= len(difference.absent) > 1 and lost_to == before > 0 and difference.lost[0] > 1
        if not self._write_again(difference.lost, listed):
            self._begin(None)
            return
        self._delete(difference)

    def heal_trusted(self, listed: Sequence[BundleObject]) -> None:
        """Mend on a team server, where only the device and the server write: every listed object counts."""
        state = self.state
        log = latest_log(listed)
        is_incomplete = self.remaker.can_be_complete()
        if state.log is None or state.log != log or is_incomplete:
            with state.saving():
                state.begin_log(log if log and not is_incomplete else next_log(listed))
        objects = in_log(listed, state.log)
        scanned = [
            each
            for candidate in current(objects)
            if candidate.last > state.last_bundle[0] and (each := scan(self.remote, candidate, self.sender)) is not None
        ]
        try:
            self.done.adopted += Adopter(self.sender, self.remote, state, self.remaker).adopt(scanned)
            lost = not_covered((listed_object.bundles for listed_object in objects), state.last_bundle[0])
            is_mended = self._write_again(lost, objects)
        except GapError:
            is_mended = False
        if not is_mended:
            with state.saving():
                state.begin_log(next_log(listed))
            return
        for listed_object in superseded(objects):
            self.remote.delete(listed_object.name)

    def delete_elsewhere(self, listed: Iterable[BundleObject]) -> None:
        """Delete objects in other logs of the device: in older ones, and in those that others made up."""
        log = self.state.log or ""
        for bundle_object in listed:
            if bundle_object.log != log:
                self.remote.delete(bundle_object.name)
                self.done.foreign += bundle_object.log > log

    def _compare(self, listed: Sequence[BundleObject], damaged: Collection[str]) -> Comparison:
        stored = self.state.objects.all(self.sender.device).values()
        return compare(stored, listed, self.state.log, self.state.last_bundle[0], damaged)

    def _begin(self, log: str | None) -> None:
        """Continue with this log, or begin one with a higher name than the log so far."""
        state = self.state
        known = [BundleObject(self.sender.device, state.log, 1, 1, 0)] if state.log else []
        with state.saving():
            state.begin_log(log or next_log(known))

    def _unclear(self, difference: Comparison) -> list[BundleObject]:
        """Return the unknown objects that may have bundles which no other object has."""
        last = self.state.last_bundle[0]
        lost = difference.lost
        needed = [
            bundle_object
            for bundle_object in difference.unknown
            if bundle_object.last > last or any(bundle_object.first <= number <= bundle_object.last for number in lost)
        ]
        return sorted(
            needed, key=lambda bundle_object: (bundle_object.first, -bundle_object.last, -bundle_object.revision)
        )

    def _scan(self, one: BundleObject) -> ScannedObject | None:
        return scan(self.remote, one, self.sender)

    def _recognise(self, scanned: Iterable[ScannedObject], difference: Comparison) -> None:
        """Record the objects that this device stored although its state no longer knew them."""
        state = self.state
        lost = set(not_covered((bundle_object.bundles for bundle_object in difference.whole), state.last_bundle[0]))
        wanted = {sent.stream for sent in state.sent().values()}
        with state.saving():
            for each in scanned:
                numbers = {bundle.number for bundle in each.bundles}
                if numbers.isdisjoint(lost) or not self._is_own(each):
                    continue
                lost -= numbers
                state.objects.note(each.one, each.sha256)
                unwanted = frozenset[str]().union(*(bundle.streams for bundle in each.bundles)) - wanted
                state.note_unwanted(unwanted)
                self.done.is_set_back |= bool(unwanted)

    def _is_own(self, scanned: ScannedObject) -> bool:
        """Whether every bundle of an object is one that this device sent, as it was sent."""
        signed_from = self.state.signed_from
        return scanned.is_whole and all(
            bundle.is_whole
            and bundle.hash == self.state.bundle_hash(bundle.number)
            and (bundle.is_signed or signed_from is None or bundle.number < signed_from)
            for bundle in scanned.bundles
        )

    def _write_again(self, lost: Sequence[int], listed: Iterable[BundleObject]) -> bool:
        """Write lost bundles again, consecutive ones together; False if any cannot be made again."""
        taken = {bundle_object.name for bundle_object in listed}
        for numbers in rows_of(lost):
            first, waiting, size = numbers.start, [], 0
            for number, data in zip(numbers, self.remaker.bundles(numbers), strict=True):
                if data is None:
                    return False
                waiting.append(data)
                size += len(data)
                if size >= LARGEST_MERGED or number == numbers[-1]:
                    self._put(first, number, b"".join(waiting), taken)
                    first, waiting, size = number + 1, [], 0
        return True

    def _put(self, first: int, last: int, data: bytes, taken: Collection[str]) -> None:
        bundle_object = BundleObject(self.sender.device, self.state.log or "", first, last, 0)
        while bundle_object.name in taken:
            bundle_object = bundle_object._replace(revision=bundle_object.revision + 1)
        if self.remaker.incomplete:
            with self.state.saving():
                self.state.note_incomplete(self.remaker.incomplete)
        self._written.add(put_stored(self.remote, self.state, bundle_object, data).name)
        self.done.rewritten += last - first + 1

    def _delete(self, difference: Comparison) -> None:
        """Delete objects that are damaged, superseded, or not stored by this device."""
        stored = self.state.objects.all(self.sender.device)
        foreign = [bundle_object for bundle_object in difference.unknown if bundle_object.name not in stored]
        for bundle_object in (*difference.torn, *difference.superseded, *foreign):
            self.remote.delete(bundle_object.name)
        gone = {
            bundle_object.name for bundle_object in (*difference.torn, *difference.superseded, *difference.absent)
        } - self._written
        with self.state.saving():
            self.state.objects.drop(gone)
        self.done.torn += len(difference.torn)
        self.done.foreign += len(foreign)


def assume_stored(state: SyncState, device: str, listed: Iterable[BundleObject]) -> None:
    """Record listed objects as stored, for a state of a version that did not do so. Their bytes were not checked."""
    last = state.last_bundle[0]
    if not last or state.objects.all(device):
        return
    there = (
        bundle_object
        for bundle_object in in_log(listed, state.log)
        if bundle_object.last <= last and bundle_object.size >= SMALLEST_OBJECT
    )
    with state.saving():
        for bundle_object in current(there):
            state.objects.note(bundle_object, "")
