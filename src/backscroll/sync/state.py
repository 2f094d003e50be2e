"""The state of a device for a remote: the streams that it has sent there, and those taken from other devices.

All of it can be rebuilt: sent streams are in the bundles, taken ones in the archive. The state holds
hashes and numbers, no names and no text.
"""

import contextlib
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Final

from backscroll.disk import private_folder
from backscroll.errors import BackscrollError, StorageError
from backscroll.sync.bundles import NO_BUNDLE, Entry, Index
from backscroll.sync.gaps import TABLES as GAP_TABLES
from backscroll.sync.gaps import Gaps
from backscroll.sync.received_proof import TABLES as PROOF_TABLES
from backscroll.sync.received_proof import ReceivedProof
from backscroll.sync.state_rows import (
    ReceivedStream,
    SeenDevice,
    SentSegmentRow,
    SentStream,
    SentStreamName,
    StreamInArchive,
    unchecked,
)
from backscroll.sync.stored_objects import COLUMNS, StoredObjects
from backscroll.sync.streams import Head

SCHEMA: Final = 3


class SyncState:
    """The state for one remote. `with state.saving():` makes changes durable together, or not at all."""

    def __init__(self, path: Path) -> None:
        private_folder(path.parent)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            path.chmod(0o600)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")
            if self._db.execute("pragma user_version").fetchone()[0] != SCHEMA:
                self._make()
            for name, columns in LATER_TABLES.items():
                self._db.execute(f"create table if not exists {name} ({columns}) strict, without rowid")
            self.objects = StoredObjects(self._db)
            self.proof = ReceivedProof(self._db)
            self.gaps = Gaps(self._db)
        except sqlite3.DatabaseError as error:
            hint = f"remove {path}: it is rebuilt from the remote"
            raise BackscrollError(f"the state of the sync cannot be read: {error}", hint) from error

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Save all changes within this context together."""
        try:
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have done so itself
                    self._db.execute("rollback")
                raise
        except sqlite3.Error as error:
            hint = "check the disk, and try again"
            raise StorageError(f"the state of the sync cannot be written: {error}", hint) from error

    @property
    def log(self) -> str | None:
        """The log that this device writes; None if it has not begun."""
        row = self._db.execute("select name from log").fetchone()
        return row[0] if row else None

    def begin_log(self, name: str) -> None:
        """Write this log from now on, and drop the records of the one before."""
        for table in ("sent", "segment", "bundle", "suppressed", "unwanted", "stored", "signed", "incomplete", "log"):
            self._db.execute(f"delete from {table}")  # noqa: S608 - fixed names
        self._db.execute("insert into log values (?)", (name,))

    @property
    def signed_from(self) -> int | None:
        """The bundle from which on this device has signed all; None if it has not signed any."""
        row = self._db.execute("select min(number) from signed").fetchone()
        return row[0] if row else None

    def note_signed(self, number: int, *, is_signed: bool) -> None:
        """Record whether the stored bundle is signed."""
        if not is_signed:
            self._db.execute("delete from signed")
        elif self.signed_from is None:
            self._db.execute("insert into signed values (?)", (number,))

    # Sent streams

    @property
    def last_bundle(self) -> tuple[int, str]:
        """The number and the hash of the last bundle that this device sent."""
        row = self._db.execute("select number, hash from bundle order by number desc limit 1").fetchone()
        return (row[0], row[1]) if row else (0, NO_BUNDLE)

    def bundle_hash(self, number: int) -> str:
        """Return the hash of a bundle."""
        row = self._db.execute("select hash from bundle where number = ?", (number,)).fetchone()
        return row[0] if row else NO_BUNDLE

    def sent(self) -> dict[str, SentStream]:
        """Return every sent stream, in its latest generation, by its id in the first."""
        rows = self._db.execute(
            "select base, generation, stream, segments, size, head, source, is_end, rules, keys from sent"
        )
        return {
            row[0]: SentStream(row[1], row[2], Head(*row[3:6]), row[6], bool(row[7]), row[8], frozenset(row[9].split()))
            for row in rows
        }

    def note_bundle(self, index: Index, streams: Iterable[SentStreamName]) -> None:
        """Record that a bundle is on the remote. `streams` has the stream of each entry."""
        self._db.execute("insert or replace into bundle values (?, ?)", (index.number, index.hash))
        for order, (entry, stream) in enumerate(zip(index.entries, streams, strict=True)):
            self._note_entry(index.number, order, entry, stream)
        rows = [(key, index.number) for key in index.forgotten]
        self._db.executemany("insert or ignore into suppressed values (?, ?)", rows)

    def _note_entry(self, bundle: int, order: int, entry: Entry, stream: SentStreamName) -> None:
        head, base = entry.after, stream.base
        self._db.execute(
            "insert or replace into segment values (?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.stream, entry.number, bundle, order, *entry.after[1:], entry.source, entry.is_end),
        )
        if entry.file is not None:
            replaced = self._db.execute("select stream from sent where base = ?", (base,)).fetchone()
            if replaced and replaced[0] != entry.stream:
                self._db.execute("insert or ignore into unwanted values (?)", replaced)
            rules = entry.file.rules if stream.is_checked else unchecked(entry.file.rules)
            keys = " ".join(sorted(stream.keys))
            row = (base, entry.file.generation, entry.stream, *head, entry.source, entry.is_end, rules, keys)
            self._db.execute("insert or replace into sent values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def note_rules(self, base: str, rules: str) -> None:
        """Record new rules that change nothing in the sent part of a stream."""
        self._db.execute("update sent set rules = ? where base = ?", (rules, base))

    def drop_stream(self, base: str) -> None:
        """Schedule the content of a stream for removal from the remote."""
        self._db.execute("insert or ignore into unwanted select stream from sent where base = ?", (base,))
        self._db.execute("delete from sent where base = ?", (base,))
        self._db.execute("delete from left_there where base = ?", (base,))

    def left_there(self) -> set[str]:
        """Return the streams that may not leave any more, but that the user leaves on the remote."""
        return {row[0] for row in self._db.execute("select base from left_there")}

    def leave_there(self, bases: Iterable[str]) -> None:
        """Record that the user leaves these streams on the remote."""
        self._db.executemany("insert or ignore into left_there values (?)", [(base,) for base in bases])

    def ask_again(self, leaving: Set[str]) -> None:
        """Unmark streams that may leave now: if they are withheld again, the user is asked again."""
        again = [(base,) for base in self.left_there() & leaving]
        self._db.executemany("delete from left_there where base = ?", again)

    def incomplete(self) -> set[str]:
        """Return the streams, by id in generation 0, of which a segment was written again without its content."""
        return {row[0] for row in self._db.execute("select base from incomplete")}

    def note_incomplete(self, bases: Iterable[str]) -> None:
        """Record streams with content that could not be written again: it may not leave, or is not in the archive."""
        self._db.executemany("insert or ignore into incomplete values (?)", [(base,) for base in bases])

    def note_unwanted(self, streams: Iterable[str]) -> None:
        """Record streams whose content is on the remote, and must be removed."""
        self._db.executemany("insert or ignore into unwanted values (?)", [(stream,) for stream in streams])

    def unwanted(self) -> set[str]:
        """Return the streams whose content is still to be removed from the remote."""
        return {row[0] for row in self._db.execute("select stream from unwanted")}

    def note_removed(self, streams: Iterable[str]) -> None:
        """Record that the content of these streams was removed."""
        self._db.executemany("delete from unwanted where stream = ?", [(stream,) for stream in streams])

    def segments_in(self, bundle: int) -> list[SentSegmentRow]:
        """Return the segments of a bundle, in order."""
        return self._segments("bundle = ? order by place", bundle)

    def segments_of(self, stream: str) -> list[SentSegmentRow]:
        """Return the segments of a stream, in order."""
        return self._segments("stream = ? order by number", stream)

    def _segments(self, which: str, value: object) -> list[SentSegmentRow]:
        query = f"select stream, number, size, head, source, is_end from segment where {which}"  # noqa: S608
        rows = self._db.execute(query, (value,))
        return [SentSegmentRow(row[0], row[1], Head(row[1] + 1, row[2], row[3]), row[4], bool(row[5])) for row in rows]

    def bundle_of(self, segment: SentSegmentRow) -> int:
        """Return the number of the bundle that has a segment; 0 if none does."""
        query = "select bundle from segment where stream = ? and number = ?"
        row = self._db.execute(query, (segment.stream, segment.number)).fetchone()
        return int(row[0]) if row else 0

    def bundles_with(self, streams: Iterable[str]) -> set[int]:
        """Return the numbers of the bundles that have segments of these streams."""
        numbers: set[int] = set()
        for stream in streams:
            numbers.update(row[0] for row in self._db.execute("select bundle from segment where stream = ?", (stream,)))
        return numbers

    def suppressed(self) -> set[str]:
        """Return the hashes of forgotten files that were sent."""
        return {row[0] for row in self._db.execute("select key from suppressed")}

    def suppressed_in(self, bundle: int) -> list[str]:
        """Return the hashes of forgotten files in a bundle, in order."""
        return sorted(row[0] for row in self._db.execute("select key from suppressed where bundle = ?", (bundle,)))

    # Taken streams

    def pulled(self, device: str) -> tuple[str, int, str]:
        """Return the log of a device, and the number and hash of the last bundle taken from it."""
        row = self._db.execute("select log, number, hash from pulled where device = ?", (device,)).fetchone()
        return (row[0], row[1], row[2]) if row else ("", 0, NO_BUNDLE)

    def begin_pulling(self, device: str, log: str) -> None:
        """Begin with a new log of a device. Taken content stays in the archive, and is recognised by its bytes."""
        self._db.execute("delete from received where device = ?", (device,))
        self._db.execute("delete from skipped where device = ?", (device,))
        self.proof.begin(device)
        self.gaps.forget(device)
        self._db.execute("insert or replace into pulled values (?, ?, 0, ?)", (device, log, NO_BUNDLE))

    def note_pulled(self, device: str, number: int, bundle_hash: str) -> None:
        """Record that a bundle of another device is in the archive."""
        self._db.execute("update pulled set number = ?, hash = ? where device = ?", (number, bundle_hash, device))
        self.proof.note_taken(device, number, bundle_hash)

    def note_skipped(self, device: str, base: str, kind: str, number: int, bundle_hash: str) -> bool:
        """Record that a file of unknown kind was left out after this bundle; return whether that is new."""
        row = (device, base, kind, number, bundle_hash)
        return self._db.execute("insert or ignore into skipped values (?, ?, ?, ?, ?)", row).rowcount > 0

    def skipped(self, device: str) -> int:
        """Count the files of a device that were left out because their kind was unknown."""
        return int(self._db.execute("select count(*) from skipped where device = ?", (device,)).fetchone()[0])

    def can_return(self, device: str, kinds: Iterable[str]) -> bool:
        """Whether files of one of these kinds were left out."""
        rows = self._db.execute("select distinct kind from skipped where device = ?", (device,))
        return not {row[0] for row in rows}.isdisjoint(kinds)

    def return_to_skipped(self, device: str) -> None:
        """Take bundles again, from the first with a file that was left out."""
        query = "select number, hash from skipped where device = ? order by number limit 1"
        self.note_pulled(device, *self._db.execute(query, (device,)).fetchone())
        self._db.execute("delete from skipped where device = ?", (device,))

    def note_seen(self, devices: Iterable[SeenDevice]) -> None:
        """Record the devices on the remote, so that they can be listed without asking it again."""
        known = {seen_device.device: seen_device.machine for seen_device in self.seen()}
        self._db.execute("delete from seen")
        for seen_device in devices:
            row = seen_device._replace(machine=seen_device.machine or known.get(seen_device.device, ""))
            self._db.execute("insert into seen values (?, ?, ?, ?, ?)", row)

    def note_machine(self, device: str, machine: str) -> None:
        """Record the name of a device's machine."""
        self._db.execute("update seen set machine = ? where device = ? and machine <> ?", (machine, device, machine))

    def seen(self) -> list[SeenDevice]:
        """Return the devices in the last listing."""
        rows = self._db.execute("select device, machine, log, bundles, size from seen order by device")
        return [SeenDevice(*row) for row in rows]

    def received(self, device: str, stream: str) -> ReceivedStream | None:
        """Return the taken part of a stream; None if nothing was taken."""
        query = (
            "select version, segments, size, head, machine, first, generation, source, rules from received"
            " where device = ? and stream = ?"
        )
        row = self._db.execute(query, (device, stream)).fetchone()
        return ReceivedStream(row[0], Head(*row[1:4]), *row[4:]) if row else None

    def generations(self, device: str, base: str) -> set[tuple[str, int]]:
        """Return the streams taken of a file, each by its id in its first generation, and its generation."""
        return set(
            self._db.execute("select first, generation from received where device = ? and base = ?", (device, base))
        )

    def received_bytes(self, device: str) -> int:
        """Count the bytes taken from a device, and not removed since."""
        row = self._db.execute("select coalesce(sum(size), 0) from received where device = ?", (device,)).fetchone()
        return int(row[0])

    def received_versions(self, device: str, base: str) -> set[int]:
        """Return the versions of a file in the archive that streams were taken into; `base` names the file."""
        rows = self._db.execute("select version from received where device = ? and base = ?", (device, base))
        return {row[0] for row in rows}

    def note_received(self, device: str, base: str, stream: str, taken: ReceivedStream) -> None:
        """Record that a segment is in the archive."""
        self._db.execute(
            "insert or replace into received values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (device, stream, base, taken.version, *taken.head, *taken[2:]),
        )

    def regenerated(self, device: str) -> list[list[StreamInArchive]]:
        """Return the streams that are here in several generations, each with its generations in order."""
        rows = self._db.execute(
            "select stream, first, base, machine, version, size, source, rules from received where device = ?1"
            " and first in (select first from received where device = ?1 group by first having count(*) > 1)"
            " order by first, generation",
            (device,),
        )
        streams = [StreamInArchive(*row) for row in rows]
        return [[*group] for _, group in itertools.groupby(streams, key=lambda stream: stream.first)]

    def in_archive(self, device: str, stream: str) -> StreamInArchive | None:
        """Return a taken stream; None if it was not taken, or a later generation of it was."""
        row = self._db.execute(
            "select stream, first, base, machine, version, size, source, rules from received r where device = ?1"
            " and stream = ?2 and not exists (select 1 from received later where later.device = r.device"
            " and later.first = r.first and later.generation > r.generation)",
            (device, stream),
        ).fetchone()
        return StreamInArchive(*row) if row else None

    def looked(self, device: str) -> set[str]:
        """Return the objects of a device that were searched for withdrawn content."""
        return {row[0] for row in self._db.execute("select name from looked where device = ?", (device,))}

    def note_looked(self, device: str, names: Iterable[str]) -> None:
        """Record all objects that were searched for withdrawn content."""
        self._db.execute("delete from looked where device = ?", (device,))
        self._db.executemany("insert or ignore into looked values (?, ?)", [(device, name) for name in names])

    def note_version(self, device: str, stream: str, version: int) -> None:
        """Record that a stream is in another version of its file now."""
        self._db.execute("update received set version = ? where device = ? and stream = ?", (version, device, stream))

    def forget_received(self, device: str, stream: str) -> None:
        """Drop a stream that was replaced and whose bytes are gone."""
        self._db.execute("delete from received where device = ? and stream = ?", (device, stream))

    def forget_device(self, device: str) -> None:
        """Drop everything about a device."""
        for table in ("pulled", "received", "looked", "seen", "skipped"):
            self._db.execute(f"delete from {table} where device = ?", (device,))  # noqa: S608 - fixed names
        self.proof.forget(device)
        self.gaps.forget(device)

    def _make(self) -> None:
        self._db.executescript(f"""
            begin;
            {"".join(f"drop table if exists {name};" for name in TABLES)}
            {"".join(f"create table {name} ({columns}) strict, without rowid;" for name, columns in TABLES.items())}
            create index segment_bundle on segment (bundle);
            create index received_base on received (device, base);
            create index received_first on received (device, first);
            pragma user_version = {SCHEMA};
            commit;
        """)


LATER_TABLES: Final = {
    "left_there": "base text primary key",
    "looked": "device text, name text, primary key (device, name)",
    "seen": "device text primary key, machine text, log text, bundles integer, size integer",
    "incomplete": "base text primary key",
    "signed": "number integer primary key",
    "stored": COLUMNS,
    "skipped": "device text, base text, kind text, number integer, hash text, primary key (device, base)",
    **PROOF_TABLES,
    **GAP_TABLES,
}
"""Tables that a state of an earlier version does not have."""
TABLES: Final = {
    "bundle": "number integer primary key, hash text not null",
    "sent": "base text primary key, generation integer, stream text, segments integer, size integer, head text, "
    "source integer, is_end integer, rules text, keys text",
    "segment": "stream text, number integer, bundle integer, place integer, size integer, head text, "
    "source integer, is_end integer, primary key (stream, number)",
    "suppressed": "key text primary key, bundle integer",
    "log": "name text primary key",
    "unwanted": "stream text primary key",
    "pulled": "device text primary key, log text, number integer, hash text",
    "received": "device text, stream text, base text, version integer, segments integer, size integer, head text, "
    "machine text, first text, generation integer, source integer, rules text, "
    "primary key (device, stream)",
}
