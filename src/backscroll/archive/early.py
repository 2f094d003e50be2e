"""Keep and read the files of early clients, which hold whole sessions: the database, and the logs before it."""

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.disk import temporary_folder
from backscroll.files.discovery import HomeFile
from backscroll.files.early_database import OwnFolder, copy_database, copy_files
from backscroll.files.early_logs import LogContents
from backscroll.files.early_sessions import CACHE, Contents
from backscroll.files.early_tables import DatabaseContents, remove_sessions
from backscroll.files.inside import container_bookmark
from backscroll.files.layout import FileKind
from backscroll.files.reading import PIECE, Bookmark


class DatabaseCopy:
    """A consistent copy of a live database, to be kept."""

    def __init__(self, path: Path, source: HomeFile) -> None:
        self._path = path
        self._source = source

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the copy."""
        with self._path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def is_same(self, archive: Archive, version: Version) -> bool:
        """Whether this is equal to the last kept version: a client may write without changing anything that counts."""
        if version.size != self._path.stat().st_size:
            return False
        with self._path.open("rb") as file:
            return all(file.read(len(data)) == data for data in archive.content(version))

    @property
    def bookmark(self) -> Bookmark:
        """The state of the live file, with the length and checksum of the copy."""
        checksum = size = 0
        for piece in self.pieces():
            checksum = zlib.crc32(piece, checksum)
            size += len(piece)
        return container_bookmark(self._source)._replace(offset=size, whole=checksum)


@contextmanager
def database_copy(
    source: HomeFile, *, is_first: bool, is_forgotten: Callable[[str], bool] = lambda _: False
) -> Iterator[DatabaseCopy]:
    """Copy a database, without the forgotten sessions, by their paths.

    A damaged one is kept as it is the first time; later, the earlier kept version stays.
    """
    with temporary_folder() as folder:
        try:
            path = copy_database(source.path, folder)
        except OSError:
            if not is_first:
                raise
            path = copy_files(source.path, folder)
        with suppress(OSError):  # of a damaged one
            names = DatabaseContents(path, is_own=True).sessions
            if forgotten := {name for name in names if is_forgotten(f"{source.relative}/{name}.jsonl")}:
                remove_sessions(path, forgotten)
        yield DatabaseCopy(path, source)


def without_forgotten(archive: Archive, file: KeptFile, folder: Path) -> list[Path] | None:
    """Copy every kept version of a database to a folder, without forgotten sessions; None if it has none of these."""
    paths = []
    has_forgotten = False
    for version in file.versions:
        path = folder / f"{file.number}-{version.number}.db"
        with path.open("wb") as copy:
            for data in archive.content(version):
                copy.write(data)
        with suppress(OSError):  # a file that is no database is kept as it is
            names = DatabaseContents(path, is_own=True).sessions
            if forgotten := {name for name in names if _is_forgotten_inside(archive, file, name)}:
                remove_sessions(path, forgotten)
                has_forgotten = True
        paths.append(path)
    return paths if has_forgotten else None


def _is_forgotten_inside(archive: Archive, file: KeptFile, name: str) -> bool:
    return archive.is_forgotten(file.home, f"{file.path}/{name}.jsonl", file.machine)


def kept_contents(archive: Archive, file: KeptFile, version: Version) -> Contents:
    """Return the sessions in a kept database or log."""
    return CACHE.get(
        (str(archive.folder), tuple(chunk.id for chunk in version.chunks), version.size, file.path),
        lambda: _unpacked(archive, file, version),
    )


def _unpacked(archive: Archive, file: KeptFile, version: Version) -> Contents:
    name = file.path.rpartition("/")[2]
    if file.kind is FileKind.MESSAGE_LOG:
        return LogContents(Path(name), b"".join(archive.content(version)), version.modified_ns)
    folder = OwnFolder()
    path = folder.path / name
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
        for data in archive.content(version):
            copy.write(data)
    return DatabaseContents(path, is_own=True, holds=folder)
