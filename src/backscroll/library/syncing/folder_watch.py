"""Watch remotes that are folders, so that changes are noticed sooner than once a minute.

Events of the operating system come at once, but not from every disk: another machine's writes to a NAS cause none here.
So the times of the folders are compared every few seconds, too; a folder's time changes with each new name in it. This
machine's own writes do not count as changes.
"""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from backscroll.library.syncing.remote_settings import device_of, read_key, read_remotes
from backscroll.settings import Settings
from backscroll.sync.objects import ROOT
from backscroll.sync.remotes import folder_at
from backscroll.sync.sealing import hidden_device

LOOK_MILLISECONDS: Final = 2_000
"""Interval of comparing the times of the folders."""
DEBOUNCE_MILLISECONDS: Final = 50
STEP_MILLISECONDS: Final = 10


class FolderTime(NamedTuple):
    """State of a folder when it was checked."""

    path: str
    inode: int
    modified_ns: int


class WatchedFolder(NamedTuple):
    """A remote that is a folder."""

    objects: Path
    """The folder of the remote's objects."""
    own: str
    """The name of this machine's folder in it."""


def watch_folders(
    settings: Settings,
    on_change: Callable[[], object],
    stop: threading.Event,
    *,
    polls: bool = False,
    milliseconds: int = LOOK_MILLISECONDS,
) -> None:
    """Call `on_change` whenever another machine has changed a folder remote, until `stop` is set.

    With `polls`, and where the system offers no watcher, only the times of folders are compared.
    """
    known: dict[WatchedFolder, frozenset[FolderTime]] = {}
    folders = watched_folders(settings)
    while not stop.is_set():
        watched = [] if polls else [str(folder.objects) for folder in folders if folder.objects.is_dir()]
        for paths in _events(watched, stop, milliseconds):
            folders = watched_folders(settings)
            times = {folder: times_in(folder) for folder in folders}
            has_changed = any(known[folder] != times[folder] for folder in folders if folder in known)
            if has_changed or any(is_news(path, folder) for path in paths for folder in folders):
                on_change()
            known = times
            if not polls and watched != [str(folder.objects) for folder in folders if folder.objects.is_dir()]:
                break


def watched_folders(settings: Settings) -> list[WatchedFolder]:
    """Return the remotes that are folders and are not paused."""
    folders = []
    for remote in read_remotes(settings).values():
        folder = None if remote.is_paused else folder_at(remote.url)
        if folder is not None:
            key, name = read_key(settings, remote), remote.device or device_of(settings).name
            own = quote(hidden_device(key, name) if key else name, safe="")
            folders.append(WatchedFolder(folder.resolve() / ROOT, own))
    return folders


def times_in(watched: WatchedFolder) -> frozenset[FolderTime]:
    """Return the folders of other machines and of their logs, each with its time; none while the disk is away."""
    try:
        devices = [entry for entry in os.scandir(watched.objects) if entry.name != watched.own and _is_folder(entry)]
        logs = [entry for device in devices for entry in os.scandir(device) if _is_folder(entry)]
        return frozenset(_time_of(entry) for entry in (*devices, *logs))
    except OSError:
        return frozenset()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)


def _time_of(entry: os.DirEntry[str]) -> FolderTime:
    status = entry.stat(follow_symlinks=False)
    return FolderTime(entry.path, status.st_ino, status.st_mtime_ns)


def is_news(path: str, watched: WatchedFolder) -> bool:
    """Whether a change is from another machine; a hidden file is still being written."""
    if not path.startswith(f"{watched.objects}{os.sep}"):
        return False
    parts = Path(path).relative_to(watched.objects).parts
    return bool(parts) and parts[0] != watched.own and not parts[-1].startswith(".")


def _events(folders: list[str], stop: threading.Event, milliseconds: int) -> Iterator[set[str]]:
    """Yield the system's reports on these folders, possibly empty, at this interval. Ends when `stop` is set."""
    while not folders:
        yield set()
        if stop.wait(milliseconds / 1000):
            return
    from watchfiles import watch  # costs 20 ms to import

    try:
        for events in watch(
            *folders, watch_filter=None, debounce=DEBOUNCE_MILLISECONDS, step=STEP_MILLISECONDS, stop_event=stop,
            rust_timeout=milliseconds, yield_on_timeout=True, force_polling=False, ignore_permission_denied=True,
            debug=False,
        ):  # fmt: skip
            yield {path for _, path in events}
    except (OSError, RuntimeError):  # watchfiles' own error is a RuntimeError
        yield set()
        stop.wait(milliseconds / 1000)
