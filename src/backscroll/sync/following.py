"""Follow the log of another device, bundle by bundle: choose the object with the next bundle, and judge the bundle."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO, Final

from backscroll.errors import BackscrollError, NothingFound
from backscroll.sync.bundles import NO_BUNDLE, Bundle, DamagedBundleError, Seal, read_bundles
from backscroll.sync.folder_objects import RefusedObjectError
from backscroll.sync.gaps import BundleGap, stamps
from backscroll.sync.objects import BundleObject, ObjectsInOrder, current, in_log, latest_log
from backscroll.sync.remotes import Remote
from backscroll.sync.removal import objects_of
from backscroll.sync.scanning import downloaded
from backscroll.sync.signing import fingerprint
from backscroll.sync.state import SyncState
from backscroll.sync.trust import Judge, JudgedBundle, Proof, RefusedError, SignedHistory, in_order_to_try

MAX_PASSED: Final = 1000
"""Unreadable objects of a device that one sync passes over; the next sync continues after them."""


class NotFollowingError(DamagedBundleError):
    """A bundle does not follow the last one that was taken."""

    def __init__(self, number: int) -> None:
        hint = "it was set back or copied: run backscroll sync verify on that machine"
        super().__init__(f"bundle {number} does not follow the one before; {hint}")


class LateBundleError(BackscrollError):
    """No object has the next bundle, although later ones are there."""

    def __init__(self, number: int) -> None:
        super().__init__(f"bundle {number} is not there yet; what was sent after it waits", "run backscroll sync again")


@dataclass
class Follower:
    """Follows the log of one device, bundle by bundle."""

    remote: Remote
    state: SyncState
    seal: Seal
    device: str
    take: Callable[[Bundle, Proof, str], object]
    """Takes a bundle of a log into the archive, and records it in the state."""
    judge: Judge | None
    temporary: str | None
    on_note: Callable[[str], object]
    """Receives messages about oddities that stopped nothing."""
    _log: str = ""
    _objects: list[BundleObject] = field(default_factory=list)
    _order: ObjectsInOrder = field(default_factory=lambda: ObjectsInOrder(()))
    _passed: int = 0
    _chained: frozenset[str] | None = None

    def take_new(self, objects: Sequence[BundleObject]) -> None:
        """Take every new bundle, each from the first valid object that has it."""
        self._look_at(objects)
        if not self._log:
            return
        self._return_to_gap()
        if self._has_other_end():
            self._chained = None
            with self.state.saving():
                self.state.begin_pulling(self.device, self._log)
        may_list_again = may_read_again = True
        while True:
            try:
                while self._take_next():
                    pass
            except NothingFound:  # it was merged since we looked
                if not may_list_again:
                    raise
                may_list_again = False
                self._look_at(objects_of(self.remote, self.device))
            except NotFollowingError:  # the device was set back, and went on from there
                if not (may_read_again and self._position[0]):
                    raise
                may_read_again, self._chained = False, None
                with self.state.saving():
                    self.state.begin_pulling(self.device, self._log)
            else:
                if not self._return_to_unasked():
                    self._note_followed()
                    return

    def _look_at(self, objects: Sequence[BundleObject]) -> None:
        latest, known = latest_log(objects) or "", self.state.pulled(self.device)[0]
        is_proved = latest == known == self.state.proof.highest_log(self.device)
        log = latest if self._history is None or is_proved else self._history.choose_log(objects, known)
        self._log = log or ""
        self._objects, self._chained = in_log(objects, log), None
        self._order = ObjectsInOrder(self._objects)

    @property
    def _history(self) -> SignedHistory | None:
        return SignedHistory(self.judge, self.remote, self.seal, self.device) if self.judge else None

    @property
    def _position(self) -> tuple[int, str]:
        """The number and the hash of the last bundle of the log that was taken."""
        log, number, before = self.state.pulled(self.device)
        return (number, before) if log == self._log else (0, NO_BUNDLE)

    def _has_other_end(self) -> bool:
        """Whether the log ends with another bundle than was taken: the remote and its device were both set back.

        Checked only if the log has another size than when it was followed; removed content changes the size, too.
        A remote that was set back alone ends with a known bundle: its device writes the others again.
        """
        if self.state.proof.followed(self.device) in (None, (self._log, size_of(self._objects))):
            return False
        last = min(self._position[0], max(bundle_object.last for bundle_object in self._objects))
        known = self.state.proof.taken(self.device, last)
        for bundle_object in self._to_try(last) if known else ():
            try:
                with downloaded(self.remote, bundle_object, self.temporary) as (file, _):
                    for bundle in read_bundles(file, self.seal):
                        if bundle.index.number == last and bundle.index.device == self.device:
                            self._judged(bundle)
                            return bundle.index.hash != known
            except (DamagedBundleError, NothingFound, RefusedError, RefusedObjectError):
                continue  # it is not what the device wrote
        return False

    def _note_followed(self) -> None:
        """Record the size of the log, so that another end is noticed later."""
        at = self._log, size_of(self._objects)
        if self.judge is not None and self.state.proof.followed(self.device) != at:
            with self.state.saving():
                self.state.proof.note_followed(self.device, *at)

    def _take_next(self) -> bool:
        """Take the next bundle, and those in the same object; False if there is none."""
        wanted = self._position[0] + 1
        errors: list[BackscrollError] = []
        for bundle_object in self._to_try(wanted):
            try:
                with downloaded(self.remote, bundle_object, self.temporary) as (file, _):
                    self._take_object(file)
            except (DamagedBundleError, RefusedError, RefusedObjectError) as error:
                if self._position[0] < wanted:
                    errors.append(error)
                    continue
            if self._position[0] >= wanted:
                for refused in errors:
                    self.on_note(f"{refused}; another object has the same")
                return True
        if errors and not self._pass_over(wanted, errors):
            raise next((error for error in errors if isinstance(error, NotFollowingError)), errors[0])
        if errors:
            return True
        if any(bundle_object.last >= wanted for bundle_object in self._objects):
            raise LateBundleError(wanted)
        return False

    def _to_try(self, number: int) -> list[BundleObject]:
        """Return the objects that claim to have a bundle, in the order in which to try them."""
        return in_order_to_try(self._order.holding(number))

    def _pass_over(self, wanted: int, errors: Sequence[BackscrollError]) -> bool:
        """Skip bundles that are unreadable in every object; False if nothing follows them, or there is no need."""
        following = self._order.first_after(wanted)
        is_unreadable = all(isinstance(error, DamagedBundleError | RefusedObjectError) for error in errors)
        if not following or not is_unreadable or any(isinstance(error, NotFollowingError) for error in errors):
            return False
        self._passed += len(errors)
        if self._passed > MAX_PASSED:
            return False
        number, before = self._position
        gap = BundleGap(number, before, following - 1, errors[0].message, stamps(self._to_try(wanted)))
        with self.state.saving():
            if self.state.pulled(self.device)[0] != self._log:
                self.state.begin_pulling(self.device, self._log)
            self.state.gaps.note(self.device, gap)
            self.state.note_pulled(self.device, following - 1, "")
        return True

    def _return_to_gap(self) -> None:
        """Return to bundles that could not be read, if an object that was not tried yet has them."""
        if self.state.pulled(self.device)[0] != self._log:
            return
        for gap in self.state.gaps.of(self.device):
            if stamps(self._to_try(gap.number + 1)) - gap.tried:
                with self.state.saving():
                    self.state.note_pulled(self.device, gap.number, gap.hash)
                    self.state.gaps.forget(self.device, gap.number)
                return

    def _take_object(self, file: IO[bytes]) -> None:
        state, device = self.state, self.device
        for bundle in read_bundles(file, self.seal):
            number, before = self._position
            index = bundle.index
            if index.number <= number:
                continue
            if index.number > number + 1:
                raise DamagedBundleError(f"bundle {number + 1} is missing")
            judged = self._judged(bundle)
            if index.device != device or before not in (index.previous, ""):
                raise NotFollowingError(number + 1)
            if self.judge is not None and judged.new_key is not None:
                self.judge.keys.trust(index.machine, judged.new_key)
                with state.saving():
                    state.note_machine(device, index.machine)  # until now, an encrypted remote said only a hash
                self.on_note(f"known from now on by the key {fingerprint(judged.new_key)}")
            if state.pulled(device)[0] != self._log:
                with state.saving():
                    state.begin_pulling(device, self._log)
            self.take(bundle, judged.proof, self._log)

    def _judged(self, bundle: Bundle) -> JudgedBundle:
        if self.judge is None:
            return JudgedBundle(Proof.SIGNED)
        return self.judge.judge(bundle, self.device, self._log, self._is_chained)

    def _is_chained(self, bundle: Bundle) -> bool:
        """Whether a later bundle, which the device signed, proves this one."""
        if self._chained is None:
            number = self._position[0]
            later = [bundle_object for bundle_object in self._objects if bundle_object.last > number]
            self._chained = self._history.chained(later, self._log) if self._history else frozenset()
        return bundle.index.hash in self._chained

    def _return_to_unasked(self) -> bool:
        """Return to bundles that asked to forget before their device had signed anything, if it has signed by now."""
        at = self.state.proof.unasked(self.device)
        if at is None or self.state.proof.highest_log(self.device) != self._log:
            return False
        self._chained = None
        with self.state.saving():
            self.state.note_pulled(self.device, *at)
            self.state.proof.drop_unasked(self.device)
        return True


def size_of(objects: Iterable[BundleObject]) -> int:
    """Return the total size of the objects of one log that count."""
    return sum(bundle_object.size for bundle_object in current(objects))
