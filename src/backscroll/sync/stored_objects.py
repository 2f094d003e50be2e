"""The part of the state about the objects that this device has stored on a remote: name, size and hash of each.

A row is written before an object that replaces others, and after one that adds bundles; it is removed once the object
is deleted. So an object without a row was either stored just before a crash, or comes from somewhere else.
"""

import hashlib
import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from backscroll.sync.objects import BundleObject

COLUMNS: Final = (
    "name text primary key, log text, first integer, last integer, revision integer, size integer, sha256 text"
)
UNKNOWN_HASH: Final = ""
"""Hash of an object that an earlier version stored."""


class StoredObject(NamedTuple):
    """An object as this device stored it."""

    one: BundleObject
    sha256: str


class StoredObjects:
    """The objects of one device on one remote. Changes belong into `SyncState.saving`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def all(self, device: str) -> dict[str, StoredObject]:
        """Return every object by its name."""
        rows = self._db.execute("select name, log, first, last, revision, size, sha256 from stored")
        return {row[0]: StoredObject(BundleObject(device, *row[1:6]), row[6]) for row in rows}

    def note(self, one: BundleObject, sha256: str) -> None:
        """Record an object that this device stores, with the size and hash that it must have."""
        row = (one.name, one.log, one.first, one.last, one.revision, one.size, sha256)
        self._db.execute("insert or replace into stored values (?, ?, ?, ?, ?, ?, ?)", row)

    def drop(self, names: Iterable[str]) -> None:
        """Drop objects that are not on the remote any more."""
        self._db.executemany("delete from stored where name = ?", [(name,) for name in names])


def sha256_of(data: bytes) -> str:
    """Return the hash of an object."""
    return hashlib.sha256(data).hexdigest()
