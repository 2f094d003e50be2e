"""Prove that a remote has everything: recompute the heads from the archive, and compare."""

from dataclasses import dataclass, field

from backscroll.errors import BackscrollError
from backscroll.sync.bundles import DamagedBundleError, read_bundles
from backscroll.sync.objects import current, in_log, missing
from backscroll.sync.own_streams import own_streams, same_segment, unsent
from backscroll.sync.push import Sender
from backscroll.sync.remotes import Remote
from backscroll.sync.removal import objects_of
from backscroll.sync.state import SyncState
from backscroll.sync.streams import first_head


@dataclass
class Verified:
    """What was compared."""

    streams: int = 0
    """Streams that may leave."""
    equal: int = 0
    """Streams that the remote has completely, as they would leave now."""
    size: int = 0
    """Bytes of those that are equal."""
    waiting: int = 0
    """Streams with something that is not sent yet."""
    lost: list[int] = field(default_factory=list)
    """Bundles that the remote has lost."""
    damaged: list[str] = field(default_factory=list)
    """Objects that are not what was written."""
    is_deep: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the remote has everything, and nothing of it is damaged."""
        return self.equal == self.streams and not self.lost and not self.damaged


def verify(sender: Sender, remote: Remote, state: SyncState, *, deep: bool = False) -> Verified:
    """Compare the archive with what was sent, and with what the remote lists; `deep` reads every object again."""
    found = Verified(is_deep=deep)
    objects = in_log(objects_of(remote, sender.device), state.log)
    found.lost = missing(objects, state.last_bundle[0])
    lost = set(found.lost)
    if deep:
        for one in current(objects):
            try:
                _read(remote.get(one.name), sender, state)
            except (DamagedBundleError, BackscrollError) as error:
                found.damaged.append(f"{one.name}: {error}")
                lost.update(one.bundles)
    hit = {row.stream for number in lost for row in state.segments_in(number)}
    sent = state.sent()
    for stream in own_streams(sender.archive, sender.is_own, sender.mode_of, sender.outgoing):
        found.streams += 1
        known = sent.get(stream.base)
        head, source = (first_head(stream.key(known.generation)), 0) if known else (first_head(stream.key(0)), 0)
        for row in state.segments_of(known.stream) if known else ():
            part = same_segment(
                sender.archive, stream, sender.outgoing, known.generation if known else 0, head, source, row.source
            )
            head, source = part.segment.head, row.source
        is_all = not unsent(sender.archive, stream, source)
        is_sent = known is None or (head == known.head and known.stream not in hit)
        found.waiting += is_sent and not is_all
        if is_sent and is_all:
            found.equal += 1
            found.size += head.size
    return found


def _read(data: bytes, sender: Sender, state: SyncState) -> None:
    """Read an object as a receiver would: every bundle has its hash, and every segment its bytes."""
    for bundle in read_bundles(data, sender.seal):
        if bundle.index.hash != state.bundle_hash(bundle.index.number):
            raise DamagedBundleError(f"bundle {bundle.index.number} is not the one that was sent")
        for entry in bundle.index.entries:
            if entry.file is not None:
                bundle.check(entry)
