"""Keep what the homes hold, prove that it is whole, and put it back."""

import platform
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll.archive import (
    Archive,
    Capture,
    KeptFile,
    Report,
    Restored,
    Writer,
    capture,
    capture_changed,
    keys_to_forget,
    restore,
    verify,
)
from backscroll.disk import private_folder
from backscroll.errors import BackscrollError, NothingFound, storage_error
from backscroll.files import Deletion, FileKind, Home, Reading, deletions, discover, watch
from backscroll.library.homes import cleanup_days
from backscroll.library.kept import SEE_VERSIONS, KeptChat, choose_file, find_kept
from backscroll.settings import Settings

if TYPE_CHECKING:
    from backscroll.library.library import Library

DUE_AFTER: Final = timedelta(hours=1)
"""How old the last capture may be when a command is about to read."""
SOON: Final = timedelta(days=7)


def archive_folder(settings: Settings) -> Path:
    """Where the archive of a library lies."""
    return settings.library / "archive"


def machine_name() -> str:
    """What this machine is called in the archive."""
    return platform.node() or "unknown"


def open_writer(settings: Settings, *, accepts_loss: bool = False) -> Writer:
    """The archive of a library, to be written to; the library is made, and closed to other users."""
    private_folder(settings.library)
    return Writer(archive_folder(settings), accepts_loss=accepts_loss)


