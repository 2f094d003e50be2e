"""Sync by itself: beside `watch`, `open` and `sync --watch`, and after a hook has kept something.

While a process follows the homes, it has the archive open for writing, so the sync runs in a thread beside it and
shares the archive. The archive is held for one bundle at a time and never while a remote is waited for: a remote that
is slow or away holds up nothing. What went wrong is shown by `sync status`, `status` and the viewer.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll.disk import FileLock, private_folder
from backscroll.errors import BackscrollError, Busy
from backscroll.library.archives import find_archive
from backscroll.library.syncing.remote_settings import RemoteSettings, note_remote, read_remotes, sync_folder_of
from backscroll.settings import Settings

if TYPE_CHECKING:
    from backscroll.library.indexing.follow import News
    from backscroll.library.indexing.shared_writer import SharedWriter
    from backscroll.library.syncing.sync import Synced

QUIET_SECONDS: Final = 0.2
"""How long after a change a sync begins: what is written in one go leaves in one object."""
LOOK_SECONDS: Final = 60.0
"""How often a remote is looked at while nothing changes here."""
FIRST_WAIT: Final = 5.0
LONGEST_WAIT: Final = 600.0
"""Between a failure and the next try; the wait doubles each time."""
SHARE: Final = 4
"""After a sync, the thread rests for this many times as long as it computed, but no longer than between two looks."""

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
        """Of each remote that failed: when it is tried again, and how long the wait was."""

    def begin(self, shared: "SharedWriter") -> None:
        """The archive is open for writing; begin, or go on with it."""
        self._shared = shared
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sync", daemon=True)
            self._thread.start()

    def changed(self) -> None:
        """Something was kept."""
        self._wake.set()

    def sync_now(self) -> None:
        """Sync soon, whatever failed before."""
        self._tries.clear()
        self._wake.set()

    def news(self) -> "News | None":
        """What was taken from other machines since this was last asked."""
        # Not at the top: a process that follows has imported it already, and a plain sync does without.
        from backscroll.library.indexing.follow import News

        with self._lock:
            if not self._has_news:
                return None
            found = News(tuple(sorted(self._sources)), self._has_forgotten, self._has_replaced)
            self._sources = set()
            self._has_news = self._has_forgotten = self._has_replaced = False
            return found

    def end(self) -> None:
        """Stop. A request to a remote that is under way is not waited for: the archive is closed for it."""
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
        """Wait for a change, or until it is time to look or to try again."""
        if self._stop.wait(min(SHARE * worked, LOOK_SECONDS)):
            return
        next_try = min((due for due, _ in self._tries.values()), default=float("inf"))
        self._wake.wait(max(0.0, min(LOOK_SECONDS, next_try - time.monotonic())))
        self._wake.clear()
        self._stop.wait(QUIET_SECONDS)

    def _sync_all(self) -> None:
        try:
            remotes = read_remotes(self._settings)
            if remotes and self._own_lock is None:
                private_folder(sync_folder_of(self._settings))
                self._own_lock = FileLock(_lock_path(self._settings), "", "")
        except Busy:  # another process syncs by itself
            return
        except (BackscrollError, OSError) as error:
            log.warning("the remotes cannot be read: %s", error)
            return
        for remote in remotes.values():
            due, _ = self._tries.get(remote.name, (0.0, 0.0))
            if not remote.is_paused and not self._stop.is_set() and time.monotonic() >= due:
                self._sync(remote)

    def _sync(self, remote: RemoteSettings) -> None:
        from backscroll.library.syncing.sync import sync  # most libraries have no remote

        shared = self._shared
        if shared is None:
            return
        try:
            if find_archive(self._settings) is None:
                return
            done = sync(self._settings, remote, writing=shared.using, fills_empty=False)
        except Busy:  # another process syncs it at this moment
            return
        except Exception as error:  # anything: following goes on, and so does syncing
            self._note_failure(remote.name, error)
            return
        self._tries.pop(remote.name, None)
        if done.has_taken:
            with self._lock:
                self._has_news = True
                self._has_forgotten |= bool(done.pulled.forgotten)
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
    """Whether a process that runs now syncs by itself."""
    try:
        FileLock(_lock_path(settings), "", "").release()
    except Busy:
        return True
    except OSError:
        return False
    return False


def sync_quietly(settings: Settings) -> list["Synced"]:
    """Sync every remote that is not paused, unless a process does so by itself. What fails is noted, not raised."""
    from backscroll.library.homes import open_homes
    from backscroll.library.local import local_library
    from backscroll.library.syncing.sync import sync

    done: list[Synced] = []
    if syncs_by_itself(settings):
        return done
    for remote in read_remotes(settings).values():
        if not remote.is_paused:
            with suppress(BackscrollError):
                done.append(sync(settings, remote, fills_empty=False))
    if any(one.must_rebuild for one in done):
        with suppress(BackscrollError), local_library(settings, open_homes(settings)) as library:
            library.rebuild()
    return done


def _lock_path(settings: Settings) -> Path:
    return sync_folder_of(settings) / "automatic.lock"
