"""An error of an engine or of the system is told plainly, and never taken for damage: a sound index stays."""

import errno
import hashlib
import multiprocessing
import os
import resource
import shutil
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import apsw
import pytest

from backscroll.errors import (
    BackscrollError,
    Busy,
    DiskFull,
    NewerVersion,
    NoPermission,
    OutOfMemory,
    StorageError,
    TooManyOpenFiles,
)
from backscroll.store.base import DamagedStoreError
from backscroll.store.local.database import connect
from backscroll.store.local.faults import fault_of
from tests.library.support import Shelf, local_store
from tests.support.homes import session_file

SQLITE: Final = {
    apsw.SQLITE_FULL: DiskFull,
    apsw.SQLITE_BUSY: Busy,
    apsw.SQLITE_BUSY_SNAPSHOT: Busy,
    apsw.SQLITE_LOCKED: Busy,
    apsw.SQLITE_NOMEM: OutOfMemory,
    apsw.SQLITE_IOERR_NOMEM: OutOfMemory,
    apsw.SQLITE_IOERR_READ: StorageError,
    apsw.SQLITE_IOERR_FSYNC: StorageError,
    apsw.SQLITE_CANTOPEN: StorageError,
    apsw.SQLITE_PROTOCOL: StorageError,
    apsw.SQLITE_READONLY: NoPermission,
    apsw.SQLITE_CORRUPT: DamagedStoreError,
    apsw.SQLITE_NOTADB: DamagedStoreError,
    apsw.SQLITE_IOERR_DATA: DamagedStoreError,
}
TANTIVY: Final = {
    "An IO error occurred: 'No space left on device (os error 28)'": DiskFull,
    "Failed to open file for read: 'IoError { io_error: Os { code: 24, kind: Uncategorized } }'": TooManyOpenFiles,
    "An IO error occurred: 'Input/output error (os error 5)'": StorageError,
    "An IO error occurred: 'Cannot allocate memory (os error 12)'": OutOfMemory,
    "An error occurred in a thread: 'An index writer was killed.'": StorageError,
    "Path exists but is not a directory: '/library/index/000001/text'.": StorageError,  # it could not be looked at
    'Failed to acquire Lockfile: LockBusy. Some("…")': Busy,
    "Failed to open file for read: 'FileDoesNotExist(\"a.term\")'": DamagedStoreError,
    "An IO error occurred: 'Unsupported dictionary type, found 4294967295'": DamagedStoreError,
    "Data corrupted: 'Data corruption: Footer magic byte mismatch'": DamagedStoreError,
}


@pytest.mark.parametrize(("code", "kind"), SQLITE.items(), ids=lambda value: str(value))
def test_sqlite_errors_are_distinguished(code: int, kind: type[BackscrollError]) -> None:
    assert type(fault_of(apsw.exception_for(code))) is kind


@pytest.mark.parametrize(("message", "kind"), TANTIVY.items(), ids=range(len(TANTIVY)))
def test_errors_of_the_text_engine_are_distinguished(message: str, kind: type[BackscrollError]) -> None:
    assert type(fault_of(ValueError(message))) is kind


def test_a_mistake_of_ours_is_no_fault_of_an_engine() -> None:
    assert fault_of(ValueError("invalid literal for int()")) is None
    assert fault_of(apsw.exception_for(apsw.SQLITE_ERROR)) is None


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    for number in range(3):
        shelf.write(session_file(f"Z{number}", f"a{number} <- - user: a zebra {number}"))
    shelf.update()
    return shelf


def contents(shelf: Shelf) -> dict[str, str]:
    """What the index in use is, byte for byte."""
    names = [shelf.index / "current", shelf.generation / "rows.sqlite", *(shelf.generation / "text").glob("*.*")]
    return {str(name): hashlib.sha256(name.read_bytes()).hexdigest() for name in names if name.suffix != ".lock"}


def test_an_index_of_a_later_version_is_left_as_it_is(shelf: Shelf) -> None:
    connection = connect(shelf.generation / "rows.sqlite", write=True)
    connection.execute("pragma user_version = 9999")
    connection.close()
    before = contents(shelf)
    with shelf.open() as library:
        for ask in (library.update, library.rebuild, lambda: library.search("zebra"), library.chats):
            with pytest.raises(NewerVersion) as told:
                ask()
            assert "update backscroll" in told.value.hint
    assert contents(shelf) == before


def test_a_full_disk_is_reported_and_nothing_is_thrown_away(shelf: Shelf) -> None:
    generation = shelf.generation
    with shelf.open() as library:
        store = local_store(library).start_writing()
        pages = store.connection.pragma("page_count")
        store.connection.pragma("max_page_count", pages)
        with pytest.raises(DiskFull):
            store.note("large", "x" * 100_000)
    shelf.update()
    assert shelf.generation == generation
    assert shelf.total("role:prompt zebra") == 3


OTHER_FILES: Final = "BackscrollError"
"""What is said of pins, tags and notes that cannot be read."""


def with_few_descriptors(root: Path, answers: Connection) -> None:
    """Search and update with 0, 1, 2 … descriptors left, until there are enough."""
    shelf = Shelf(root)
    shelf.total("role:prompt zebra")  # what is loaded once needs descriptors too
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen: list[str] = []
    for ask in (lambda: shelf.total("zebra"), shelf.update):
        for spare in range(60):
            lowest = os.dup(0)
            os.close(lowest)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + spare, usual[1]))
            try:
                ask()
                seen.append("answered")
            except BackscrollError as error:
                seen.append(type(error).__name__)
            except OSError as error:
                seen.append("TooManyOpenFiles" if error.errno == errno.EMFILE else repr(error))
            except BaseException as error:
                seen.append(repr(error))
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    answers.send(seen)


def test_without_descriptors_nothing_is_rebuilt(shelf: Shelf) -> None:
    before, generation = contents(shelf), shelf.generation
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=with_few_descriptors, args=(shelf.root, sender))
    child.start()
    sender.close()
    seen = receiver.recv()
    child.join()
    assert (
        {"answered", "TooManyOpenFiles"} <= set(seen) <= {"answered", "TooManyOpenFiles", "StorageError", OTHER_FILES}
    )
    assert shelf.generation == generation
    assert contents(shelf).items() >= {name: digest for name, digest in before.items() if "rows" not in name}.items()
    shelf.update()
    assert shelf.total("role:prompt zebra") == 3


def test_a_file_that_cannot_be_read_is_no_damage(shelf: Shelf) -> None:
    """A folder stands in for it: reading that is refused to every user, root too."""
    rows = shelf.generation / "rows.sqlite"
    away = rows.with_name("away")
    rows.rename(away)
    rows.mkdir()
    generation = shelf.generation
    for ask in (shelf.update, lambda: shelf.found("zebra")):
        with pytest.raises(StorageError):
            ask()
    assert shelf.generation == generation
    assert (generation / "text").is_dir()
    shutil.rmtree(rows)
    away.rename(rows)
    assert shelf.total("role:prompt zebra") == 3
