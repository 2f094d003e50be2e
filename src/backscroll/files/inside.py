"""Find and read the sessions inside the files of early clients, as files of their home."""

import time
from collections.abc import Iterator
from pathlib import Path

from backscroll.files.database_stamp import stamp_of
from backscroll.files.discovery import HomeFile, Unreadable
from backscroll.files.early_database import OwnFolder, copy_files, needs_copy
from backscroll.files.early_logs import LogContents
from backscroll.files.early_reading import DEVICE, EarlyReading
from backscroll.files.early_sessions import CACHE, Contents, EarlySession
from backscroll.files.early_tables import DatabaseContents
from backscroll.files.layout import FileKind, container_of
from backscroll.files.reading import CLOCK_TICK_NS, UNSETTLED, Bookmark


def find_inside(container: HomeFile) -> Iterator[HomeFile | Unreadable]:
    """Yield the sessions in a database or log, and the parts of it that cannot be read."""
    try:
        contents = _contents_of(container.path, container.kind)
    except OSError as error:
        yield Unreadable(container.path, error.strerror or str(error))
        return
    for session in contents.sessions.values():
        yield _as_file(container, session)
    if contents.damage is not None:
        yield Unreadable(container.path, contents.damage)


def look_inside(container: HomeFile, name: str) -> HomeFile | None:
    """Return the session with this file name; None if it does not exist."""
    try:
        session = _contents_of(container.path, container.kind).sessions.get(name.removesuffix(".jsonl"))
    except OSError:
        return None
    return _as_file(container, session) if session else None


def open_inside(file: HomeFile, bookmark: Bookmark | None) -> EarlyReading:
    """Read a session that is inside another file."""
    holder = container_of(file.relative)
    assert holder is not None  # noqa: S101
    path = file.path.parent
    kind = FileKind.DATABASE if "/" not in holder else FileKind.MESSAGE_LOG
    contents = _contents_of(path, kind)
    session = contents.sessions.get(file.path.stem)
    if session is None:
        raise FileNotFoundError(f"{path} has no session {file.path.stem}")
    return EarlyReading(contents, session, bookmark)


def container_bookmark(file: HomeFile) -> Bookmark:
    """Return the state of a database or log when its sessions were listed."""
    is_settled = file.changed_ns < time.time_ns() - CLOCK_TICK_NS
    changed = file.changed_ns if is_settled else UNSETTLED
    return Bookmark(0, file.device, file.inode, file.size, file.modified_ns, changed, 0, 0, 0)


def _as_file(container: HomeFile, session: EarlySession) -> HomeFile:
    return container._replace(
        relative=f"{container.relative}/{session.name}.jsonl",
        kind=FileKind.SESSION,
        size=session.size,
        modified_ns=session.modified_ns,
        changed_ns=session.mark,
        device=DEVICE,
        inode=session.mark,
    )


def _contents_of(path: Path, kind: FileKind) -> Contents:
    """Return the sessions in a live file."""
    make = _database_at if kind is FileKind.DATABASE else LogContents
    return CACHE.get((path, stamp_of(path)), lambda: make(path))


def _database_at(path: Path) -> Contents:
    if not path.is_file() or not needs_copy(path):
        return DatabaseContents(path)
    folder = OwnFolder()
    return DatabaseContents(copy_files(path, folder.path), is_own=True, holds=folder)
