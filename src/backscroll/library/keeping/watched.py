"""Wait for another process that already does the work of a command, and report its name."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.capture import Capture
from backscroll.errors import Busy
from backscroll.files.changes import was_seen
from backscroll.files.discovery import Discovery, HomeFile, discover
from backscroll.files.homes import Home
from backscroll.files.layout import CONTAINERS
from backscroll.files.reading import Bookmark
from backscroll.files.source_key import SourceKey
from backscroll.files.task_outputs import with_outputs
from backscroll.files.watching import SWEEP_SECONDS
from backscroll.library.archives import find_archive
from backscroll.library.captures import Way, find_watcher, note_begin, note_captured, note_failure
from backscroll.library.indexing.changes import catalogue_stamp, entries_of, is_tracked, look
from backscroll.library.indexing.progress import Progress
from backscroll.library.indexing.update import Updated
from backscroll.library.keeping.keep import keep
from backscroll.library.library import Library
from backscroll.library.machine import Machine, read_machine
from backscroll.settings import Settings

WATCHER_SECONDS: Final = SWEEP_SECONDS + 10.0
"""Longest time for a watcher to keep existing files: if it missed an event, it searches everything."""
OTHER_SECONDS: Final = 3.0
"""Longest time for another process while the user waits for a command."""
BACKGROUND_SECONDS: Final = 120.0
"""Longest time for another process if no user waits."""
POLL_SECONDS: Final = 0.05
ANOTHER: Final = "another backscroll"


def keep_or_confirm(
    settings: Settings,
    homes: Sequence[Home],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
    by: Way | None = None,
) -> tuple[Capture, str]:
    """Update the archive; if another process has it open, wait until it has kept all current files. Returns its name.

    Raises Busy if the files are not kept in time. `by` is the way that started this, for which the outcome is noted.
    """
    if by is not None:
        note_begin(settings, by, homes)
    try:
        done, other = _keep_or_confirm(settings, homes, on_total, on_bytes, is_alone=by is not None)
    except Exception as error:
        if by is not None:
            note_failure(settings, by, homes, str(error) or type(error).__name__)
        raise
    if by is not None and done.unreadable:
        first = done.unreadable[0]
        note_failure(settings, by, homes, f"{len(done.unreadable):,} could not be read: {first.path}: {first.reason}")
    elif by is not None:
        note_captured(settings, by, homes)
    return done, other


def _keep_or_confirm(
    settings: Settings,
    homes: Sequence[Home],
    on_total: Callable[[int], object],
    on_bytes: Callable[[int], object],
    *,
    is_alone: bool,
) -> tuple[Capture, str]:
    try:
        return keep(settings, homes, on_total, on_bytes), ""
    except Busy as error:
        busy = error
    discoveries = [_everything_in(home) for home in homes if home.exists]
    waiting = _Waiting(settings, homes, is_alone=is_alone)
    while True:
        if not_kept(find_archive(settings), read_machine(settings.library), discoveries) == []:
            return Capture(
                unreadable=[item for discovery in discoveries for item in discovery.unreadable]
            ), waiting.other
        waiting.go_on(busy)
        try:
            return keep(settings, homes, on_total, on_bytes), ""
        except Busy as error:
            busy = error


def confirm_update(library: Library, busy: Busy, progress: Progress | None = None) -> tuple[Updated, str]:
    """Wait until the process that updates a library has kept and indexed all current files; return its name.

    If it ends before that, the library is updated here.
    """
    discoveries = [_everything_in(home) for home in library.homes if home.exists]
    waiting = _Waiting(library.settings, library.homes, is_alone=False)
    while True:
        library.renew()
        if not not_kept(library.archive, library.machine, discoveries) and _is_indexed(library, discoveries):
            return Updated(), waiting.other
        waiting.go_on(busy)
        if not waiting.has_watcher:
            try:
                return library.update(progress), ""
            except Busy as error:
                busy = error


def _everything_in(home: Home) -> Discovery:
    """Return the files that a capture of the home keeps."""
    discovery = discover(home)
    discovery.files = with_outputs(discovery.files)
    return discovery


def not_kept(archive: Archive | None, machine: Machine, found: Sequence[Discovery]) -> list[HomeFile]:
    """Return the files of homes of this machine that are not kept in their discovered state."""
    files = [file for discovery in found for file in discovery.files]
    if archive is None:
        return files
    waiting = []
    for file in files:
        kept = archive.sources.get(SourceKey(machine.id, file.home, file.relative))
        is_kept = kept is not None and kept.bookmark is not None and was_seen(file, kept.bookmark)
        if not is_kept and not archive.is_forgotten(file.home, file.relative, machine.id) and file.path.exists():
            waiting.append(file)
    return waiting


def _is_indexed(library: Library, found: Sequence[Discovery]) -> bool:
    """Whether the index has all discovered files, or newer states of them."""
    store = library.store
    if not store.exists or library.pending_passages():
        return False
    if not look(store, library.settings, library.homes, library.machine)[1]:
        return True
    if store.noted("catalogue") != catalogue_stamp(library.settings):
        return False
    known, left_out = store.indexed_files(), set(json.loads(store.noted("forgotten") or "[]"))
    for discovery in found:
        entries = entries_of(discovery, known)
        for file in discovery.files:
            if not is_tracked(file.kind, file.relative) or file.kind in CONTAINERS or file.name in left_out:
                continue
            entry = entries.get(file.name)
            is_read = entry is not None and entry.bookmark and was_seen(file, Bookmark(*entry.bookmark))
            if not is_read and file.path.exists():
                return False
    return True


class _Waiting:
    """Waits for another process, for a limited time."""

    def __init__(self, settings: Settings, homes: Sequence[Home], *, is_alone: bool) -> None:
        self._settings, self._homes, self._is_alone = settings, homes, is_alone
        self._began = time.monotonic()
        self._watcher = find_watcher(settings)

    @property
    def other(self) -> str:
        """The name of the other process."""
        return str(self._watcher) if self._watcher is not None else ANOTHER

    @property
    def has_watcher(self) -> bool:
        """Whether the other process runs until the user stops it."""
        return self._watcher is not None

    def go_on(self, busy: Busy) -> None:
        """Wait a moment; raises Busy if the time is over, or if waiting cannot help."""
        self._watcher = find_watcher(self._settings)
        seconds = BACKGROUND_SECONDS if self._is_alone else OTHER_SECONDS
        if self._watcher is not None:
            if not self._watcher.watches(self._homes):
                others = ", ".join(str(home.path) for home in self._homes if not self._watcher.watches([home]))
                raise Busy(f"{self.other} writes the library, and does not watch {others}", "stop it, then try again")
            seconds = max(seconds, WATCHER_SECONDS)
        if time.monotonic() > self._began + seconds:
            if self._watcher is None:
                raise busy
            message = f"{self.other} should have kept everything, and has not"
            raise Busy(message, "stop it and start it again")
        time.sleep(POLL_SECONDS)
