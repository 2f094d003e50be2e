"""Report changes in homes as they happen."""

import os
import threading
import time
from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.files.discovery import HomeFile, Unreadable, find, look
from backscroll.files.homes import Home
from backscroll.files.layout import FOLDERS, TOP_FILES
from backscroll.files.task_outputs import with_outputs

SWEEP_SECONDS: Final = 30.0
POLL_SECONDS: Final = 1.0
STEP_MILLISECONDS: Final = 10
DEBOUNCE_MILLISECONDS: Final = 50
WAKE_MILLISECONDS: Final = 200
"""The interval at which a watch returns without an event. The first batch waits for it: only then is the watcher known
to be in place.
"""
DELETED: Final = 3  # as watchfiles numbers its events


class ChangedFile(NamedTuple):
    """A file that is new, changed, or gone."""

    file: HomeFile
    gone: bool = False


def watch(
    homes: Sequence[Home],
    *,
    stop: threading.Event | None = None,
    polling: bool = False,
    sweep_seconds: float = SWEEP_SECONDS,
    poll_seconds: float = POLL_SECONDS,
    tells_idle: bool = False,
) -> Iterator[list[ChangedFile]]:
    """Yield the files that changed, in batches, until `stop` is set. With `tells_idle`, an empty one now and then.

    The first batch is every existing file: a caller who handles all batches alike misses nothing between looking and
    watching. Where the system cannot report changes (no inotify left, a network disk) we look every `poll_seconds`; and
    every `sweep_seconds` we look through everything, in case an event was lost.
    """
    stop = stop or threading.Event()
    seen = _Seen(homes)
    while not stop.is_set():
        roots = _roots(homes)
        if polling or not roots:
            batch = seen.sweep()
            if batch or tells_idle:
                yield batch
            stop.wait(poll_seconds)
            continue
        swept: float | None = None
        for events in _events([path for path, _ in roots], stop, poll_seconds):
            batch = seen.look({Path(path) for _, path in events})
            # The first time, too: the watcher is in place only now, so no change during the look is missed.
            if swept is None or time.monotonic() >= swept + sweep_seconds:
                batch += seen.sweep()
                swept = time.monotonic()
            if batch or tells_idle:
                # A sweep may repeat a file that an event has just named: the later entry counts.
                yield list({(changed.file.home, changed.file.relative): changed for changed in batch}.values())
            # A root that was removed is no longer watched, even if there is a new one with its name.
            if _roots(homes) != roots or any((DELETED, path) in events for path, _ in roots):
                break


class _Seen:
    """The state of every file when it was last reported, home by home: a home may be inside another."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self._homes = homes
        self._files: dict[Home, dict[Path, HomeFile]] = {home: {} for home in homes}

    def sweep(self) -> list[ChangedFile]:
        """Check all homes for changes."""
        batch = []
        for home, known in self._files.items():
            files = []
            hidden = []
            for item in find(home):
                if isinstance(item, HomeFile):
                    files.append(item)
                elif isinstance(item, Unreadable):
                    hidden.append(item.path)  # its files may only be away for a moment
            files = with_outputs(files)
            batch += [changed for file in files for changed in _compare(known, file)]
            present = {file.path for file in files}
            gone = [path for path in known if path not in present and not _is_in(path, hidden)]
            batch += [ChangedFile(known.pop(path), gone=True) for path in gone]
        return batch

    def look(self, paths: set[Path]) -> list[ChangedFile]:
        """Check only these paths, and everything in them if they are folders."""
        batch = []
        for path in sorted(paths):
            for home, known in self._files.items():
                if path != home.path and path.is_relative_to(home.path):
                    batch += _look(home, known, path)
        return batch


def _look(home: Home, known: dict[Path, HomeFile], path: Path) -> list[ChangedFile]:
    """Check a path in a home."""
    is_ours = path.relative_to(home.path).parts[0] in FOLDERS
    if is_ours and path.is_dir() and (not path.is_symlink() or path.parent == home.path):
        # A new folder may have been filled before it could be watched, or have taken the place of another.
        inside = [inner for inner in find(home, below=path) if isinstance(inner, HomeFile)]
        changed = [changed_file for inner in inside for changed_file in _compare(known, inner)]
        return changed + _forget(known, path, {inner.path for inner in inside})
    if file := look(home, path):
        return _compare(known, file)
    return _forget(known, path)


def _forget(known: dict[Path, HomeFile], path: Path, still_there: Collection[Path] = ()) -> list[ChangedFile]:
    """Report the deletion of a file, or of everything in a folder."""
    if path in known:
        return [ChangedFile(known.pop(path), gone=True)]
    inside = f"{path}{os.sep}"
    gone = [other for other in known if str(other).startswith(inside) and other not in still_there]
    return [ChangedFile(known.pop(other), gone=True) for other in gone]


def _compare(known: dict[Path, HomeFile], file: HomeFile) -> list[ChangedFile]:
    if known.get(file.path) == file:
        return []
    known[file.path] = file
    return [ChangedFile(file)]


def _roots(homes: Sequence[Home]) -> list[tuple[str, tuple[int, int]]]:
    """Return the paths to watch: not the whole home, whose other folders may be huge.

    Each comes with its device and inode: one that is recreated under the same name must be watched again.
    """
    roots = []
    for home in homes:
        for name in (*FOLDERS, *TOP_FILES):
            try:
                status = (home.path / name).stat()
            except OSError:
                continue
            roots.append((str(home.path / name), (status.st_dev, status.st_ino)))
    return roots


def _is_in(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _events(roots: list[str], stop: threading.Event, poll_seconds: float) -> Iterator[Set[tuple[int, str]]]:
    """Yield the events that the system reports for these paths: every `WAKE_MILLISECONDS`, often none. Ends when `stop`
    is set.

    Where the system has no watcher left, it yields one empty set, after which the caller looks for itself.
    """
    from watchfiles import watch as watch_paths  # costs 20 ms to import

    events = watch_paths(
        *roots,
        watch_filter=None,
        debounce=DEBOUNCE_MILLISECONDS,
        step=STEP_MILLISECONDS,
        stop_event=stop,
        rust_timeout=WAKE_MILLISECONDS,
        yield_on_timeout=True,
        force_polling=False,
        ignore_permission_denied=True,
        debug=False,
    )
    try:
        yield from events
    except (OSError, RuntimeError):  # watchfiles' own error is a RuntimeError
        yield set()
        stop.wait(poll_seconds)
