"""The SQLite file of rows: create it, open it, and examine its header."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Final

import apsw
import msgspec

from backscroll.disk import open_own, read_at
from backscroll.errors import storage_error
from backscroll.store.base import DamagedStoreError, SqlView
from backscroll.store.local.checksums import SUM_BYTES, load_checksums
from backscroll.store.local.faults import fault_of, why_not_opened
from backscroll.store.local.schema import APPLICATION, TABLES, VERSION, VIEWS
from backscroll.store.local.truncated import HEAD, is_truncated
from backscroll.store.sql.statements import select

PATIENCE_MS: Final = 5_000
SUM_BYTES_AT: Final = 20
PRAGMAS: Final = ("cache_size = -8192", "temp_store = memory")
MAGIC: Final = b"SQLite format 3\0"


class RowsFileState(Enum):
    """Whether this version can use a file of rows."""

    MISSING = auto()
    OURS = auto()
    OLDER = auto()
    NEWER = auto()
    DAMAGED = auto()


def connect(path: Path, *, write: bool) -> apsw.Connection:
    """Open the file, which must be one of ours."""
    load_checksums()
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    try:
        connection = apsw.Connection(str(path), flags=flags)
    except apsw.CantOpenError as error:
        raise (why_not_opened(path) or error) from error
    connection.set_busy_timeout(PATIENCE_MS)
    for pragma in PRAGMAS:  # one by one: apsw stops at the first that returns a row
        connection.execute(f"pragma {pragma}")
    return connection


def examine(path: Path) -> RowsFileState:
    """Return the state of the file by its header. A system error is raised: it says nothing about the file."""
    try:
        with open_own(path) as file:
            head = read_at(file.fileno(), 0, HEAD)
        is_cut = head.startswith(MAGIC) and is_truncated(path)
    except (FileNotFoundError, NotADirectoryError):
        return RowsFileState.MISSING
    except OSError as error:
        raise storage_error(error, f"cannot open {path}") from error
    application, version = (int.from_bytes(head[at : at + 4], "big") for at in (68, 60))
    if is_cut or len(head) < HEAD or not head.startswith(MAGIC) or application != APPLICATION:
        return RowsFileState.DAMAGED
    if version == VERSION:
        # With other room for checksums than the file was created with, no checksum would be compared.
        return RowsFileState.OURS if head[SUM_BYTES_AT] == SUM_BYTES or not load_checksums() else RowsFileState.DAMAGED
    if version < VERSION:
        return RowsFileState.OLDER
    return RowsFileState.DAMAGED if _is_first_page_damaged(path) else RowsFileState.NEWER


def _is_first_page_damaged(path: Path) -> bool:
    """Whether the version in the header may not be the one that was written."""
    try:
        connection = connect(path, write=False)
        try:
            connection.execute("select count(*) from sqlite_schema").fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        return isinstance(fault_of(error), DamagedStoreError)
    return False


def remove(path: Path) -> None:
    """Remove a database file with its journal files."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}-journal")):
        name.unlink(missing_ok=True)


def create(path: Path) -> None:
    """Create an empty store, all at once: a file with this name is complete."""
    fresh = path.with_name(path.name + ".new")
    remove(fresh)
    os.close(os.open(fresh, os.O_CREAT | os.O_RDWR, 0o600))
    connection = connect(fresh, write=True)
    if load_checksums():
        connection.reserve_bytes("main", SUM_BYTES)
    connection.execute(f"begin; {TABLES} {VIEWS} commit")
    connection.execute(f"pragma application_id = {APPLICATION}; pragma user_version = {VERSION}")
    connection.execute("pragma journal_mode = wal")
    connection.close()
    fresh.replace(path)


def check_pages(connection: apsw.Connection, *, deep: bool = False) -> None:
    """Read every page; `deep` also compares the indexes with their tables. Raises DamagedStoreError."""
    results = connection.execute(f"pragma {'integrity' if deep else 'quick'}_check(1)").fetchall()
    if results != [("ok",)]:
        raise DamagedStoreError(str(results[0][0]))


def views(connection: apsw.Connection) -> list[SqlView]:
    """Return the views, by name."""
    statement = (
        "select v.name, json_group_array(c.name order by c.cid) from sqlite_schema v join pragma_table_info(v.name) c"
        " where v.type = 'view' group by v.name order by v.name"
    )
    return [
        SqlView(name, msgspec.json.decode(columns, type=list[str])) for name, columns in select(connection, statement)
    ]


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run all statements in it as one transaction, or none."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:  # after some errors SQLite has rolled back by itself
            connection.execute("rollback")
        raise


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Let all statements in it read the same state."""
    is_outer = not connection.in_transaction
    if is_outer:
        connection.execute("begin")
    try:
        yield
    finally:
        if is_outer and connection.in_transaction:  # after some errors SQLite has rolled back by itself
            connection.execute("rollback")


@contextmanager
def limited(connection: apsw.Connection, is_over: Callable[[], bool]) -> Iterator[None]:
    """Interrupt statements inside the block once `is_over` returns true."""
    connection.set_progress_handler(is_over, 10_000)
    try:
        yield
    finally:
        connection.set_progress_handler(None)
