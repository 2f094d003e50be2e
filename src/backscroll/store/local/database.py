"""The SQLite file: opening it, setting aside one that cannot be used, and the lock of the one who writes."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from backscroll.disk import FileLock, private_folder
from backscroll.store.batches import storable
from backscroll.store.local.schema import APPLICATION, TABLES, VERSION, VIEWS

PATIENCE_MS: Final = 5_000


def connect(path: Path, *, write: bool) -> apsw.Connection:
    """Open the file, which must be one of ours."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(PATIENCE_MS)
    connection.execute("pragma mmap_size = 134217728; pragma cache_size = -65536; pragma temp_store = memory")
    return connection


def is_ours(path: Path) -> bool:
    """Whether the file is a whole store of this version."""
    if not path.exists():
        return False
    try:
        connection = connect(path, write=False)
        try:
            application, version = connection.pragma("application_id"), connection.pragma("user_version")
            # Reads the first pages of every table: enough to notice a file that was cut or overwritten.
            connection.execute("select count(*) from sqlite_schema").fetchall()
            for table in ("files", "chats", "records", "blocks", "marks"):
                connection.execute(f"select * from {table} order by 1 desc limit 1").fetchall()  # noqa: S608
        finally:
            connection.close()
    except apsw.Error:
        return False
    return (application, version) == (APPLICATION, VERSION)


def is_older(path: Path) -> bool:
    """Whether the file is a store of an earlier version."""
    if not path.exists():
        return False
    try:
        connection = connect(path, write=False)
        try:
            application, version = connection.pragma("application_id"), connection.pragma("user_version")
        finally:
            connection.close()
    except apsw.Error:
        return False
    return application == APPLICATION and isinstance(version, int) and version < VERSION


def remove(path: Path) -> None:
    """Remove a file with what SQLite put beside it."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}-journal")):
        name.unlink(missing_ok=True)


def create(path: Path) -> None:
    """Make an empty store, all at once: a file that is there is whole."""
    fresh = path.with_name(path.name + ".new")
    remove(fresh)
    os.close(os.open(fresh, os.O_CREAT | os.O_RDWR, 0o600))
    connection = connect(fresh, write=True)
    connection.execute(f"begin; {TABLES} {VIEWS} commit")
    connection.execute(f"pragma application_id = {APPLICATION}; pragma user_version = {VERSION}")
    connection.execute("pragma journal_mode = wal")
    connection.close()
    fresh.replace(path)


def set_aside(path: Path) -> Path | None:
    """Move a file that we cannot use out of the way, with what SQLite put beside it; where it is now."""
    if not path.exists():
        return None
    number = 1
    while (target := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    for ending in ("-wal", "-shm"):
        beside = Path(f"{path}{ending}")
        if beside.exists():
            beside.replace(Path(f"{target}{ending}"))
    path.replace(target)
    return target


def select(connection: apsw.Connection, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
    """All rows that a statement gives."""
    return connection.execute(statement, values).fetchall()


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def write_lock(folder: Path) -> FileLock:
    """Held by the one process that writes."""
    hint = "wait for it, or stop it; reading and searching work meanwhile"
    return FileLock(private_folder(folder) / "lock", "another process is updating the library", hint)


@contextmanager
def limited(connection: apsw.Connection, is_over: Callable[[], bool]) -> Iterator[None]:
    """Stop whatever runs inside once `is_over` says so."""
    connection.set_progress_handler(is_over, 10_000)
    try:
        yield
    finally:
        connection.set_progress_handler(None)


def array(values: Iterable[Any]) -> str:
    """Values to be bound as one, for `json_each`."""
    listed = list(values)
    try:
        return msgspec.json.encode(listed).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode([plainly(value) for value in listed]).decode()


def plainly(value: Any) -> Any:  # noqa: ANN401
    """The value with every text in it as the engine takes it."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [plainly(part) for part in value]
    if isinstance(value, dict):
        return {plainly(name): plainly(part) for name, part in value.items()}
    return value


def identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another one that stands in its place."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
