"""Damage a database of early clients in every way, and check that reading it neither fails nor stalls.

    python -m bench.fuzz_database --inputs 5000 --seed 1 [--keep FOLDER]

Each input is `__store.db` with bytes flipped, pages overwritten or swapped, its end cut off, its header or its schema
changed, or a log beside it. Listing, reading and copying it may say why something cannot be read (an OSError), and
nothing else; they leave the folder as it was, and every line that they give can be decoded.
"""

import argparse
import os
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from tests.support.early import MIGRATIONS, give_title, talk, write_database

from backscroll.files.discovery import HomeFile, discover
from backscroll.files.early_database import copy_database
from backscroll.files.early_sessions import CACHE
from backscroll.files.homes import Home
from backscroll.files.inside import find_inside
from backscroll.records.decode import decode_all
from backscroll.records.record import Record
from bench.fuzz import BrokenPromiseError

NAME: Final = "__store.db"
PAGE: Final = 4096
CPU_LIMIT: Final = 5.0
"""Seconds for one input."""
STATEMENTS: Final = (
    "DROP TABLE user_messages",
    "ALTER TABLE base_messages RENAME COLUMN uuid TO id",
    "ALTER TABLE assistant_messages DROP COLUMN message",
    "CREATE TABLE more (x); INSERT INTO more VALUES (1)",
    "DROP TABLE base_messages; CREATE VIEW base_messages AS SELECT 1 AS uuid, 2 AS session_id, 3 AS timestamp",
    "DROP TABLE base_messages; CREATE TABLE base_messages (uuid, session_id, timestamp)",
    "UPDATE base_messages SET uuid = x'ff00' || rowid, session_id = NULL, parent_uuid = 7",
    "UPDATE user_messages SET message = zeroblob(100000)",
    "UPDATE assistant_messages SET message = '{\"content\": [' || message, cost_usd = 'much', timestamp = -1e300",
    "UPDATE base_messages SET timestamp = 9223372036854775807, parent_uuid = uuid",
    "UPDATE base_messages SET rowid = rowid - 5",
    "UPDATE base_messages SET rowid = rowid + 4611686018427387904",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA user_version = 99; PRAGMA application_id = 7",
    "PRAGMA auto_vacuum = FULL; VACUUM",
    "PRAGMA page_size = 512; VACUUM",
)
"""What no client does, in tables that SQLite finds sound."""


@dataclass
class DatabaseOutcome:
    """The findings of a run so far."""

    inputs: int = 0
    lines: int = 0
    said: Counter[str] = field(default_factory=Counter)
    """The reasons that were given, and how often."""
    slowest: float = 0.0
    slowest_input: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """By what went wrong and where: the first input that shows it."""


