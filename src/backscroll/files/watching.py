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

SWEEP_SECONDS: Final = 30.0
POLL_SECONDS: Final = 1.0
STEP_MILLISECONDS: Final = 10
DEBOUNCE_MILLISECONDS: Final = 50
WAKE_MILLISECONDS: Final = 200
"""How often a watch comes back without an event. The first batch waits for it: only then is the watcher known to be in
place."""
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

    The first batch is every file that there is: a caller who takes each batch the same way misses nothing between
    looking and watching. Where the system cannot report changes (no inotify left, a network disk) we look every
    `poll_seconds`; and every `sweep_seconds` we look through everything, in case an event was lost.
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
            # The first time, too: the watcher is in place only now, so nothing is missed that happens while we look.
            if swept is None or time.monotonic() >= swept + sweep_seconds:
                batch += seen.sweep()
                swept = time.monotonic()
            if batch or tells_idle:
                # A sweep may repeat a file that an event has just named: the later one counts.
                yield list({changed.file.path: changed for changed in batch}.values())
            # A root that was removed is no longer watched, even if there is one of its name again.
            if _roots(homes) != roots or any((DELETED, path) in events for path, _ in roots):
                break


class _Seen:
    """The state of every file when it was last reported."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self._homes = homes
        self._files: dict[Path, HomeFile] = {}

    def sweep(self) -> list[ChangedFile]:
        """Check all homes for changes."""
        batch = []
        present = set()
        hidden = []
        for home in self._homes:
            for found in find(home):
                if isinstance(found, HomeFile):
                    present.add(found.path)
                    batch += self._compare(found)
                elif isinstance(found, Unreadable):
                    hidden.append(found.path)  # what is in there may only be away for a moment
        gone = [path for path in self._files if path not in present and not _is_in(path, hidden)]
        return batch + [ChangedFile(self._files.pop(path), gone=True) for path in gone]

    def look(self, paths: set[Path]) -> list[ChangedFile]:
        """Check only these paths, and everything in them if they are folders."""
        batch = []
        for path in sorted(paths):
            home = next((home for home in self._homes if path.is_relative_to(home.path)), None)
            if home is None or path == home.path:
                continue
            if path.is_dir() and (not path.is_symlink() or path.parent == home.path):
                # A new folder may have been filled before it could be watched, or have taken the place of another.
                inside = [found for found in find(home, below=path) if isinstance(found, HomeFile)]
                for found in inside:
                    batch += self._compare(found)
                batch += self._forget(path, {found.path for found in inside})
            elif file := look(home, path):
                batch += self._compare(file)
            else:
                batch += self._forget(path)
        return batch

    def _forget(self, path: Path, still_there: Collection[Path] = ()) -> list[ChangedFile]:
        """Report the deletion of a file, or of everything in a folder."""
        if path in self._files:
            return [ChangedFile(self._files.pop(path), gone=True)]
        inside = f"{path}{os.sep}"
        gone = [known for known in self._files if str(known).startswith(inside) and known not in still_there]
        return [ChangedFile(self._files.pop(known), gone=True) for known in gone]

    def _compare(self, file: HomeFile) -> list[ChangedFile]:
        if self._files.get(file.path) == file:
            return []
        self._files[file.path] = file
        return [ChangedFile(file)]


def _roots(homes: Sequence[Home]) -> list[tuple[str, tuple[int, int]]]:
    """What to watch: not the whole home, whose other folders may be huge.

    Each with its device and inode: one that is recreated under the same name must be watched again.
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
    """What the system reports of these paths: every `WAKE_MILLISECONDS`, often nothing. Ends when `stop` is set.

    Where the system has no watcher left to give, there is one empty set, after which the caller looks for itself.
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
