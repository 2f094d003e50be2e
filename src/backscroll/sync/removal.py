"""Remove content from a remote, and merge small objects. Other devices see every bundle at any moment.

A changed object is written under its next revision before the old one is deleted.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from backscroll.errors import NothingFound
from backscroll.sync.bundles import DamagedBundleError, read_bundles, without
from backscroll.sync.objects import BundleObject, current, devices_in, folder_of, in_log, latest_log, superseded
from backscroll.sync.remotes import Folder, Remote, RemoteObject
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from backscroll.sync.stored_objects import sha256_of

SMALL: Final = 4 << 20
"""Objects below this size are merged."""
MAX_SMALL_OBJECTS: Final = 32
"""Most small objects that may follow one another."""
LARGEST_MERGED: Final = 16 << 20


def remove_content(remote: Remote, state: SyncState, sender: Sender, streams: Iterable[str]) -> list[str]:
    """Remove the content of these streams from the objects of a device; return the names of those that are damaged."""
    removed = set(streams)
    numbers = state.bundles_with(removed)
    damaged = []
    for bundle_object in own_objects(remote, state, sender):
        if numbers.isdisjoint(bundle_object.bundles):
            continue
        try:
            data = _shortened(remote.get(bundle_object.name), bundle_object, removed, sender)
        except (DamagedBundleError, NothingFound):
            if sender.signer is None:
                raise
            damaged.append(bundle_object.name)
            continue
        if data is not None:
            replace_object(
                remote, [bundle_object], bundle_object._replace(revision=bundle_object.revision + 1), data, state
            )
    return damaged


def _shortened(data: bytes, one: BundleObject, removed: set[str], sender: Sender) -> bytes | None:
    """Return an object without the content of some streams; None if it has nothing of them."""
    bundles = list(read_bundles(data, sender.seal))
    if not any(entry.file and entry.stream in removed for bundle in bundles for entry in bundle.index.entries):
        return None
    return b"".join(
        without(bundle, lambda entry: entry.stream in removed, sender.seal, sender.signer, one.log)
        for bundle in bundles
    )


def own_objects(remote: Remote, state: SyncState, sender: Sender) -> list[BundleObject]:
    """Return the objects of this device that count. A team server may have rewritten them since the last listing."""
    if sender.signer is None:
        return current(in_log(objects_of(remote, sender.device), state.log))
    return current(each.one for each in state.objects.all(sender.device).values())


def merge_small(remote: Remote, device: str, most: int = MAX_SMALL_OBJECTS, state: SyncState | None = None) -> int:
    """Merge runs of small objects, and delete leftovers of an interrupted merge; return how many fewer there are."""
    every = objects_of(remote, device)
    stored = state.objects.all(device) if state else {}
    if stored:
        every = [
            bundle_object
            for bundle_object in every
            if bundle_object.name in stored and bundle_object.size == stored[bundle_object.name].one.size
        ]
    listed = in_log(every, latest_log(every))
    left = superseded(listed)
    for bundle_object in left:
        remote.delete(bundle_object.name)
    merged = 0
    for row in _rows_of_small(current(listed), most):
        target = BundleObject(device, row[0].log, row[0].first, row[-1].last, 0)
        parts = [(remote.get(each.name), stored.get(each.name)) for each in row]
        if any(known and known.sha256 and known.sha256 != sha256_of(data) for data, known in parts):
            continue  # one is damaged: it must not get into a merged object
        replace_object(remote, row, target, b"".join(data for data, _ in parts), state)
        merged += len(row) - 1
    return merged + len(left)


def _rows_of_small(objects: list[BundleObject], most: int) -> list[list[BundleObject]]:
    """Return the runs of small objects that are long enough to be merged."""
    rows: list[list[BundleObject]] = [[]]
    for bundle_object in objects:
        row = rows[-1]
        follows = not row or bundle_object.first == row[-1].last + 1
        if (
            bundle_object.size < SMALL
            and follows
            and sum(each.size for each in row) + bundle_object.size <= LARGEST_MERGED
        ):
            row.append(bundle_object)
        else:
            rows.append([bundle_object] if bundle_object.size < SMALL else [])
    return [row for row in rows if len(row) > most]


def objects_of(remote: Remote, device: str, listing: Iterable[RemoteObject] | None = None) -> list[BundleObject]:
    """Return all objects of a device, from a fresh listing if there is one, or else from a new one."""
    listed = remote.list(folder_of(device)) if listing is None else listing
    return devices_in(listed).get(device, [])


def with_away(remote: Remote, state: SyncState, device: str, listed: Sequence[BundleObject]) -> list[BundleObject]:
    """Return a listing with the stored objects of which a sync program has only placeholders here."""
    away = remote.findings.away if isinstance(remote, Folder) else []
    if not away:
        return list(listed)
    stored, there = state.objects.all(device), {bundle_object.name for bundle_object in listed}
    return [*listed, *(stored[name].one for name in away if name in stored and name not in there)]


def replace_object(
    remote: Remote, old: list[BundleObject], new: BundleObject, data: bytes, state: SyncState | None = None
) -> None:
    """Write an object that replaces others, then delete these. The `state` of its device records it."""
    if state is None:
        while not remote.put(new.name, data) and remote.get(new.name) != data:
            new = new._replace(revision=new.revision + 1)  # an interrupted earlier attempt, or a clone
    else:
        new = put_stored(remote, state, new, data)
    replaced = [bundle_object for bundle_object in old if bundle_object.name != new.name]
    for bundle_object in replaced:
        remote.delete(bundle_object.name)
    if state is not None:
        with state.saving():
            state.objects.drop(bundle_object.name for bundle_object in replaced)


def put_stored(remote: Remote, state: SyncState, one: BundleObject, data: bytes) -> BundleObject:
    """Write an object under the next free revision, recorded first: it is known even if the answer is lost."""
    while True:
        one = one._replace(size=len(data))
        with state.saving():
            state.objects.note(one, sha256_of(data))
        if remote.put(one.name, data):
            return one
        with state.saving():
            state.objects.drop([one.name])
        one = one._replace(revision=one.revision + 1)