def keep(
    settings: Settings,
    homes: Sequence[Home],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Capture:
    """Bring the archive up to date with these homes."""
    together = Capture()
    with open_writer(settings) as writer:
        for home in homes:
            if home.exists:
                _add_up(together, capture(writer, home, machine_name(), on_total, on_bytes))
    return together


def is_due(settings: Settings, homes: Sequence[Home], now: datetime) -> bool:
    """Whether the last capture of one of these homes is too long ago."""
    captured = Archive(archive_folder(settings)).captured
    for home in homes:
        last = captured.get((machine_name(), str(home.path)))
        if home.exists and (last is None or _moment(last) is None or now - (_moment(last) or now) > DUE_AFTER):
            return True
    return False


def keep_watching(settings: Settings, homes: Sequence[Home], stop: threading.Event | None = None) -> Iterator[Capture]:
    """Go on keeping what changes, until `stop` is set; tells of every capture that had something new.

    Holds the archive all the time: opening it for each change would cost more the more is kept.
    """
    with open_writer(settings) as writer:
        for batch in watch(homes, stop=stop):
            together = Capture()
            for home in homes:
                mine = [changed for changed in batch if changed.file.path.is_relative_to(home.path)]
                if mine:
                    _add_up(together, capture_changed(writer, home, machine_name(), mine))
            if together.files or together.gone or together.moved:
                yield together


def _add_up(together: Capture, done: Capture) -> None:
    together.files += done.files
    together.size += done.size
    together.gone += done.gone
    together.moved += done.moved
    together.unreadable += done.unreadable


@dataclass
class Status:
    """What is kept, and what is in danger."""

    folder: Path
    files: int = 0
    sessions: int = 0
    size: int = 0
    """Bytes of the sources, in all versions."""
    stored: int = 0
    """Bytes that the archive takes."""
    gone: list[KeptFile] = field(default_factory=list)
    """Sessions that are not in their home any more."""
    due: list[Deletion] = field(default_factory=list)
    """Live sessions that Claude Code deletes within a week."""
    captured: dict[str, str] = field(default_factory=dict)
    verified: str | None = None
    damaged_lines: int = 0


def status(settings: Settings, homes: Sequence[Home], now: datetime) -> Status:
    """Look at the archive and the homes, without reading any session."""
    archive = open_archive(settings)
    found = Status(archive.folder, files=len(archive.files), damaged_lines=len(archive.bad_lines))
    for file in archive.files.values():
        found.size += sum(version.size for version in file.versions)
        if file.kind is FileKind.SESSION:
            found.sessions += 1
            if file.gone_since:
                found.gone.append(file)
    found.stored = sum(path.stat().st_size for path in archive.folder.rglob("*") if path.is_file())
    found.captured = {home: at for (_, home), at in archive.captured.items()}
    found.verified = archive.verified.at if archive.verified else None
    for home in homes:
        if home.exists:
            doomed = deletions(discover(home).files, cleanup_days(home))
            found.due += [deletion for deletion in doomed if deletion.due <= now + SOON]
    return found


@dataclass
class Proof:
    """What a verification found, and how the live files compare."""

    report: Report
    same: int = 0
    ahead: list[Path] = field(default_factory=list)
    """Live files with something that is not kept yet."""
    not_noted: str | None = None
    """Why the result could not be written into the archive, as in a library that is read-only."""


def prove(
    settings: Settings,
    homes: Sequence[Home],
    *,
    quick: bool,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Proof:
    """Verify the archive, compare it with the live files, and write down that it was done."""
    archive = open_archive(settings)
    on_total(sum(chunk.size for chunk in archive.chunks.values()))
    proof = Proof(verify(archive, quick=quick, on_bytes=on_bytes))
    names = {str(home.path) for home in homes}
    for file in archive.files.values():
        if file.home in names and file.gone_since is None and not quick:
            if _is_like_source(file):
                proof.same += 1
            else:
                proof.ahead.append(file.source)
    try:
        with Writer(archive.folder) as writer:
            for damage in proof.report.damages:
                for file in damage.files:
                    if file.number in writer.files:
                        writer.suspect(writer.files[file.number])
            writer.verified_all(len(proof.report.damages), quick=quick)
    except (OSError, BackscrollError) as error:
        proof.not_noted = str(error)  # busy, read-only, its end lost: what was found holds all the same
    return proof


def put_back(
    library: "Library", name: str, to: Path | None, *, number: int | None = None, path: str | None = None
) -> list[Restored]:
    """Restore a chat with all that belongs to it: into a folder, or, without one, into its home.

    Of each file the fullest version is restored. With the number of a version, or the end of a path, only one file is.
    """
    archive = open_archive(library.settings)
    files = find_kept(library, archive, name).files
    if not files:
        raise NothingFound("nothing of this chat is kept", "run backscroll keep")
    if number is not None or path is not None:
        file = choose_file(files, path)
        if number is not None and file.version(number) is None:
            raise NothingFound(f"{file.path} has no version {number}", SEE_VERSIONS)
        files = [file]
    if to is not None:
        return list(restore(archive, files, to, fresh=False, number=number))
    return [done for file in files for done in restore(archive, [file], Path(file.home), fresh=True, number=number)]


def forget(settings: Settings, chat: KeptChat) -> int:
    """Really remove a chat from the archive, and never keep it again; how many files that were."""
    wanted = {(file.number, file.machine, file.home, file.path) for file in chat.files}
    with open_writer(settings) as writer:
        files = [file for file in writer.files.values() if (file.number, file.machine, file.home, file.path) in wanted]
        writer.forget(files, keys_to_forget((file.home, file.path) for file in files))
    return len(files)


def find_archive(settings: Settings) -> Archive | None:
    """The archive, if anything was ever kept. One that the system refuses to read is an error, and not "nothing"."""
    try:
        archive = SHARED.open(archive_folder(settings))
    except NotADirectoryError:
        return None
    except OSError as error:
        raise storage_error(error, "the archive could not be read") from error
    return archive if archive.exists else None


def has_history(settings: Settings, homes: Sequence[Home]) -> bool:
    """Whether there are conversations to show: in a home, or kept from one."""
    if any(home.has_sessions for home in homes):
        return True
    archive = find_archive(settings)
    return archive is not None and any(file.kind is FileKind.SESSION for file in archive.files.values())


class SharedArchive:
    """The archive that was opened last, for all threads: its catalogue may be large, and only changes when it grows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp: tuple[object, ...] = ()
        self._archive: Archive | None = None

    def open(self, folder: Path) -> Archive:
        """The archive in this folder, as it is now."""
        with self._lock:
            stamp = (folder, _look(folder / "catalogue.jsonl"), _look(folder / "catalogue.end"))
            if self._archive is None or stamp != self._stamp:
                self._archive = None  # before the new one is read: two would not be held at once
                self._archive, self._stamp = Archive(folder), stamp
            return self._archive


def _look(path: Path) -> tuple[int, ...]:
    """What tells a file that was written to from one that was not."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


SHARED: Final = SharedArchive()


def open_archive(settings: Settings) -> Archive:
    """The archive, which must be there."""
    archive = Archive(archive_folder(settings))
    if not archive.exists:
        raise NothingFound(f"nothing is kept yet in {archive.folder}", "run backscroll keep")
    return archive


def _is_like_source(file: KeptFile) -> bool:
    """Whether the live file is, byte for byte, what was last kept of it."""
    latest, bookmark = file.latest, file.bookmark
    if latest is None or bookmark is None:
        return False
    checksum = size = 0
    try:
        with Reading(file.source) as reading:
            for piece in reading.rest():
                checksum = zlib.crc32(piece, checksum)
                size += len(piece)
    except OSError:
        return False
    return (size, checksum) == (latest.size, bookmark.whole)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
