"""Read an object in this device's own folder that the state does not know, and classify it.

The device may have stored it just before a crash, or before its state was lost or set back, or it may be an older
object that came back with a snapshot. It may also come from anyone who can write to the remote: it is read in pieces,
within limits, and its contents only if its index was written by this device.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Final, NamedTuple

from backscroll.errors import NothingFound
from backscroll.sync.bounds import LARGEST_INDEX
from backscroll.sync.bundles import MAGIC, Bundle, DamagedBundleError, file_key, read_bundles
from backscroll.sync.objects import BundleObject
from backscroll.sync.remotes import Remote
from backscroll.sync.sender import Sender

LARGEST_OBJECT: Final = 1 << 30
"""Most bytes of an object of this device: it writes no larger ones."""
MAX_IN_MEMORY: Final = 8 << 20
SMALLEST_OBJECT: Final = 24
"""Fewest bytes of an object that may be a bundle."""


class ScannedBundle(NamedTuple):
    """A bundle that claims to be from this device."""

    number: int
    hash: str
    previous: str
    is_signed: bool
    """Whether this device signed it, for this log; if not, it is unsigned."""
    streams: frozenset[str]
    """The streams whose content is in it."""
    is_whole: bool
    """Whether its contents are what its index says."""
    forgotten: frozenset[str] = frozenset()
    """Hashes of the files that it asks others to forget."""


class ScannedObject(NamedTuple):
    """An object with bundles that claim to be from this device, with the numbers of its name."""

    one: BundleObject
    bundles: list[ScannedBundle]
    sha256: str
    is_whole: bool
    """Whether it was read to its end, and has the bundles that its name says."""


@contextmanager
def downloaded(remote: Remote, one: BundleObject, temporary: str | None = None) -> Iterator[tuple[IO[bytes], str]]:
    """Yield an object as a file, and its hash; DamagedBundleError if it is no bundle, or not of its listed size.

    An object that does not begin like a bundle is not read any further.
    """
    if not SMALLEST_OBJECT <= one.size <= LARGEST_OBJECT:
        raise DamagedBundleError("it is empty or cut short" if one.size < SMALLEST_OBJECT else "it is too large")
    digest, size = hashlib.sha256(), 0
    with SpooledTemporaryFile(MAX_IN_MEMORY, dir=temporary) as file:
        for piece in remote.pieces(one.name):
            if not size and piece[: len(MAGIC)] != MAGIC[: len(piece)]:
                raise DamagedBundleError("it does not begin like a bundle")
            size += len(piece)
            if size > one.size:
                break
            digest.update(piece)
            file.write(piece)
        if size != one.size:
            raise DamagedBundleError("it has another size than the remote lists")
        yield file, digest.hexdigest()


def scan(remote: Remote, one: BundleObject, sender: Sender, *, is_deep: bool = True) -> ScannedObject | None:
    """Read an object; None if nothing in it can be from this device. `is_deep` reads the contents, too."""
    bundles: list[ScannedBundle] = []
    sha256 = ""
    try:
        with downloaded(remote, one) as (file, sha256):
            for bundle in read_bundles(file, sender.seal, LARGEST_INDEX):
                scanned = _scanned(bundle, one, one.first + len(bundles), sender, is_deep=is_deep)
                if scanned is None:
                    return None
                bundles.append(scanned)
    except (DamagedBundleError, NothingFound):
        return ScannedObject(one, bundles, sha256, is_whole=False) if bundles else None
    return ScannedObject(one, bundles, sha256, is_whole=bool(bundles) and bundles[-1].number == one.last)


def is_signed_by(bundle: Bundle, sender: Sender, log: str) -> bool | None:
    """Whether this device signed a bundle, for this log; None if anyone else did."""
    try:
        key = bundle.signer
    except DamagedBundleError:
        return None
    if key is None:
        return False
    return True if sender.signer and key == sender.signer.public and bundle.index.log == log else None


def is_of_another(remote: Remote, one: BundleObject, sender: Sender) -> bool:
    """Whether an object in this device's folder has a bundle signed with another key than its own.

    A machine that was set up anew, from a backup or as a copy, has another key than it had before.
    """
    own = sender.signer.public if sender.signer else None
    try:
        with downloaded(remote, one) as (file, _):
            for bundle in read_bundles(file, sender.seal, LARGEST_INDEX):
                if bundle.index.device == sender.device and bundle.signer not in (None, own):
                    return True
    except (DamagedBundleError, NothingFound):
        pass
    return False


def is_intact(bundle: Bundle) -> bool:
    """Whether the contents of a bundle are what its index says. They are not held in memory as a whole."""
    try:
        for entry in bundle.index.entries:
            if entry.file is not None:
                bundle.check(entry)
    except DamagedBundleError:
        return False
    return True


def _scanned(bundle: Bundle, one: BundleObject, number: int, sender: Sender, *, is_deep: bool) -> ScannedBundle | None:
    index = bundle.index
    is_signed = is_signed_by(bundle, sender, one.log)
    if index.device != sender.device or index.number != number or number > one.last or is_signed is None:
        return None
    streams = frozenset(file_key(entry) and entry.stream for entry in index.entries if entry.file is not None)
    is_whole = not is_deep or is_intact(bundle)
    forgotten = frozenset(index.forgotten)
    return ScannedBundle(number, index.hash, index.previous, is_signed, streams, is_whole, forgotten)
