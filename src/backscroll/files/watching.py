"""Notice changes in homes as they happen."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.files.discovery import HomeFile, find, look
from backscroll.files.homes import Home
from backscroll.files.layout import FOLDERS, TOP_FILES

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

SWEEP_SECONDS: Final = 30.0
POLL_SECONDS: Final = 1.0
STEP_MILLISECONDS: Final = 10
DEBOUNCE_MILLISECONDS: Final = 50


class Changed(NamedTuple):
    """A file that is new or other than before, or is gone."""

    file: HomeFile
    gone: bool = False


def watch(
    homes: Sequence[Home],
    *,
    stop: threading.Event | None = None,
    polling: bool = False,
    sweep_seconds: float = SWEEP_SECONDS,
    poll_seconds: float = POLL_SECONDS,
) -> Iterator[list[Changed]]:
    """Yield the files that changed, in batches, until `stop` is set.

    The first batch is every file that there is: a caller who takes each batch the same way misses nothing between
    looking and watching. Where the system cannot tell us of changes (no inotify left, a network disk) we look every
    `poll_seconds`; and every `sweep_seconds` we look through everything, in case an event was lost.
    """
    stop = stop or threading.Event()
    seen = _Seen(homes)
    while not stop.is_set():
        roots = _roots(homes)
        watcher = None if polling or not roots else _notifier(roots)
        # Only now, with the watcher in place, is nothing missed that happens while we look.
        if batch := seen.sweep():
            yield batch
        if watcher is None:
            stop.wait(poll_seconds)
            continue
        with watcher:
            swept = time.monotonic()
            while not stop.is_set() and _roots(homes) == roots:
                timeout = max(1, int(1000 * (swept + sweep_seconds - time.monotonic())))
                events = watcher.watch(DEBOUNCE_MILLISECONDS, STEP_MILLISECONDS, timeout, stop)
                if events == "stop":
                    return
                if events == "signal":
                    raise KeyboardInterrupt
                batch = [] if isinstance(events, str) else seen.look({Path(path) for _, path in events})
                if time.monotonic() >= swept + sweep_seconds:
                    batch += seen.sweep()
                    swept = time.monotonic()
                if batch:
                    yield batch


class _Seen:
    """What every file looked like when we last told of it."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self._homes = homes
        self._files: dict[Path, HomeFile] = {}

    def sweep(self) -> list[Changed]:
        """Look through all homes."""
        batch = []
        present = set()
        for home in self._homes:
            for found in find(home):
                if isinstance(found, HomeFile):
                    present.add(found.path)
                    batch += self._compare(found)
        gone = [path for path in self._files if path not in present]
        return batch + [Changed(self._files.pop(path), gone=True) for path in gone]

    def look(self, paths: set[Path]) -> list[Changed]:
        """Look at these paths only; at all that is in them where they are folders."""
        batch = []
        for path in sorted(paths):
            home = next((home for home in self._homes if path.is_relative_to(home.path)), None)
            if home is None or path == home.path:
                continue
            if path.is_dir() and not path.is_symlink():
                # A new folder may have been filled before it could be watched.
                for found in find(home, below=path):
                    if isinstance(found, HomeFile):
                        batch += self._compare(found)
            elif file := look(home, path):
                batch += self._compare(file)
            else:
                batch += self._forget(path)
        return batch

    def _forget(self, path: Path) -> list[Changed]:
        """Tell of what is gone with this path: a file, or all that was in a folder."""
        if path in self._files:
            return [Changed(self._files.pop(path), gone=True)]
        inside = f"{path}{os.sep}"
        gone = [known for known in self._files if str(known).startswith(inside)]
        return [Changed(self._files.pop(known), gone=True) for known in gone]

    def _compare(self, file: HomeFile) -> list[Changed]:
        if self._files.get(file.path) == file:
            return []
        self._files[file.path] = file
        return [Changed(file)]


def _roots(homes: Sequence[Home]) -> list[str]:
    """What to ask the system about: not the whole home, whose other folders may be huge."""
    names = (*FOLDERS, *TOP_FILES)
    return [str(home.path / name) for home in homes for name in names if (home.path / name).exists()]


def _notifier(roots: list[str]) -> "RustNotify | None":
    from watchfiles._rust_notify import RustNotify  # costs 20 ms to import

    try:
        return RustNotify(
            roots, debug=False, force_polling=False, poll_delay_ms=300, recursive=True, ignore_permission_denied=True
        )
    except OSError:
        return None
