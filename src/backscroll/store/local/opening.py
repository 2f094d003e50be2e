"""An open index, for reading or for the one writing process, and its replacement by a new one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import apsw

from backscroll.disk import FileLock
from backscroll.errors import BackscrollError, NewerVersion, NothingFound, storage_error
from backscroll.store.base import DamagedStoreError
from backscroll.store.local.database import RowsFileState, check_pages, connect, create, examine
from backscroll.store.local.faults import translate_errors
from backscroll.store.local.generations import (
    ROWS,
    TEXT,
    identity,
    in_use,
    make_current,
    new_generation,
    remove_others,
    remove_unfinished,
    write_lock,
)
from backscroll.store.local.text import TextIndex
from backscroll.store.local.verified_files import VerifiedFiles
from backscroll.store.sql.statements import select

ATTEMPTS: Final = 20
"""The number of retries of a reader because the index was replaced while opening it."""


class OpenIndex:
    """The files of an index, opened on demand: for reading, and after `start_writing` for writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notices: list[str] = []
        self._lock: FileLock | None = None
        self._generation: Path | None = None
        self._identity: tuple[int, int] | None = None
        self._checked = VerifiedFiles(folder)
        self._is_beside = False
        """Whether the index being written is not in use yet."""
        self._is_sound = False
        """Whether this process writes an index that it has verified or created."""
        self._connection: apsw.Connection | None = None
        self._text: TextIndex | None = None

    @property
    def file(self) -> Path:
        """The file of the rows."""
        return (self._generation or in_use(self.folder) or self.folder) / ROWS

    @property
    def exists(self) -> bool:
        """Whether there is an index that this version can read."""
        try:
            return examine(self.file) is RowsFileState.OURS
        except DamagedStoreError:
            return False

    @property
    def connection(self) -> apsw.Connection:
        """The connection to the rows, opened on first use."""
        if self._connection is None:
            with translate_errors():
                self._connection = self._open()
        return self._connection

    @property
    def text(self) -> TextIndex:
        """The text index, opened on first use."""
        attempt = 0
        while self._text is None:
            attempt += 1
            _ = self.connection  # opens the same generation
            fault = None
            try:
                with translate_errors():
                    text = TextIndex(self.file.with_name(TEXT), self._checked, write=self._lock is not None)
            except BackscrollError as error:
                fault = error
            if self._lock is None and attempt < ATTEMPTS and self._is_replaced():
                self._let_go()  # perhaps its files were removed before, or while, they were opened
            elif fault is not None:
                raise fault
            else:
                with translate_errors():
                    self._check_fit(text)
                self._text = text
        return self._text

    def _check_fit(self, text: TextIndex) -> None:
        """Raise DamagedStoreError if the words do not belong to these rows: they would point at other passages."""
        stamp, documents = text.state  # before the rows, which may be ahead but never behind
        if stamp < 0:
            return
        noted = dict(select(self.connection, "select name, value from marks where name in ('stamp', 'documents')"))
        if noted.get("stamp") == str(stamp):
            if noted["documents"] != str(documents):
                raise DamagedStoreError(f"the text index has {documents} passages instead of {noted['documents']}")
            return
        last = max(text.marks())  # before the rows too: another commit may have happened since
        sequence = select(self.connection, "select seq from sqlite_sequence where name = 'blocks'")
        if last > (sequence[0][0] if sequence else 0):
            raise DamagedStoreError("the text index has passages that the rows do not have")

    # Reading

    def readable_file(self) -> Path:
        """Return the rows file in use now, for another connection; raise if it cannot be read."""
        return self.file if self._lock is not None else self._readable() / ROWS

    def renew(self) -> None:
        """Close an index that was replaced since it was opened, for long-lived readers."""
        if self._connection is not None and self._lock is None and self._is_replaced():
            self._let_go()

    def _is_replaced(self) -> bool:
        try:
            current = in_use(self.folder)
        except BackscrollError:
            return False  # open files can still be read
        return current != self._generation or (current is not None and identity(current) != self._identity)

    def _readable(self) -> Path:
        generation = in_use(self.folder)
        state = examine(generation / ROWS) if generation else RowsFileState.MISSING
        if state is not RowsFileState.OURS and in_use(self.folder) != generation:
            return self._readable()  # another process has just replaced it
        if state is RowsFileState.NEWER:
            raise _newer(self.folder)
        if state is RowsFileState.DAMAGED:
            raise DamagedStoreError(f"{generation} has no index of backscroll")
        if generation is None or state is not RowsFileState.OURS:
            raise NothingFound("there is no index yet", "run backscroll update")
        return generation

    def _open(self) -> apsw.Connection:
        if self._lock is not None:
            connection = connect(self.file, write=True)
            # A crash of the machine may cost the last batch, which is then read again, but never the file.
            connection.execute("pragma synchronous = normal")
            return connection
        attempt = 0
        while True:
            attempt += 1
            self._generation = self._readable()
            self._identity = identity(self._generation)
            self._checked = VerifiedFiles(self._generation)
            try:
                connection = connect(self.file, write=False)
                connection.execute("select 1 from marks limit 1").fetchall()  # opens all of its files
            except (apsw.Error, BackscrollError):
                if attempt == ATTEMPTS or not self._is_replaced():
                    raise
            else:
                return connection

    # Writing

    def start_writing(self) -> Self:
        """Start writing; Busy if another process writes. Creates an index if there is none of this version."""
        if self._lock is None:
            self._become_writer()
            with translate_errors():
                self._take_up()
        return self

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        """Write a new index in this context; readers use the old one until it is complete."""
        if self._lock is None:
            self._become_writer()
        self._is_sound = False
        self._let_go()
        with suppress(DamagedStoreError):
            self._refuse_newer(in_use(self.folder))
        try:
            with translate_errors():
                self._is_beside, fresh = True, self._begin_empty()
            yield
            self._let_go()
            with translate_errors():
                make_current(fresh)
        except BaseException:
            self._is_sound = False
            with suppress(BackscrollError):
                self._let_go()
            self._generation = None
            with suppress(BackscrollError):
                remove_unfinished(self.folder, in_use(self.folder))
            raise
        finally:
            self._is_beside = False
        self._generation = fresh
        remove_others(self.folder, fresh)

    def remove_superseded(self) -> None:
        """Remove the files of an earlier version's index, now that this one is complete."""
        if self._lock is not None and self._generation is not None and not self._is_beside:
            remove_others(self.folder, self._generation)

    def close(self) -> None:
        """Close all files, and release the lock."""
        try:
            self._let_go()
        finally:
            self._generation, self._is_sound = None, False
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def discard(self) -> None:
        """Close the index and delete its folder."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def take_notices(self) -> list[str]:
        """Return the notices that the index was rebuilt, and why."""
        notices, self._notices = self._notices, []
        return notices

    def _become_writer(self) -> None:
        try:
            lock = write_lock(self.folder)
        except OSError as error:
            raise storage_error(error, f"cannot write {self.folder}") from error
        self._let_go()
        self._lock, self._generation = lock, None

    def _take_up(self) -> None:
        """Continue with the index in use, or start with an empty one."""
        current = in_use(self.folder)
        remove_unfinished(self.folder, current)
        self._refuse_newer(current)
        state = examine(current / ROWS) if current else RowsFileState.MISSING
        if state is RowsFileState.DAMAGED:
            raise DamagedStoreError(f"{current} has no index of backscroll")
        if state is RowsFileState.OURS and current is not None:
            self._generation = current
            self._checked = VerifiedFiles(current)
            self._check_once()
            return
        if state is RowsFileState.OLDER:
            self._notices.append("the index is being made again: this version has other tables")
        # No other index can be read until this one is complete, so it is used from the start, and an interrupted update
        # continues where it stopped.
        make_current(self._begin_empty())

    def _begin_empty(self) -> Path:
        self._generation = fresh = new_generation(self.folder)
        create(self.file)
        self._checked = VerifiedFiles(fresh)
        self._checked.begin()
        self._is_sound = True
        return fresh

    def _check_once(self) -> None:
        """Verify an index that was never verified, or long ago; raises DamagedStoreError."""
        if not self._checked.has(self.file) or self._checked.is_old:
            check_pages(self.connection)
            self.text.check(again=True)
            self._checked.begin()
        else:
            _ = self.text  # check that it matches before adding rows
        self._is_sound = True

    def _refuse_newer(self, generation: Path | None) -> None:
        if generation is not None and examine(generation / ROWS) is RowsFileState.NEWER:
            raise _newer(self.folder)

    def _let_go(self) -> None:
        """Close all open files; they are opened again when needed."""
        text, self._text = self._text, None
        connection, self._connection = self._connection, None
        with translate_errors():
            try:
                if text is not None:
                    text.close()
            finally:
                if connection is not None:
                    connection.close()
            if self._is_sound and connection is not None:
                with suppress(OSError):  # it is only a cache
                    self._checked.add(self.file)
                    self._checked.save()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _newer(folder: Path) -> NewerVersion:
    return NewerVersion(
        "the index was made by a later version of backscroll",
        f"update backscroll; to go back to this version for good, remove {folder}",
    )
