"""Bring an archive up to date with a home."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.errors import BackscrollError
from backscroll.files.changes import continues, find_changes
from backscroll.files.discovery import Discovery, HomeFile, Unreadable, discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.files.reading import UNSETTLED, WINDOW, Bookmark, Reading
from backscroll.files.source_key import SourceKey
from backscroll.files.task_outputs import LARGEST, with_outputs
from backscroll.files.watching import ChangedFile


@dataclass
class Capture:
    """The result of a capture."""

    files: int = 0
    """Number of files with new content."""
    size: int = 0
    gone: int = 0
    moved: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)


def capture(
    writer: Writer,
    home: Home,
    machine: str,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
    discovery: Discovery | None = None,
) -> Capture:
    """Keep everything new in the home. Deleted files stay kept."""
    discovery = discovery or discover(home)
    kept = _kept_of(writer, home, machine)
    files = with_outputs(discovery.files)
    done = _take(writer, home, machine, kept, files, discovery.unreadable, on_total, on_bytes)
    done.unreadable += discovery.unreadable
    if not done.unreadable:
        writer.captured_all(machine, str(home.path))
    return done


def capture_changed(writer: Writer, home: Home, machine: str, batch: Iterable[ChangedFile]) -> Capture:
    """Keep the files that a watcher reported; the cost does not depend on the size of the home."""
    reported = {changed.file.name: changed for changed in batch}
    folder = str(home.path)
    there = with_outputs(changed.file for changed in reported.values() if not changed.gone)
    paths = {changed.file.relative for changed in reported.values()} | {file.relative for file in there}
    kept_files = (writer.sources.get(SourceKey(machine, folder, path)) for path in sorted(paths))
    kept = {file.name: file for file in kept_files if file is not None}
    done = _take(writer, home, machine, kept, there, [])
    writer.commit()
    return done


def _take(
    writer: Writer,
    home: Home,
    machine: str,
    kept: dict[str, KeptFile],
    files: Iterable[HomeFile],
    unreadable: Iterable[Unreadable],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Capture:
    """Compare the files with the kept ones, and keep what is new."""
    done = Capture()
    known = {name: file.bookmark for name, file in kept.items() if file.bookmark and _can_go_on(file)}
    folder = str(home.path)
    remembered = (file for file in files if not writer.is_forgotten(folder, file.relative, machine))
    changes = find_changes(known, remembered, unreadable)
    for name, origin in changes.moved.items():
        file, there = kept.pop(origin), kept.get(name)
        if (
            there is not None
            and there.bookmark
            and _can_go_on(there, is_gone=True)
            and continues(Path(name), there.bookmark)
        ):
            writer.gone(file)  # it is back in its place, and the kept file there is its beginning
        else:
            kept[name] = writer.moved(file, Path(name).relative_to(home.path).as_posix())
        done.moved += 1
    for name in changes.gone:
        writer.gone(kept[name])
        done.gone += 1
    on_total(sum(min(file.size, most_of(file.kind) or file.size) for file in changes.to_read))
    for source in changes.to_read:
        try:
            _keep(writer, source, kept.get(source.name), machine, home, done, on_bytes)
        except _SourceError as failure:
            if not isinstance(failure.error, FileNotFoundError):  # gone meanwhile: the next capture reports it
                done.unreadable.append(Unreadable(source.path, failure.error.strerror or str(failure.error)))
    writer.settle()
    return done


def _is_back(path: Path, file: KeptFile) -> bool:
    """Whether a file that was gone is at its path again, and begins with its kept bytes."""
    return _can_go_on(file, is_gone=True) and file.bookmark is not None and continues(path, file.bookmark)


def _can_go_on(file: KeptFile, *, is_gone: bool = False) -> bool:
    """Whether new bytes can be added to a kept file, which must still exist unless it `is_gone`."""
    is_whole = file.latest is not None and file.latest.is_whole
    return is_whole and not file.is_suspect and (is_gone or file.gone_since is None)


def _keep(
    writer: Writer,
    source: HomeFile,
    file: KeptFile | None,
    machine: str,
    home: Home,
    done: Capture,
    on_bytes: Callable[[int], object],
) -> None:
    if source.kind is FileKind.DATABASE:
        _keep_database(writer, source, file, machine, home, done, on_bytes)
        return
    try:
        is_damaged = file is not None and not _can_go_on(file, is_gone=True)
        reading = Reading(source.path, _bookmark_of(writer, file) if file and not is_damaged else None)
    except OSError as error:
        raise _SourceError(error) from error
    with reading:
        if file is None:
            file = writer.new_file(machine, str(home.path), source.relative, source.kind)
        new_version = reading.change.starts_over or is_damaged
        pieces = _pieces(reading, most_of(source.kind), on_bytes)
        size = writer.add(file, pieces, lambda: reading.bookmark, new_version=new_version)
    done.size += size
    done.files += bool(size) or new_version


def _bookmark_of(writer: Writer, file: KeptFile) -> Bookmark | None:
    """Return the bookmark of the latest version; for one that came from another archive, up to its end."""
    if file.bookmark is not None or file.latest is None:
        return file.bookmark
    head, edge, whole = b"", b"", 0
    try:
        for data in writer.content(file.latest):
            head, edge, whole = (head + data)[:WINDOW], (edge + data)[-WINDOW:], zlib.crc32(data, whole)
    except BackscrollError:
        return UNKNOWN  # the file is kept again from the start
    size = file.latest.size
    return Bookmark(size, 0, 0, size, file.latest.modified_ns, UNSETTLED, zlib.crc32(head), zlib.crc32(edge), whole)


UNKNOWN: Final = Bookmark(2**62, 0, 0, 0, 0, UNSETTLED, 0, 0, 0)
"""A bookmark that no file continues."""


def _keep_database(
    writer: Writer,
    source: HomeFile,
    file: KeptFile | None,
    machine: str,
    home: Home,
    done: Capture,
    on_bytes: Callable[[int], object],
) -> None:
    """Keep a copy of a database, whole: a database that changed is another version."""
    from backscroll.archive.early import database_copy

    is_whole = file is not None and file.latest is not None and file.latest.is_whole and not file.is_suspect
    with ExitStack() as stack:
        try:
            is_forgotten = partial(writer.is_forgotten, str(home.path), machine=machine)
            copy = stack.enter_context(database_copy(source, is_first=not is_whole, is_forgotten=is_forgotten))
        except OSError as error:
            raise _SourceError(error) from error
        if file is None:
            file = writer.new_file(machine, str(home.path), source.relative, source.kind)
        is_same = is_whole and file.latest is not None and copy.is_same(writer, file.latest)
        pieces = () if is_same else copy.pieces()
        new_version = not is_same and bool(file.versions)
        size = writer.add(file, pieces, lambda: copy.bookmark, new_version=new_version)
    on_bytes(source.size)
    done.size += size
    done.files += bool(size)


def most_of(kind: FileKind) -> int | None:
    """Return the most bytes that are kept of a file of this kind, from its beginning; None for all."""
    return LARGEST if kind is FileKind.TASK_OUTPUT else None


def _pieces(reading: Reading, limit: int | None, on_bytes: Callable[[int], object]) -> Iterator[bytes]:
    try:
        for piece in reading.rest(limit):
            on_bytes(len(piece))
            yield piece
    except OSError as error:
        raise _SourceError(error) from error


class _SourceError(Exception):
    """The source could not be read: skip this file. A failure of our own disk ends the capture."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _kept_of(writer: Writer, home: Home, machine: str) -> dict[str, KeptFile]:
    """Return the kept files of a home, by path."""
    folder = str(home.path)
    return {file.name: file for file in writer.sources.values() if (file.machine, file.home) == (machine, folder)}
