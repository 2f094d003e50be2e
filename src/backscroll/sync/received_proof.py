"""The part of the state about proofs: received streams that may not replace older ones, and unproved forget requests.

It also has the facts that show that a log has other bundles than those that were taken, because the remote and its
device were both set back: the size of the log when it was last followed to its end, and the hashes of the last bundles.
"""

import sqlite3
from typing import Final


class ReceivedProof:
    """Tables about proofs in the state of a sync."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def highest_log(self, device: str) -> str:
        """Return the highest log that a device signed; empty if there is none."""
        row = self._db.execute("select log from signed_log where device = ?", (device,)).fetchone()
        return row[0] if row else ""

    def note_signed_log(self, device: str, log: str) -> None:
        """Record that a device signed this log."""
        if log > self.highest_log(device):
            self._db.execute("insert or replace into signed_log values (?, ?)", (device, log))

    def unproven(self, device: str) -> set[str]:
        """Return the received streams of a device that are not proved to be its own: they replace nothing."""
        return {row[0] for row in self._db.execute("select stream from unproven where device = ?", (device,))}

    def note(self, device: str, stream: str, *, is_proved: bool) -> None:
        """Record whether the last received segment of a stream was proved."""
        statement = "delete from unproven where device = ? and stream = ?"
        if not is_proved:
            statement = "insert or ignore into unproven values (?, ?)"
        self._db.execute(statement, (device, stream))

    def unasked(self, device: str) -> tuple[int, str] | None:
        """Return the bundle before the first unproved one that asks to forget; None if there is none."""
        row = self._db.execute("select number, hash from unasked where device = ?", (device,)).fetchone()
        return (row[0], row[1]) if row else None

    def note_unasked(self, device: str, number: int, bundle_hash: str) -> None:
        """Record that the bundle after this one asks to forget, and is not proved. The first of them counts."""
        self._db.execute("insert or ignore into unasked values (?, ?, ?)", (device, number, bundle_hash))

    def drop_unasked(self, device: str) -> None:
        """Drop the record, because the requests to forget are proved by now, and taken again."""
        self._db.execute("delete from unasked where device = ?", (device,))

    def followed(self, device: str) -> tuple[str, int] | None:
        """Return the log of a device that was followed to its end, and its size then; None if unknown."""
        row = self._db.execute("select log, size from followed where device = ?", (device,)).fetchone()
        return (row[0], row[1]) if row else None

    def note_followed(self, device: str, log: str, size: int) -> None:
        """Record that the log of a device was followed to its end."""
        self._db.execute("insert or replace into followed values (?, ?, ?)", (device, log, size))

    def taken(self, device: str, number: int) -> str:
        """Return the hash of a bundle that was taken; empty if unknown."""
        query = "select hash from taken where device = ? and number = ?"
        row = self._db.execute(query, (device, number)).fetchone()
        return row[0] if row else ""

    def note_taken(self, device: str, number: int, bundle_hash: str) -> None:
        """Record a bundle that was taken. Only the last ones are kept."""
        self._db.execute("insert or replace into taken values (?, ?, ?)", (device, number, bundle_hash))
        self._db.execute("delete from taken where device = ? and number <= ?", (device, number - MOST_TAKEN))

    def begin(self, device: str) -> None:
        """Reset a device that is read from its beginning."""
        for table in ("unproven", "unasked", "taken"):
            self._db.execute(f"delete from {table} where device = ?", (device,))  # noqa: S608 - fixed names

    def forget(self, device: str) -> None:
        """Forget everything about a device."""
        self.begin(device)
        for table in ("signed_log", "followed"):
            self._db.execute(f"delete from {table} where device = ?", (device,))  # noqa: S608 - fixed names


MOST_TAKEN: Final = 1000
TABLES: Final = {
    "signed_log": "device text primary key, log text",
    "followed": "device text primary key, log text, size integer",
    "taken": "device text, number integer, hash text, primary key (device, number)",
    "unproven": "device text, stream text, primary key (device, stream)",
    "unasked": "device text primary key, number integer, hash text",
}
