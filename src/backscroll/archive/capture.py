"""Bring an archive up to date with a home."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.files.changes import find_changes
from backscroll.files.discovery import Discovery, HomeFile, Unreadable, discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.files.reading import Reading
from backscroll.files.source_key import SourceKey
from backscroll.files.watching import ChangedFile


@dataclass
class Capture:
    """What a capture did."""

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
    done = _take(writer, home, machine, kept, discovery.files, discovery.unreadable, on_total, on_bytes)
    done.unreadable += discovery.unreadable
    if not done.unreadable:
        writer.captured_all(machine, str(home.path))
    return done


def capture_changed(writer: Writer, home: Home, machine: str, batch: Iterable[ChangedFile]) -> Capture:
    """The same for the files that a watcher reported; the cost does not depend on the size of the home."""
    told = {changed.file.name: changed for changed in batch}
    folder = str(home.path)
    known = {
        name: writer.sources.get(SourceKey(machine, folder, changed.file.relative)) for name, changed in told.items()
    }
    kept = {name: file for name, file in known.items() if file is not None}
    there = [changed.file for changed in told.values() if not changed.gone]
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
    """Compare the files with what is kept of them, and keep the rest."""
    done = Capture()
    known = {name: file.bookmark for name, file in kept.items() if file.bookmark and _can_go_on(file)}
    folder = str(home.path)
    found = (file for file in files if not writer.is_forgotten(folder, file.relative, machine))
    changes = find_changes(known, found, unreadable)
    for name, origin in changes.moved.items():
        file = kept.pop(origin)
        writer.moved(file, Path(name).relative_to(home.path).as_posix())
        kept[name] = file
        done.moved += 1
    for name in changes.gone:
        writer.gone(kept[name])
        done.gone += 1
    on_total(sum(file.size for file in changes.to_read))
    for source in changes.to_read:
        try:
            _keep(writer, source, kept.get(source.name), machine, home, done, on_bytes)
        except _SourceError as failure:
            if not isinstance(failure.error, FileNotFoundError):  # gone since we looked: the next capture says so
                done.unreadable.append(Unreadable(source.path, failure.error.strerror or str(failure.error)))
    writer.settle()
    return done


def _can_go_on(file: KeptFile) -> bool:
    """Whether new bytes can be added to what is kept of a file."""
    is_whole = file.latest is not None and file.latest.is_whole
    return is_whole and not file.is_suspect and file.gone_since is None


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
        is_damaged = file is not None and (file.is_suspect or not (file.latest and file.latest.is_whole))
        reading = Reading(source.path, file.bookmark if file and not is_damaged else None)
    except OSError as error:
        raise _SourceError(error) from error
    with reading:
        if file is None:
            file = writer.new_file(machine, str(home.path), source.relative, source.kind)
        new_version = reading.change.starts_over or is_damaged
        pieces = _pieces(reading, on_bytes)
        size = writer.add(file, pieces, lambda: reading.bookmark, new_version=new_version)
    done.size += size
    done.files += bool(size) or new_version


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


def _pieces(reading: Reading, on_bytes: Callable[[int], object]) -> Iterator[bytes]:
    try:
        for piece in reading.rest():
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
    """What is kept of a home, by path."""
    folder = str(home.path)
    return {file.name: file for file in writer.sources.values() if (file.machine, file.home) == (machine, folder)}
