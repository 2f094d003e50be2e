"""Detect cheaply whether a SQLite database changed: by times and sizes of its files, and SQLite's own counters.

Times alone do not show every change: a file system may record them in steps of two seconds, and a copy may set them
back. SQLite counts the transactions in the header of a database, and gives its log another header whenever it starts
over, so both headers are part of the stamp.
"""

import os
import stat
import zlib
from pathlib import Path
from typing import Final

from backscroll.disk import read_at
from backscroll.files.opening import open_regular

BESIDE: Final = ("-wal", "-journal")
"""The suffixes of files that SQLite keeps next to a database as a part of it."""
COUNTER: Final = slice(24, 28)
"""The bytes in the header of a database with the number of transactions that changed it."""
LOG_HEADER: Final = 32
Stamp = tuple[tuple[int, ...], ...]


def stamp_of(path: Path) -> Stamp:
    """Return the state of a database's files; if it differs, the database may have changed."""
    return ((change_sign(path),), *(_status(path.with_name(path.name + suffix)) for suffix in ("", *BESIDE)))


def change_sign(path: Path) -> int:
    """Return a number that differs after every change, whatever the clock says; 0 if there is no such database."""
    counter = int.from_bytes(_head(path, COUNTER.stop)[COUNTER], "big")
    return counter + zlib.crc32(_head(path.with_name(f"{path.name}-wal"), LOG_HEADER))


def _head(path: Path, size: int) -> bytes:
    try:
        descriptor = open_regular(path)
    except OSError:
        return b""
    try:
        return read_at(descriptor, 0, size)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.lstat()
    except OSError:
        return ()
    if not stat.S_ISREG(status.st_mode):
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
