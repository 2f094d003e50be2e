"""Remove content that the receiver has forgotten from a device's objects: on a team server, expired chats.

The device's own proof stays whole: the hashes of removed content remain in the bundles.
"""

from collections.abc import Callable
from typing import Final

from backscroll.errors import Busy, NothingFound
from backscroll.sync.bundles import Bundle, Entry, file_key, read_bundles, without
from backscroll.sync.objects import BundleObject
from backscroll.sync.remotes import Remote
from backscroll.sync.removal import objects_of, replace_object

MAX_LISTINGS: Final = 5

IsForgotten = Callable[[str, str], bool]
"""Whether the file with this home and path was forgotten."""


def remove_forgotten(remote: Remote, device: str, is_forgotten: IsForgotten, after: int = 0) -> int:
    """Remove the content of forgotten files from every object of a device that has bundles after this number.

    Return the number of changed objects.

    The device may rewrite its objects at the same time, so this repeats until no object has such content.
    """
    changed = 0
    clean: set[str] = set()
    for _ in range(MAX_LISTINGS):
        waiting = [
            bundle_object
            for bundle_object in objects_of(remote, device)
            if bundle_object.last > after and bundle_object.name not in clean
        ]
        if not waiting:
            return changed
        for bundle_object in waiting:
            changed += _clean(remote, bundle_object, is_forgotten)
            clean.add(bundle_object.name)
    raise Busy(f"the objects of {device} keep changing", "it is tried again later")


def _clean(remote: Remote, one: BundleObject, is_forgotten: IsForgotten) -> bool:
    try:
        bundles = list(read_bundles(remote.get(one.name)))
    except NothingFound:  # its device has merged it since
        return False

    def is_unwanted(entry: Entry) -> bool:
        key = file_key(entry)
        return is_forgotten(key.home, key.path)

    if not any(entry.file is not None and is_unwanted(entry) for bundle in bundles for entry in bundle.index.entries):
        return False
    data = b"".join(_shortened(bundle, is_unwanted) for bundle in bundles)
    replace_object(remote, [one], one._replace(revision=one.revision + 1), data)
    return True


def _shortened(bundle: Bundle, is_unwanted: Callable[[Entry], bool]) -> bytes:
    return without(bundle, lambda entry: entry.file is not None and is_unwanted(entry))