def sound_databases(folder: Path) -> list[bytes]:
    """Databases to damage: of the first and the last migration, small and with messages longer than a page."""
    found = []
    for migrations in (0, len(MIGRATIONS)):
        for length in (20, 3000):
            rows = [
                row
                for name in ("a", "b", "c")
                for row in talk(name, *(f"{name} {at} " + "zebra " * (length // 6) for at in range(8)))
            ]
            path = write_database(folder / f"{migrations}-{length}.db", rows, migrations=migrations)
            if migrations:
                give_title(path, "nowhere", "A title of nothing")
            found.append(path.read_bytes())
    return found


def make(sound: Sequence[bytes], seed: int, number: int, home: Path) -> None:
    """Write the input with this number into a home."""
    rng = Random(f"{seed} {number}")
    path = home / NAME
    for suffix in ("", "-wal", "-journal"):
        path.with_name(NAME + suffix).unlink(missing_ok=True)
    path.write_bytes(rng.choice(sound))
    if rng.random() < 0.3:
        with closing(sqlite3.connect(path)) as database:
            for statement in rng.sample(STATEMENTS, rng.choice((1, 1, 2))):
                try:
                    database.executescript(statement)
                except sqlite3.Error:
                    continue  # the one before has removed what it is about
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _damage(data, rng)
    path.write_bytes(data)
    if rng.random() < 0.15:
        size = rng.choice((0, 31, 32, 512, 8192))
        path.with_name(NAME + rng.choice(("-wal", "-journal"))).write_bytes(rng.randbytes(size))


def _damage(data: bytearray, rng: Random) -> None:
    """One thing that happens to a file."""
    pages = max(1, len(data) // PAGE)
    at = rng.randrange(max(1, len(data)))
    page = rng.randrange(pages) * PAGE
    match rng.randrange(8):
        case 0:  # bits flip
            for _ in range(rng.choice((1, 5, 40, 400))):
                if data:
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:  # in the header, which says how all of it is to be read
            for _ in range(rng.choice((1, 3))):
                if len(data) > 100:
                    data[rng.randrange(100)] = rng.randrange(256)
        case 2:  # in the header of a page, and its pointers to cells
            for _ in range(rng.choice((1, 8))):
                if page + 40 < len(data):
                    data[page + rng.randrange(40)] = rng.randrange(256)
        case 3:  # a page is lost
            data[page : page + PAGE] = bytes([rng.choice((0, 0xA5, 0xFF))]) * len(data[page : page + PAGE])
        case 4:  # two pages are exchanged
            other = rng.randrange(pages) * PAGE
            data[page : page + PAGE], data[other : other + PAGE] = (
                data[other : other + PAGE],
                data[page : page + PAGE],
            )
        case 5:  # it breaks off
            del data[at:]
        case 6:  # something is lost, or said twice, so that all behind it moves
            data[at:at] = data[at : at + rng.choice((1, 17, PAGE))]
            del data[at : at + rng.choice((0, 3, PAGE))]
        case _:  # the schema says something else
            name = rng.choice((b"uuid", b"session_id", b"text", b"CREATE TABLE", b"message", b"base_messages"))
            if (found := data.find(name)) >= 0:
                data[found : found + len(name)] = rng.randbytes(len(name))


class DatabaseChecker:
    """Holds one input at a time against what the reader promises."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.outcome = DatabaseOutcome()

    def check(self, number: int) -> str | None:
        """Read what is in the home now; what went wrong, if anything did."""
        outcome = self.outcome
        started = time.process_time()
        failure = self._failure()
        seconds = time.process_time() - started
        outcome.inputs += 1
        if seconds > outcome.slowest:
            outcome.slowest, outcome.slowest_input = seconds, number
        if failure is None and seconds > CPU_LIMIT:
            failure = f"slow: more than {CPU_LIMIT} s for one input"
        if failure is not None:
            outcome.failures.setdefault(failure, number)
        return failure

    def _failure(self) -> str | None:
        before = _snapshot(self._home)
        try:
            self._read()
            if _snapshot(self._home) != before:
                raise BrokenPromiseError("the folder has changed")
        except Exception as error:  # whatever it is, it is what we are looking for
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "backscroll" in frame.filename] or frames
            return f"{type(error).__name__} in {Path(ours[-1].filename).name} {ours[-1].name}: {str(error)[:200]}"
        return None

    def _read(self) -> None:
        CACHE.clear()
        found = discover(Home(self._home)).files
        (database,) = [file for file in found if file.relative == NAME]
        for session in find_inside(database):
            if not isinstance(session, HomeFile):
                self.outcome.said[_said(session.reason)] += 1
                continue
            try:
                with session.open() as reading:
                    for line in reading:
                        self._decode(line.data or b"")
                        # It need not be the same: where rows are out of order, SQLite may find another by itself.
                        self._decode(reading.read(line.start, line.end - 1).rstrip(b"\n"))
            except OSError as error:
                self.outcome.said[_said(error.strerror or str(error))] += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                copy = copy_database(database.path, Path(folder))
            except OSError as error:
                self.outcome.said[_said(f"no copy: {error.strerror}")] += 1
                return
            with closing(sqlite3.connect(copy)) as opened:
                if opened.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                    raise BrokenPromiseError("a copy that is damaged")

    def _decode(self, line: bytes) -> None:
        self.outcome.lines += 1
        if b"\n" in line:
            raise BrokenPromiseError("a line has a newline in it")
        for item in decode_all(line):
            if isinstance(item, Record):
                repr(item).encode()


def _said(reason: str) -> str:
    """A reason without what differs from one database to the next."""
    return "".join("0" if letter.isdigit() else letter for letter in reason)[:80]


def _snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}


def run(folder: Path, seed: int, first: int, inputs: int) -> DatabaseOutcome:
    """Check the inputs with these numbers."""
    sound = sound_databases(folder)
    home = folder / "home"
    home.mkdir()
    checker = DatabaseChecker(home)
    for number in range(first, first + inputs):
        make(sound, seed, number, home)
        _settle(home)
        if failure := checker.check(number):
            print(f"input {number}: {failure}", flush=True)
        if (number + 1) % 1000 == 0:
            print(f"{number + 1:,} inputs", flush=True)
    return checker.outcome


def _settle(home: Path) -> None:
    """Give the files a past: what was just written is copied only once it has come to rest."""
    for path in home.iterdir():
        os.utime(path, ns=(1_760_000_000_000_000_000,) * 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench fuzz_database", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the first input there, and check nothing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            make(sound_databases(Path(folder)), options.seed, options.first, options.keep)
            return 0
        outcome = run(Path(folder), options.seed, options.first, options.inputs)
    print(f"inputs: {outcome.inputs:,}, of which {outcome.lines:,} lines were read")
    for reason, count in outcome.said.most_common(12):
        print(f"  {count:6,}  {reason}")
    print(f"slowest input: {outcome.slowest * 1000:.0f} ms CPU (number {outcome.slowest_input})")
    print(f"failures: {len(outcome.failures)}")
    for failure, number in outcome.failures.items():
        print(f"  {failure}\n    --seed {options.seed} --first {number} --inputs 1")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
