"""Prove that a remote is complete: recompute the heads from the archive, and compare.

The objects that this device stored are compared with the listing by names and sizes; a deep check reads each once.
"""

from dataclasses import dataclass, field

from backscroll.errors import BackscrollError
from backscroll.sync.bounds import LARGEST_INDEX
from backscroll.sync.bundles import Bundle, DamagedBundleError, read_bundles
from backscroll.sync.comparing import compare, not_covered
from backscroll.sync.healing import assume_stored
from backscroll.sync.objects import BundleObject, current, in_log
from backscroll.sync.own_streams import same_segment, unsent
from backscroll.sync.remotes import Remote
from backscroll.sync.removal import objects_of, with_away
from backscroll.sync.scanning import downloaded, is_signed_by
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from backscroll.sync.stored_objects import StoredObject
from backscroll.sync.streams import first_head


@dataclass
class Verified:
    """Counts and findings of a check."""

    streams: int = 0
    """Streams that may leave."""
    equal: int = 0
    """Streams that the remote has completely, as they would leave now."""
    size: int = 0
    """Bytes of the equal streams."""
    waiting: int = 0
    """Streams with bytes that are not sent yet."""
    lost: list[int] = field(default_factory=list)
    """Bundles that the remote has lost."""
    damaged: list[str] = field(default_factory=list)
    """Objects that differ from what was written, with reasons."""
    foreign: list[str] = field(default_factory=list)
    """Objects in this machine's folder that it did not write, or does not know any more."""
    repaired: list[str] = field(default_factory=list)
    """Sentences about mended faults."""
    is_deep: bool = False
    key_problem: str = ""
    """Problem of the key object of an encrypted remote."""
    bad: list[str] = field(default_factory=list)
    """Names of damaged objects."""

    @property
    def is_whole(self) -> bool:
        """Whether the remote has everything, and nothing of it is damaged."""
        is_there = self.equal == self.streams and not self.lost
        return is_there and not (self.damaged or self.foreign or self.key_problem)


def verify(sender: Sender, remote: Remote, state: SyncState, *, deep: bool = False) -> Verified:
    """Compare the archive with the sent streams, and with the listing; `deep` reads every object again."""
    result = Verified(is_deep=deep)
    result.lost = _compare_objects(sender, remote, state, result)
    hit = {row.stream for number in result.lost for row in state.segments_in(number)}
    _compare_streams(sender, state, result, hit)
    return result


def _compare_objects(sender: Sender, remote: Remote, state: SyncState, result: Verified) -> list[int]:
    """Compare objects by names and sizes, a deep check by their bytes; return the bundles that are lost or damaged."""
    listed = objects_of(remote, sender.device)
    last = state.last_bundle[0]
    if sender.signer is None:  # a team server: it may have rewritten them
        there = in_log(listed, state.log)
        lost = not_covered((bundle_object.bundles for bundle_object in there), last)
        objects = [StoredObject(bundle_object, "") for bundle_object in current(there)]
    else:
        assume_stored(state, sender.device, listed)
        here = {bundle_object.name for bundle_object in listed}
        listed = with_away(remote, state, sender.device, listed)
        stored = state.objects.all(sender.device)
        difference = compare(stored.values(), listed, state.log, last, ())
        lost = difference.lost
        objects = [stored[bundle_object.name] for bundle_object in difference.whole if bundle_object.name in here]
        if result.is_deep:
            away = (bundle_object.name for bundle_object in difference.whole if bundle_object.name not in here)
            result.damaged += (f"{name}: the program that syncs this folder has not downloaded it" for name in away)
        for bundle_object in difference.torn:
            size = stored[bundle_object.name].one.size
            result.damaged.append(
                f"{bundle_object.name}: it has {bundle_object.size:,} bytes, and was stored with {size:,}"
            )
            result.bad.append(bundle_object.name)
        if last:
            newer = (bundle_object for bundle_object in difference.elsewhere if bundle_object.log > (state.log or ""))
            result.foreign = [bundle_object.name for bundle_object in (*difference.unknown, *newer)]
    for each in objects if result.is_deep else ():
        problem = _problem_of(each, sender, remote, state)
        if problem:
            result.damaged.append(f"{each.one.name}: {problem}")
            result.bad.append(each.one.name)
            lost = sorted({*lost, *each.one.bundles})
    return lost


def _compare_streams(sender: Sender, state: SyncState, result: Verified, hit: set[str]) -> None:
    """Compare each stream with its sent part; those in `hit` have lost segments."""
    sent, incomplete = state.sent(), state.incomplete()
    for stream in sender.streams():
        result.streams += 1
        known = sent.get(stream.base)
        head, source = (first_head(stream.key(known.generation)), 0) if known else (first_head(stream.key(0)), 0)
        for row in state.segments_of(known.stream) if known else ():
            part = same_segment(
                sender.archive, stream, sender.outgoing, known.generation if known else 0, head, source, row.source
            )
            head, source = part.segment.head, row.source
        is_all = sender.is_held(stream.file) or not unsent(sender.archive, stream, source)
        is_sent = known is None or (head == known.head and known.stream not in hit and stream.base not in incomplete)
        result.waiting += is_sent and not is_all
        if is_sent and is_all:
            result.equal += 1
            result.size += head.size


def _problem_of(stored: StoredObject, sender: Sender, remote: Remote, state: SyncState) -> str:
    """Return the problem of an object, read as a receiver would read it; empty if there is none."""
    bundle_object = stored.one
    try:
        with downloaded(remote, bundle_object) as (file, sha256):
            if stored.sha256 and stored.sha256 != sha256:
                return "its bytes are not those that were stored"
            number = bundle_object.first
            for bundle in read_bundles(file, sender.seal, LARGEST_INDEX):
                _check(bundle, number, bundle_object, sender, state)
                number += 1
            return "" if number > bundle_object.last else f"bundle {number} is missing in it"
    except BackscrollError as error:
        return error.message


def _check(bundle: Bundle, number: int, one: BundleObject, sender: Sender, state: SyncState) -> None:
    """Raise unless this is the bundle that was sent with this number, and every segment has its bytes."""
    if bundle.index.number != number or bundle.index.hash != state.bundle_hash(number):
        raise DamagedBundleError(f"bundle {bundle.index.number} is not the one that was sent")
    if sender.signer is not None:
        is_signed, signed_from = is_signed_by(bundle, sender, one.log), state.signed_from
        if is_signed is None or not (is_signed or signed_from is None or number < signed_from):
            raise DamagedBundleError(f"bundle {number} does not have the signature of this machine")
    for entry in bundle.index.entries:
        if entry.file is not None:
            bundle.check(entry)
