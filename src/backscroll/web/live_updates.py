"""The thread that follows the homes while the viewer runs, and tells open pages which chats changed.

It restarts after any failure: the failure is logged and shown on the pages, and the wait doubles each time. Then open
chats and pages catch up with what they missed.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from backscroll.errors import BackscrollError, Busy
from backscroll.httpd.connections import Connections
from backscroll.library.homes import live_sessions
from backscroll.library.indexing.follow import WATCHING, follow, observe
from backscroll.library.library import Library
from backscroll.library.syncing.automatic import AutomaticSync
from backscroll.records.sidecars import LiveSession
from backscroll.web.events import ChangeFeed, FollowFailure
from backscroll.web.state import ViewerState

TRY_AGAIN_SECONDS: Final = 15.0
"""Seconds to leave updates to another process before trying again."""
FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0
"""Longest wait between a failure and the next start, in seconds."""
LONGEST_REASON: Final = 300

log = logging.getLogger(__name__)


class LiveUpdates:
    """The thread and its event feed."""

    def __init__(self, state: ViewerState, connections: Connections | None = None) -> None:
        self.feed = ChangeFeed(connections or Connections())
        self._state = state
        self._stop = threading.Event()
        self._pause = threading.Event()
        self._thread: threading.Thread | None = None
        self._sync: AutomaticSync | None = None
        self._clients: dict[str, LiveSession] = {}
        """State that each client reported when last asked, by session."""

    def start(self) -> None:
        """Start the thread; call it in the server's event loop."""
        self.feed.attach()
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait until pending writes are done."""
        self._stop.set()
        self._pause.set()
        self.feed.end()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def sync_now(self) -> bool:
        """Sync soon; return False if another process follows the homes."""
        if self._sync is not None:
            self._sync.sync_now()
        return self._sync is not None

    def _run(self) -> None:
        wait = FIRST_WAIT
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                self._follow_or_observe()
            except Exception as error:  # anything: without this thread no page would update
                if time.monotonic() - started > LONGEST_WAIT:
                    wait = FIRST_WAIT
                self._tell_trouble(error, wait)
                self._stop.wait(wait)
                wait = min(2 * wait, LONGEST_WAIT)

    def _follow_or_observe(self) -> None:
        try:
            with self._state.open() as library:
                progress = _ProgressEvents(self.feed, self._start_following)
                self._sync = AutomaticSync(self._state.settings)
                for followed in follow(library, self._stop, progress, self._sync, command="backscroll open"):
                    self._tell(followed.sources)
        except Busy:  # another process updates the library: only watch
            self._sync = None
            self._observe()
        finally:
            self._state.counted_parts.stop()

    def _observe(self) -> None:
        self._pause.clear()
        if self._stop.is_set():
            return
        timer = threading.Timer(TRY_AGAIN_SECONDS, self._pause.set)
        timer.start()
        try:
            with self._state.open() as library:
                self._catch_up()
                for followed in observe(library, self._pause):
                    self._tell(followed.sources)
        finally:
            timer.cancel()

    def _tell(self, sources: Sequence[str]) -> None:
        self._state.counted_parts.changed()
        with self._state.library() as library:
            chats = self._state.open_chats.take(library, sources)
            self._state.recent_writes.note(library, sources)
            chats = sorted({*chats, *self._of_clients(library)})
        if chats:
            self.feed.tell(chats)

    def _of_clients(self, library: Library) -> Iterator[str]:
        """Yield the chats whose clients began, ended, or report another state."""
        before, self._clients = self._clients, live_sessions(library.homes)
        for session in before.keys() | self._clients.keys():
            if before.get(session) != self._clients.get(session):
                with suppress(BackscrollError):
                    yield library.find(session).overview.id

    def _start_following(self) -> None:
        # Every change comes through this thread now. While another process writes, we learn of files, not of rows.
        self._state.counted_parts.keep()
        self._catch_up()

    def _catch_up(self) -> None:
        """Read what was added to open chats before following started."""
        with self._state.library() as library:
            chats = self._state.open_chats.catch_up(library)
        self.feed.tell_progress(None)
        self.feed.tell_trouble(None)
        if chats:
            self.feed.tell(chats)

    def _tell_trouble(self, error: Exception, wait: float) -> None:
        is_expected = isinstance(error, BackscrollError | OSError)
        log.error("live updates stopped; trying again in %.0f s: %s", wait, error, exc_info=not is_expected)
        reason = str(error) if is_expected else f"{type(error).__name__}: {error}"
        self.feed.tell_progress(None)
        self.feed.tell_trouble(FollowFailure(reason[:LONGEST_REASON].rstrip("."), round(wait)))


class _ProgressEvents:
    """Passes the progress of an update to the feed, at a readable rate."""

    STEPS: Final = 200

    def __init__(self, feed: ChangeFeed, on_watching: Callable[[], None]) -> None:
        self._feed = feed
        self._on_watching = on_watching
        self._what, self._done, self._total, self._said = "", 0, 1, 0

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Announce the start of a task."""
        if what == WATCHING:
            self._on_watching()
            return
        self._what, self._unit = what, unit
        self._done, self._total, self._said = 0, max(1, total), 0
        self._say()

    def add(self, count: int) -> None:
        """Add to the progress."""
        self._done += count
        step = self._done * self.STEPS // self._total
        if step != self._said:
            self._said = step
            self._say()

    def _say(self) -> None:
        self._feed.tell_progress({"what": self._what, "done": self._done, "total": self._total, "unit": self._unit})
