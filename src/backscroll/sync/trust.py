"""Trust in bundles: decide which bundles in the folder of a device a receiver accepts.

A device speaks for itself only, and for the machine after which its folder is named. The first key that it signs with
is trusted; from then on, only signed bundles count, and those before a signed one in its chain. A device that
has never signed may add, but neither forget nor replace: anyone who can write to the remote can write in its name. A
team server knows its devices by their credentials: there, nothing of this is needed.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol

from backscroll.errors import BackscrollError, NothingFound
from backscroll.sync.bounds import LARGEST_INDEX
from backscroll.sync.bundles import Bundle, DamagedBundleError, Seal, read_bundles
from backscroll.sync.objects import BundleObject, current, in_log
from backscroll.sync.remotes import Remote
from backscroll.sync.scanning import downloaded
from backscroll.sync.signing import fingerprint

MAX_LOGS: Final = 20
"""Most logs of a device that are searched for a signed one."""
MAX_OBJECTS: Final = 4
"""Number of objects at the end of a log that are searched."""
MAX_TRIED: Final = 256
"""Most objects that are tried for one bundle."""


class Proof(Enum):
    """Degree of proof that a bundle is from its device."""

    SIGNED = "signed"
    CHAINED = "chained"
    """A later bundle of its chain is signed: all that the hash covers is proved, which excludes rules and times."""
    UNSIGNED = "unsigned"
    """The device has never signed."""


class KnownKeys(Protocol):
    """The keys that this machine trusts, by the names of machines. Changes are durable when a method returns."""

    def key_of(self, machine: str) -> str | None:
        """Return the public key of a machine; None if it has not signed anything yet."""

    def trust(self, machine: str, key: str) -> None:
        """Trust the first key that a machine signs with."""

    def note_refused(self, machine: str, key: str | None) -> None:
        """Record that a bundle was refused: signed with another key, or not signed."""

    def clear_refused(self, machine: str) -> None:
        """Record that nothing of a machine is refused any more."""


class RefusedError(BackscrollError):
    """A bundle that its device did not write, as far as can be told."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "run backscroll sync trust")


class JudgedBundle(NamedTuple):
    """The proof of a bundle's origin."""

    proof: Proof
    new_key: str | None = None
    """The key to trust from now on, if the bundle is taken."""


@dataclass(frozen=True)
class Judge:
    """Judges the bundles of one remote."""

    keys: KnownKeys
    device_of: Callable[[str], str] = lambda machine: machine
    """Returns the name of a machine's device on this remote."""

    def judge(self, bundle: Bundle, device: str, log: str, is_chained: Callable[[Bundle], bool]) -> JudgedBundle:
        """Return the proof of a bundle in the folder of a device; RefusedError if the bundle does not count.

        `is_chained` says whether a later bundle, which the device signed, proves one.
        """
        machine = self._speaker(bundle, device)
        known, key = self.keys.key_of(machine), bundle.signer
        if key is None:
            if known is None:
                return JudgedBundle(Proof.UNSIGNED)
            if is_chained(bundle):
                return JudgedBundle(Proof.CHAINED)
            self.keys.note_refused(machine, None)
            raise RefusedError(
                f"bundle {bundle.index.number} is not signed, and only what it signed counts. If an older backscroll "
                f"runs there again, run backscroll sync trust {machine}"
            )
        if bundle.index.log != log:
            raise RefusedError(f"bundle {bundle.index.number} was signed for another place on the remote: it was moved")
        if known is None:
            return JudgedBundle(Proof.SIGNED, key)
        if key != known:
            self.keys.note_refused(machine, key)
            raise RefusedError(
                f"it is known by the key {fingerprint(known)}, and bundle {bundle.index.number} is signed with "
                f"{fingerprint(key)}. If that machine was set up anew, run backscroll sync trust {machine}"
            )
        return JudgedBundle(Proof.SIGNED)

    def is_signed(self, bundle: Bundle, device: str, log: str) -> bool:
        """Whether a device signed a bundle, for this log, with its trusted key, or with any key if none is trusted."""
        try:
            known, key = self.keys.key_of(self._speaker(bundle, device)), bundle.signer
        except (DamagedBundleError, RefusedError):
            return False
        return key is not None and bundle.index.log == log and known in (None, key)

    def _speaker(self, bundle: Bundle, device: str) -> str:
        """Return the machine that a bundle is from; RefusedError if it speaks for another device or machine."""
        index = bundle.index
        if index.device != device:
            raise RefusedError(f"bundle {index.number} says that it is from {index.device}: it does not belong there")
        if self.device_of(index.machine) != device:
            raise RefusedError(f"bundle {index.number} claims to be from {index.machine}, which is another device")
        return index.machine


@dataclass(frozen=True)
class SignedHistory:
    """Searches the objects of a device for bundles that it signed."""

    judge: Judge
    remote: Remote
    seal: Seal
    device: str

    def choose_log(self, objects: Collection[BundleObject], known: str) -> str | None:
        """Return the log of the device that counts: the highest that it signed; without any, the highest.

        `known` is the log that is followed so far. A made-up log does not distract from a signed one.
        """
        logs = sorted({bundle_object.log for bundle_object in objects}, reverse=True)
        if len(logs) < 2:
            return logs[0] if logs else None
        proved = (log for log in logs[:MAX_LOGS] if self._is_proved(in_log(objects, log), log))
        return next(proved, known if known in logs else logs[0])

    def chained(self, objects: Iterable[BundleObject], log: str) -> frozenset[str]:
        """Return the hashes of all bundles that precede a signed one in its chain."""
        previous: dict[str, str] = {}
        waiting = []
        for bundle_object in objects:
            for bundle in self._bundles(bundle_object):
                previous[bundle.index.hash] = bundle.index.previous
                if self.judge.is_signed(bundle, self.device, log):
                    waiting.append(bundle.index.previous)
        reached: set[str] = set()
        while waiting:
            step = waiting.pop()
            if step in previous and step not in reached:
                reached.add(step)
                waiting.append(previous[step])
        return frozenset(reached)

    def _is_proved(self, objects: Collection[BundleObject], log: str) -> bool:
        """Whether one of the last objects of a log has a signed bundle: the signature of the last covers all."""
        last = sorted(objects, key=lambda bundle_object: (-bundle_object.last, -bundle_object.revision))[:MAX_OBJECTS]
        return any(
            self.judge.is_signed(bundle, self.device, log)
            for bundle_object in last
            for bundle in self._bundles(bundle_object)
        )

    def _bundles(self, one: BundleObject) -> Iterable[Bundle]:
        """Yield the bundles of an object, as far as it can be read."""
        try:
            with downloaded(self.remote, one) as (file, _):
                yield from read_bundles(file, self.seal, LARGEST_INDEX)
        except (DamagedBundleError, NothingFound):
            return


def in_order_to_try(there: Collection[BundleObject]) -> list[BundleObject]:
    """Sort objects that claim to have one bundle into the order in which to try them."""
    first = current(there)[-1:]
    rest = sorted(
        (candidate for candidate in there if candidate not in first),
        key=lambda candidate: (-candidate.last, -candidate.revision, candidate.first),
    )
    return (first + rest)[:MAX_TRIED]
