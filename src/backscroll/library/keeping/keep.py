"""Keep the content of the homes, and report kept files and upcoming deletions."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.capture import Capture, capture, capture_changed
from backscroll.archive.kept_file import KeptFile
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.files.retention import Deletion, deletions
from backscroll.files.watching import watch
from backscroll.library.archives import archive_folder, open_archive, open_writer
from backscroll.library.captures import Watching, last_captures
from backscroll.library.homes import cleanup_days
from backscroll.library.machine import ensure_machine, read_machine
from backscroll.settings import Settings

DUE_AFTER: Final = timedelta(hours=1)
"""The maximum age of the last capture when a command starts to read."""
SOON: Final = timedelta(days=7)


def keep(
    settings: Settings,
    homes: Sequence[Home],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Capture:
    """Update the archive from these homes."""
    together = Capture()
    machine = ensure_machine(settings.library).id
    with open_writer(settings) as writer:
        for home in homes:
            if home.exists:
                _add_up(together, capture(writer, home, machine, on_total, on_bytes))
    return together


def is_due(settings: Settings, homes: Sequence[Home], now: datetime) -> bool:
    """Whether the last capture of one of these homes is too long ago."""
    captured = Archive(archive_folder(settings)).captured
    machine = read_machine(settings.library).id
    for home in homes:
        last = captured.get((machine, str(home.path)))
        if home.exists and (last is None or _moment(last) is None or now - (_moment(last) or now) > DUE_AFTER):
            return True
    return False


def keep_watching(settings: Settings, homes: Sequence[Home], stop: threading.Event | None = None) -> Iterator[Capture]:
    """Keep changes until `stop` is set; yield every capture with changes.

    Keeps the archive open: opening it for each change would cost more the larger it is.
    """
    machine = ensure_machine(settings.library).id
    with open_writer(settings) as writer, Watching(settings, homes, "backscroll keep --watch") as watching:
        for batch in watch(homes, stop=stop, tells_idle=True):
            together = Capture()
            for home in homes:
                mine = [changed for changed in batch if changed.file.home == str(home.path)]
                if mine:
                    _add_up(together, capture_changed(writer, home, machine, mine))
            watching.is_up_to_date(has_news=bool(batch))
            if together.files or together.gone or together.moved:
                yield together


def _add_up(together: Capture, done: Capture) -> None:
    together.files += done.files
    together.size += done.size
    together.gone += done.gone
    together.moved += done.moved
    together.unreadable += done.unreadable


@dataclass
class ArchiveStatus:
    """The state of the archive, and upcoming deletions."""

    folder: Path
    files: int = 0
    sessions: int = 0
    """Number of sessions, each counted once, however many homes and folders have a file of it."""
    size: int = 0
    """Bytes of the sources, in all versions."""
    stored: int = 0
    """Bytes of the archive's files on disk."""
    gone: list[KeptFile] = field(default_factory=list)
    """One file of each session that is no longer in any home."""
    due: list[Deletion] = field(default_factory=list)
    """Live sessions that Claude Code deletes within a week."""
    captured: dict[str, str] = field(default_factory=dict)
    verified: str | None = None
    damaged_lines: int = 0


def status(settings: Settings, homes: Sequence[Home], now: datetime) -> ArchiveStatus:
    """Compare the archive and the homes without reading any session."""
    archive = open_archive(settings)
    state = ArchiveStatus(archive.folder, files=len(archive.files), damaged_lines=len(archive.bad_lines))
    sessions: dict[object, list[KeptFile]] = {}
    for file in archive.files.values():
        state.size += sum(version.size for version in file.versions)
        if file.kind is FileKind.SESSION:
            sessions.setdefault(file.place.session_id or file.key, []).append(file)
    state.sessions = len(sessions)
    state.gone += [files[-1] for files in sessions.values() if all(file.gone_since for file in files)]
    state.stored = sum(path.stat().st_size for path in archive.folder.rglob("*") if path.is_file())
    for path, at in (*((path, at) for (_, path), at in archive.captured.items()), *last_captures(settings, homes)):
        state.captured[path] = max(at, state.captured.get(path, ""))
    state.verified = archive.verified.at if archive.verified else None
    for home in homes:
        if home.exists:
            doomed = deletions(discover(home).files, cleanup_days(home))
            state.due += [deletion for deletion in doomed if deletion.due <= now + SOON]
    return state


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
