"""Sync in the background: beside `watch`, `open` and `sync --watch`, and after a hook has kept files.

A process that follows the homes has the archive open for writing, so the sync runs in a thread beside it and shares the
archive. The archive is held for one bundle at a time and never while waiting for a remote: a remote that is slow or
away delays nothing. Failures are shown by `sync status`, `status` and the viewer.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll.archive.stamp import stamp_of
from backscroll.disk import FileLock, private_folder
from backscroll.errors import BackscrollError, Busy
from backscroll.library.archives import archive_folder, find_archive
from backscroll.library.forget_requests import requests_stamp
from backscroll.library.syncing.remote_settings import RemoteSettings, note_remote, read_remotes, sync_folder_of
from backscroll.settings import Settings

if TYPE_CHECKING:
    from backscroll.library.indexing.follow import News
    from backscroll.library.indexing.shared_writer import SharedWriter
    from backscroll.library.syncing.sync import Synced

QUIET_SECONDS: Final = 0.2
"""Delay of a sync after a change: changes written together leave in one object."""
LOOK_SECONDS: Final = 60.0
"""Interval of looking at a remote while nothing changes here, nor in a watched folder."""
FIRST_WAIT: Final = 5.0
LONGEST_WAIT: Final = 600.0
"""Wait between a failure and the next try; it doubles each time."""
SHARE: Final = 4
"""After a sync, the thread rests for this many times its computing time, but no longer than between two looks."""

log = logging.getLogger(__name__)


class AutomaticSync:
    """The thread that syncs beside a `follow`."""

    def __init__(self, settings: Settings, on_synced: Callable[["Synced"], object] = lambda _: None) -> None:
        self._settings = settings
        self._on_synced = on_synced
        self._shared: SharedWriter | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._sources: set[str] = set()
        self._has_news = self._has_forgotten = self._has_replaced = False
        self._thread: threading.Thread | None = None
        self._own_lock: FileLock | None = None
        self._tries: dict[str, tuple[float, float]] = {}
        """Time of the next try and length of the wait, for each remote that failed."""

    def begin(self, shared: "SharedWriter") -> None:
        """Start, or continue with the newly opened archive."""
        self._shared = shared
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sync", daemon=True)
            self._thread.start()

    def changed(self) -> None:
        """Wake the thread: a file was kept."""
        self._wake.set()

    def sync_now(self) -> None:
        """Sync soon, regardless of earlier failures."""
        self._tries.clear()
        self._wake.set()

    def news(self) -> "News | None":
        """Return the additions from other machines since the last call; None if there are none."""
        # Not at the top: a process that follows has imported it already, and a plain sync does not need it.
        from backscroll.library.indexing.follow import News

        with self._lock:
            if not self._has_news:
                return None
            taken = News(tuple(sorted(self._sources)), self._has_forgotten, self._has_replaced)
            self._sources = set()
            self._has_news = self._has_forgotten = self._has_replaced = False
            return taken

    def end(self) -> None:
        """Stop. A running request to a remote is not waited for: it can no longer write to the archive."""
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                worked = time.thread_time()
                self._sync_all()
                self._rest(time.thread_time() - worked)
        finally:
            if self._own_lock is not None:
                self._own_lock.release()

    def _rest(self, worked: float) -> None:
        """Wait for a change, or for the next look or try."""
        if self._stop.wait(min(SHARE * worked, LOOK_SECONDS)):
            return
        next_try = min((due for due, _ in self._tries.values()), default=float("inf"))
        self._wake.wait(max(0.0, min(LOOK_SECONDS, next_try - time.monotonic())))
        self._wake.clear()
        self._stop.wait(QUIET_SECONDS)

    def _sync_all(self) -> None:
        self._forget_agreed()
        try:
            remotes = read_remotes(self._settings)
            if remotes and self._own_lock is None:
                private_folder(sync_folder_of(self._settings))
                self._own_lock = FileLock(_lock_path(self._settings), "", "")
                threading.Thread(target=self._watch_folders, name="sync-folders", daemon=True).start()
        except Busy:  # another process syncs in the background
            return
        except (BackscrollError, OSError) as error:
            log.warning("the remotes cannot be read: %s", error)
            return
        for remote in remotes.values():
            due, _ = self._tries.get(remote.name, (0.0, 0.0))
            if not remote.is_paused and not self._stop.is_set() and time.monotonic() >= due:
                self._sync(remote)

    def _watch_folders(self) -> None:
        """Sync as soon as another machine has changed a folder."""
        from backscroll.library.syncing.folder_watch import watch_folders  # most libraries have no remote

        while not self._stop.is_set():
            try:
                watch_folders(self._settings, self._wake.set, self._stop)
            except (BackscrollError, OSError) as error:  # the remotes cannot be read, which the sync reports
                log.warning("folders cannot be watched: %s", error)
                self._stop.wait(LOOK_SECONDS)

    def _forget_agreed(self) -> None:
        """Remove chats that the user agreed to forget in another process, which could not: the archive is open here."""
        if self._shared is None or not requests_stamp(self._settings):
            return
        from backscroll.library.syncing.forgets import forget_agreed  # no one ever asked most libraries

        try:
            chats = forget_agreed(self._settings, self._shared.using)
        except (BackscrollError, OSError) as error:
            log.warning("what was agreed to cannot be forgotten: %s", error)
            return
        if chats:
            with self._lock:
                self._has_news = self._has_forgotten = True

    def _sync(self, remote: RemoteSettings) -> None:
        from backscroll.library.syncing.sync import sync  # most libraries have no remote

        shared = self._shared
        if shared is None:
            return
        before = stamp_of(archive_folder(self._settings))
        try:
            if find_archive(self._settings) is None:
                return
            done = sync(self._settings, remote, writing=shared.using, fills_empty=False)
        except Busy:  # another process syncs it at this moment
            return
        except Exception as error:  # any error: following continues, and so does syncing
            self._note_failure(remote.name, error)
            if stamp_of(archive_folder(self._settings)) != before:  # additions may be kept in part
                with self._lock:
                    self._has_news = True
            return
        self._tries.pop(remote.name, None)
        if done.has_taken:
            with self._lock:
                self._has_news = True
                self._has_forgotten |= bool(done.forgotten)
                self._has_replaced |= done.must_rebuild
                self._sources |= done.pulled.sources
        if not self._stop.is_set():
            self._on_synced(done)

    def _note_failure(self, name: str, error: Exception) -> None:
        _, waited = self._tries.get(name, (0.0, 0.0))
        wait = min(max(FIRST_WAIT, 2 * waited), LONGEST_WAIT)
        self._tries[name] = (time.monotonic() + wait * random.uniform(0.8, 1.2), wait)  # noqa: S311 - not a secret
        if isinstance(error, BackscrollError):
            log.warning("%s: %s; trying again in %.0f s", name, error, wait)
            return
        log.error("%s: sync failed; trying again in %.0f s", name, wait, exc_info=error)
        with suppress(BackscrollError, OSError):
            note_remote(self._settings, name, problem=f"{type(error).__name__}: {error}")


def syncs_by_itself(settings: Settings) -> bool:
    """Whether a running process syncs in the background."""
    try:
        FileLock(_lock_path(settings), "", "").release()
    except Busy:
        return True
    except OSError:
        return False
    return False


def sync_quietly(settings: Settings) -> list["Synced"]:
    """Sync every remote that is not paused, unless a process does so in the background. Failures are noted."""
    from backscroll.library.homes import open_homes
    from backscroll.library.local import local_library
    from backscroll.library.syncing.each_remote import sync_each
    from backscroll.library.syncing.sync import sync

    if syncs_by_itself(settings):
        return []
    active = [remote for remote in read_remotes(settings).values() if not remote.is_paused]
    outcomes = sync_each(settings, active, lambda remote: sync(settings, remote, fills_empty=False))
    done = [outcome.done for outcome in outcomes if outcome.done is not None]
    if any(outcome.must_rebuild for outcome in done):
        with suppress(BackscrollError), local_library(settings, open_homes(settings)) as library:
            library.rebuild()
    return done


def _lock_path(settings: Settings) -> Path:
    return sync_folder_of(settings) / "automatic.lock"
