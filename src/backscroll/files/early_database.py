"""Open `__store.db`, the database of Claude Code 0.2.90 to 0.2.100, without changing anything next to it.

A client may have it open. A read-only connection takes SQLite's shared lock for one short statement at a time, for
which a client waits. Where even reading would write (a WAL, whose index SQLite creates next to the database; a journal
that a crash left, which has to be rolled back), the files are copied to a private folder first and opened there.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from backscroll.disk import read_at, temporary_folder
from backscroll.files.database_stamp import BESIDE, stamp_of
from backscroll.files.opening import open_regular

MAGIC: Final = b"SQLite format 3\0"
WAL_MODE: Final = 2
LOCK_SECONDS: Final = 2.0
"""The time to wait for a client that is writing."""
PAGES_AT_ONCE: Final = 256
"""The number of pages copied under one lock: about a millisecond."""
ATTEMPTS: Final = 5
TICK_NS: Final = 20_000_000
LONGEST_VALUE: Final = 256 * 1024 * 1024

DAMAGE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors that SQLite's module raises for a damaged page; the second, if its message has a damaged name in it."""
PASSING: Final = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
}
"""Errors that say nothing about the file: it may be intact, and is read the next time."""


class DatabaseError(OSError):
    """A database that cannot be read, with the reason in words."""

    def __init__(self, reason: str, number: int = errno.EIO) -> None:
        super().__init__(number, reason)


@contextlib.contextmanager
def open_database(path: Path, *, is_own: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a connection that reads, with texts as bytes. `is_own`: it is a copy, and nothing else uses it."""
    _check(path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(translated())
        if not is_own and needs_copy(path):
            path = copy_files(path, stack.enter_context(temporary_folder()))
            is_own = True
        yield stack.enter_context(_connected(path, writable=is_own))


def copy_database(path: Path, folder: Path) -> Path:
    """Copy a database consistently into one file, in a folder of our own. DatabaseError if that is not possible."""
    copy = folder / "copy.db"
    with open_database(path) as source, translated(), contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target, pages=PAGES_AT_ONCE, sleep=0.01, progress=_Patience())
        target.execute("PRAGMA journal_mode = DELETE")
        damage = [row[0] for row in target.execute("PRAGMA quick_check(1)")]
    if damage != ["ok"]:
        raise DatabaseError(f"it is damaged: {str(damage[0]).splitlines()[-1]}")
    return copy


def copy_files(path: Path, folder: Path) -> Path:
    """Copy the files of a database in a state in which nothing wrote to them. No lock is taken."""
    for attempt in range(ATTEMPTS):
        time.sleep(attempt * 0.05)
        before = stamp_of(path)
        newest = max((status[-1] for status in before[1:] if status), default=0)
        if 0 <= time.time_ns() - newest < TICK_NS:
            continue  # another write could leave it looking the same
        for suffix in ("", *BESIDE):
            source = path.with_name(path.name + suffix)
            target = folder / f"{path.name}{suffix}"
            target.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError), os.fdopen(open_regular(source), "rb") as data:
                _write(data, target)
        if stamp_of(path) == before:
            return folder / path.name
    raise DatabaseError("another program keeps writing to it", errno.EBUSY)


class OwnFolder:
    """A private folder for a copy, deleted once nothing refers to it, and at the latest when the program ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="backscroll-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _Patience:
    """Ends a backup that waits too long for a lock: Python's would wait for ever."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def __call__(self, status: int, _remaining: int, _total: int) -> None:
        if status not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            self._since = time.monotonic()
        elif time.monotonic() - self._since > LOCK_SECONDS:
            raise DatabaseError("another program has locked it", errno.EBUSY)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _as_error(error) from error
    except UnicodeDecodeError as error:  # in the message of an error about a damaged name
        raise DatabaseError("it is damaged") from error


def _write(data: BinaryIO, target: Path) -> None:
    with target.open("wb") as copy:
        shutil.copyfileobj(data, copy, 1024 * 1024)


def _check(path: Path) -> None:
    with os.fdopen(open_regular(path), "rb") as file:
        head = read_at(file.fileno(), 0, len(MAGIC))
    if head and head != MAGIC:
        raise DatabaseError("it is not a SQLite database")


def needs_copy(path: Path) -> bool:
    """Whether reading the database in place would write next to it."""
    with os.fdopen(open_regular(path), "rb") as file:
        head = read_at(file.fileno(), 0, 20)
    is_wal = len(head) == 20 and WAL_MODE in head[18:20]
    return is_wal or any(status and status[2] for status in stamp_of(path)[2:])


@contextlib.contextmanager
def _connected(path: Path, *, writable: bool) -> Iterator[sqlite3.Connection]:
    address = f"{path.absolute().as_uri()}?mode={'rw' if writable else 'ro'}"
    with contextlib.closing(
        sqlite3.connect(address, uri=True, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        yield connection


def raise_if_passing(error: Exception) -> None:
    """Raise an error that is not damage, so that nothing counts as read."""
    code = getattr(error, "sqlite_errorcode", 0)
    if isinstance(error, sqlite3.Error) and code & 0xFF in PASSING and code != sqlite3.SQLITE_IOERR_SHORT_READ:
        raise _as_error(error) from error


def _as_error(error: sqlite3.Error) -> DatabaseError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return DatabaseError("another program has locked it", errno.EBUSY)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DatabaseError("it is damaged")
    return DatabaseError(str(error))
