"""The objects that devices push: what a device may store, see and remove.

A device is known by the server's own records, never by what a request or a bundle says. It is confined to the objects
below its own name, and what it stores must be whole bundles of its own: a receipt is given for nothing else.
"""

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.sync.bundles import DamagedBundleError, read_bundles
from backscroll.sync.objects import BundleObject, folder_of, parse_object
from backscroll.sync.remotes import Remote, RemoteObject

MAX_UNPACKED_BYTES: Final = 1 << 30
"""Bytes of all segments of an object; more comes only from a stranger, or from a single line of that length."""
LONGEST_SEGMENT: Final = 1 << 29


class Receipt(NamedTuple):
    """An object that is stored durably."""

    name: str
    size: int
    sha256: str


class ConflictError(UsageError):
    """Other bytes have this name."""


class DeviceObjects:
    """The part of an object store that one device may use."""

    def __init__(self, objects: Remote, device: str) -> None:
        self._objects = objects
        self._device = device
        self._folder = folder_of(device)

    def list(self, prefix: str) -> Iterator[RemoteObject]:
        """Its objects whose names begin like this."""
        if self._folder.startswith(prefix):
            prefix = self._folder
        if prefix.startswith(self._folder):
            yield from (one for one in self._objects.list(prefix) if parse_object(one) is not None)

    def get(self, name: str) -> bytes:
        """One of its objects."""
        return self._objects.get(self._own(name).name)

    def put(self, name: str, data: bytes) -> Receipt:
        """Store whole bundles of this device; `ConflictError` if other bytes have this name."""
        one = self._own(name)
        self._check(one, data)
        if not self._objects.put(name, data) and self._objects.get(name) != data:
            raise ConflictError(f"other bytes are stored as {name}", "nothing was changed")
        return Receipt(name, len(data), hashlib.sha256(data).hexdigest())

    def replaces(self, name: str, size: int) -> bool:
        """Whether an object of this size would only stand in for what the device has stored already."""
        one = self._own(name)
        known = (parse_object(found) for found in self._objects.list(self._folder))
        covered = [
            other.size
            for other in known
            if other is not None and other.log == one.log and one.first <= other.first and other.last <= one.last
        ]
        return bool(covered) and size <= sum(covered)

    def delete(self, name: str) -> None:
        """Remove one of its objects."""
        self._objects.delete(self._own(name).name)

    def _own(self, name: str) -> BundleObject:
        """A name of this device. Any other does not exist, whether another device has such an object or not."""
        parsed = parse_object(RemoteObject(name, 0))
        if parsed is None or not name.startswith(self._folder) or parsed.name != name:
            raise NothingFound(f"there is no object {name}", "a device sees only its own objects")
        return parsed

    def _check(self, one: BundleObject, data: bytes) -> None:
        """An error unless the bytes are the bundles that the name says, of this device, undamaged."""
        number, unpacked = one.first, 0
        for bundle in read_bundles(data):
            index = bundle.index
            if (index.device, index.machine) != (self._device, self._device):
                raise DamagedBundleError("it is a bundle of another device")
            if index.number != number:
                raise DamagedBundleError(f"it has bundle {index.number} where {number} belongs")
            number += 1
            unpacked += sum(entry.length for entry in index.entries if entry.file is not None)
            if unpacked > MAX_UNPACKED_BYTES or any(entry.length > LONGEST_SEGMENT for entry in index.entries):
                raise DamagedBundleError("it is larger than a device sends")
            for entry in index.entries:
                if entry.file is not None:
                    bundle.check(entry)
        if number != one.last + 1:
            raise DamagedBundleError(f"bundle {number} is missing")
