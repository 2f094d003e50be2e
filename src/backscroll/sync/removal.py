"""Remove content from a remote, and merge small objects. Other devices see every bundle at any moment.

A changed object is written under its next revision before the old one is deleted.
"""

from collections.abc import Iterable
from typing import Final

from backscroll.sync.bundles import Seal, read_bundles, without
from backscroll.sync.objects import BundleObject, current, devices_in, folder_of, in_log, latest_log, superseded
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.state import SyncState

SMALL: Final = 4 << 20
"""Objects below this size are merged."""
MAX_SMALL_OBJECTS: Final = 32
"""How many small objects may stand in a row."""
LARGEST_MERGED: Final = 16 << 20


def remove_content(remote: Remote, state: SyncState, device: str, streams: Iterable[str], seal: Seal) -> None:
    """Remove the content of these streams from the objects of a device."""
    removed = set(streams)
    numbers = state.bundles_with(removed)
    for one in current(in_log(objects_of(remote, device), state.log)):
        if numbers.isdisjoint(one.bundles):
            continue
        bundles = read_bundles(remote.get(one.name), seal)
        data = b"".join(without(bundle, lambda entry: entry.stream in removed, seal) for bundle in bundles)
        replace_object(remote, [one], one._replace(revision=one.revision + 1), data)


def merge_small(remote: Remote, device: str, most: int = MAX_SMALL_OBJECTS) -> int:
    """Merge rows of small objects, and delete what an interrupted merge has left; return how many are fewer."""
    every = objects_of(remote, device)
    found = in_log(every, latest_log(every))
    left = superseded(found)
    for one in left:
        remote.delete(one.name)
    merged = 0
    for row in _rows_of_small(current(found), most):
        target = BundleObject(device, row[0].log, row[0].first, row[-1].last, 0)
        replace_object(remote, row, target, b"".join(remote.get(each.name) for each in row))
        merged += len(row) - 1
    return merged + len(left)


def _rows_of_small(objects: list[BundleObject], most: int) -> list[list[BundleObject]]:
    """The rows of small objects that are long enough to be merged."""
    rows: list[list[BundleObject]] = [[]]
    for one in objects:
        row = rows[-1]
        follows = not row or one.first == row[-1].last + 1
        if one.size < SMALL and follows and sum(each.size for each in row) + one.size <= LARGEST_MERGED:
            row.append(one)
        else:
            rows.append([one] if one.size < SMALL else [])
    return [row for row in rows if len(row) > most]


def objects_of(remote: Remote, device: str, listing: Iterable[RemoteObject] | None = None) -> list[BundleObject]:
    """All objects of a device, as a listing has them that was made just before; else as a new one has them."""
    found = remote.list(folder_of(device)) if listing is None else listing
    return devices_in(found).get(device, [])


def replace_object(remote: Remote, old: list[BundleObject], new: BundleObject, data: bytes) -> None:
    """Write an object that stands in for others, then delete these."""
    while not remote.put(new.name, data) and remote.get(new.name) != data:
        new = new._replace(revision=new.revision + 1)  # an earlier try that was cut off, or a clone
    for one in old:
        if one.name != new.name:
            remote.delete(one.name)
