"""The objects that devices push: what a device may store, see and remove.

A device is known by the server's own records, never by what a request or a bundle says. It is confined to the objects
below its own name, and what it stores must be whole bundles of its own: a receipt is given for nothing else.

An object is judged before it is unpacked, by what it says that it unpacks to, and an error if it lies. It is unpacked
piece by piece: checking takes the same memory for a line of a hundred megabytes as for one of a hundred bytes.
"""

import hashlib
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.sync.bundles import DamagedBundleError, Index, IndexTooLongError, read_bundles
from backscroll.sync.objects import BundleObject, folder_of, parse_object
from backscroll.sync.remotes import Remote, RemoteObject, is_same, read_pieces

MAX_UNPACKED_BYTES: Final = 1 << 30
"""Bytes of all segments of an object; more comes only from a stranger, or from a single line of that length."""
LONGEST_SEGMENT: Final = 1 << 29
LARGEST_INDEX: Final = 16 << 20
"""Bytes of the index of a bundle. Reading one takes up to five times as many."""
MAX_IN_MEMORY: Final = 8 << 20


class Receipt(NamedTuple):
    """An object that is stored durably."""

    name: str
    size: int
    sha256: str


class ConflictError(UsageError):
    """Other bytes have this name."""


class LongIndexError(Exception):
    """An index is longer than the caller wants to read."""


class DeviceObjects:
    """The part of an object store that one device may use."""

    def __init__(self, objects: Remote, device: str, temporary: str | None = None) -> None:
        """`temporary` is a folder for objects that are too large for memory, if not the system's."""
        self._objects, self._temporary = objects, temporary
        self._device = device
        self._folder = folder_of(device)

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """Its objects whose names begin like this."""
        if self._folder.startswith(prefix):
            prefix = self._folder
        if prefix.startswith(self._folder):
            yield from (one for one in self._objects.list(prefix) if parse_object(one) is not None)

    def pieces(self, name: str) -> Iterator[bytes]:
        """One of its objects, piece by piece; `NothingFound` at once if there is none."""
        return begun(self._objects.pieces(self._own(name).name))

    def judge(self, name: str, file: IO[bytes], longest_index: int = LARGEST_INDEX) -> int:
        """How many bytes an object unpacks to, as it says; nothing is unpacked but what stands at its beginning.

        An error unless it says that it has the bundles that the name says, of this device; LongIndexError if that takes
        reading a longer index.
        """
        one = self._own(name)
        number, unpacked = one.first, 0
        try:
            for bundle in read_bundles(file, largest_index=longest_index):
                unpacked += self._judge(bundle.index, number)
                if unpacked > MAX_UNPACKED_BYTES:
                    raise DamagedBundleError("it is larger than a device sends")
                number += 1
        except IndexTooLongError as error:
            if longest_index < LARGEST_INDEX:
                raise LongIndexError from error
            raise
        if number != one.last + 1:
            raise DamagedBundleError(f"bundle {number} is missing")
        return unpacked

    def put(self, name: str, file: IO[bytes]) -> tuple[Receipt, bool]:
        """Store an object that was judged, if its segments are what it says; and whether it is new.

        `ConflictError` if other bytes have this name.
        """
        one = self._own(name)
        for bundle in read_bundles(file, largest_index=LARGEST_INDEX):
            for entry in bundle.index.entries:
                if entry.file is not None:
                    bundle.check(entry)
        is_new = self._objects.put_file(one.name, file)
        if not is_new and not is_same(self._objects.pieces(one.name), file):
            raise ConflictError(f"other bytes are stored as {name}", "nothing was changed")
        file.seek(0)
        digest = hashlib.sha256()
        for piece in read_pieces(file):
            digest.update(piece)
        return Receipt(name, file.tell(), digest.hexdigest()), is_new

    def replaces(self, name: str, counted: int) -> bool:
        """Whether an object that counts so much would only stand in for what the device has stored already."""
        one = self._own(name)
        known = (parse_object(found) for found in self._objects.list(self._folder))
        covered = [
            max(other.size, self._unpacked(other.name))
            for other in known
            if other is not None and other.log == one.log and one.first <= other.first and other.last <= one.last
        ]
        return bool(covered) and counted <= sum(covered)

    def delete(self, name: str) -> None:
        """Remove one of its objects."""
        self._objects.delete(self._own(name).name)

    def _own(self, name: str) -> BundleObject:
        """A name of this device. Any other does not exist, whether another device has such an object or not."""
        parsed = parse_object(RemoteObject(name, 0))
        if parsed is None or not name.startswith(self._folder) or parsed.name != name:
            raise NothingFound(f"there is no object {name}", "a device sees only its own objects")
        return parsed

    def _judge(self, index: Index, number: int) -> int:
        if (index.device, index.machine) != (self._device, self._device):
            raise DamagedBundleError("it is a bundle of another device")
        if index.number != number:
            raise DamagedBundleError(f"it has bundle {index.number} where {number} belongs")
        lengths = [entry.length for entry in index.entries if entry.file is not None]
        if max(lengths, default=0) > LONGEST_SEGMENT:
            raise DamagedBundleError("it is larger than a device sends")
        return sum(lengths)

    def _unpacked(self, name: str) -> int:
        """How many bytes a stored object unpacks to."""
        with SpooledTemporaryFile(MAX_IN_MEMORY, dir=self._temporary) as file:
            for piece in self._objects.pieces(name):
                file.write(piece)
            indexes = (bundle.index for bundle in read_bundles(file))
            return sum(entry.length for index in indexes for entry in index.entries if entry.file is not None)


def begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, of which the first was read already: if that fails, it fails now."""
    first = next(pieces, b"")

    def every() -> Iterator[bytes]:
        yield first
        yield from pieces

    return every()
