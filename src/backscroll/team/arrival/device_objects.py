"""The objects that devices push, each confined to its own device.

A device is identified by the server's own records, never by a request or a bundle. It may use only the objects below
its own name, and store only whole bundles of its own: nothing else gets a receipt.

An object is judged before it is unpacked, by the size that its indexes claim; a wrong claim is an error. It is unpacked
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
        """List the objects of the device whose names begin with a prefix."""
        if self._folder.startswith(prefix):
            prefix = self._folder
        if prefix.startswith(self._folder):
            yield from (stored for stored in self._objects.list(prefix) if parse_object(stored) is not None)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Read an object of the device, piece by piece; `NothingFound` at once if there is none."""
        return with_first_read(self._objects.pieces(self._own(name).name))

    def judge(self, name: str, file: IO[bytes], longest_index: int = LARGEST_INDEX) -> int:
        """Return how many bytes an object claims to unpack to; nothing but its indexes is unpacked.

        Raise DamagedBundleError unless its indexes claim the bundles of its name, of this device; LongIndexError if an
        index is longer than `longest_index`.
        """
        named = self._own(name)
        number, unpacked = named.first, 0
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
        if number != named.last + 1:
            raise DamagedBundleError(f"bundle {number} is missing")
        return unpacked

    def put(self, name: str, file: IO[bytes]) -> tuple[Receipt, bool]:
        """Store a judged object, if its segments are what it claims; return its receipt, and whether it is new.

        Raise ConflictError if other bytes have this name.
        """
        named = self._own(name)
        for bundle in read_bundles(file, largest_index=LARGEST_INDEX):
            for entry in bundle.index.entries:
                if entry.file is not None:
                    bundle.check(entry)
        is_new = self._objects.put_file(named.name, file)
        if not is_new and not is_same(self._objects.pieces(named.name), file):
            raise ConflictError(f"other bytes are stored as {name}", "nothing was changed")
        file.seek(0)
        digest = hashlib.sha256()
        for piece in read_pieces(file):
            digest.update(piece)
        return Receipt(name, file.tell(), digest.hexdigest()), is_new

    def replaces(self, name: str, counted: int) -> bool:
        """Whether an object of this size would only replace what the device has stored already."""
        named = self._own(name)
        parsed = (parse_object(listed) for listed in self._objects.list(self._folder))
        covered = [
            max(other.size, self._unpacked(other.name))
            for other in parsed
            if other is not None and other.log == named.log and named.first <= other.first and other.last <= named.last
        ]
        return bool(covered) and counted <= sum(covered)

    def delete(self, name: str) -> None:
        """Remove an object of the device."""
        self._objects.delete(self._own(name).name)

    def _own(self, name: str) -> BundleObject:
        """Parse the name of an object of this device. Names of other devices do not exist for it."""
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
        """Return how many bytes a stored object unpacks to."""
        with SpooledTemporaryFile(MAX_IN_MEMORY, dir=self._temporary) as file:
            for piece in self._objects.pieces(name):
                file.write(piece)
            indexes = (bundle.index for bundle in read_bundles(file))
            return sum(entry.length for index in indexes for entry in index.entries if entry.file is not None)


def with_first_read(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Read the first piece now, so that an error is raised now; yield all pieces."""
    first = next(pieces, b"")

    def every() -> Iterator[bytes]:
        yield first
        yield from pieces

    return every()
