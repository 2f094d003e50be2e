"""A pool of open libraries that a background thread keeps up to date while calls come in."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import Home, StoredChat
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.pool import LibraryOpener, Pool
from backscroll.settings import Settings

PAUSE: Final = 3.0
"""Seconds between two updates. Without calls there are no updates."""
PATIENCE: Final = 1.0
"""Seconds that a call waits for an update: nearly always there is little to read."""

log = logging.getLogger(__name__)


class Stopped(Exception):  # noqa: N818 - it never leaves this module
    """Raised in an update when the server is stopping."""


class RefreshedPool(Pool):
    """Open libraries, one per concurrent call, and the thread that updates them."""

    def __init__(self, settings: Settings, homes: Sequence[Home], opener: LibraryOpener = local_library) -> None:
        super().__init__(settings, homes, opener)
        self._read: ChatReader | None = None
        self._wanted = threading.Event()
        self._fresh = threading.Event()
        self._stopped = threading.Event()
        self._looked = float("-inf")
        self.trouble = ""
        """Error of the last update; empty if it succeeded."""
        self._thread: threading.Thread | None = None

    @contextmanager
    def library(self) -> Iterator[Library]:
        """Yield a library for one call, up to date if that does not take long."""
        self._wait_until_fresh()
        with super().library() as library:
            yield library

    def browse(self, library: Library, stored: StoredChat) -> ChatReader:
        """Return a reader for a chat; the last one is reused if the chat has not changed."""
        reader = self._read
        if reader is None or reader.stored != stored:
            self._read = reader = ChatReader(library, stored)
        return reader

    # Keeping it fresh

    def start(self) -> None:
        """Start the thread: it updates now, and when a call comes after a pause."""
        self._wanted.set()
        self._thread = threading.Thread(target=self._keep_fresh, name="freshness", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and close the libraries."""
        self._stopped.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(10)
        super().close()

    def _wait_until_fresh(self) -> None:
        if self._thread is None:
            return
        if time.monotonic() - self._looked > PAUSE:
            self._fresh.clear()
            self._wanted.set()
        self._fresh.wait(PATIENCE)

    def _keep_fresh(self) -> None:
        """Update whenever a call wants it. A failure does not end the thread: the next update may succeed."""
        while self._next_look():
            try:
                with self.open() as library:
                    library.refresh(with_text=True, progress=StopCheck(self._stopped))
            except Stopped:
                return
            except Exception as error:  # anything: without this thread answers would silently become stale
                is_expected = isinstance(error, BackscrollError | OSError)
                log.warning("the library could not be brought up to date: %s", error, exc_info=not is_expected)
                self._end_look(str(error) if is_expected else f"{type(error).__name__}: {error}")
            else:
                self._end_look("")

    def _next_look(self) -> bool:
        """Wait until a call wants an update; False when stopping."""
        self._wanted.wait()
        self._wanted.clear()
        return not self._stopped.is_set()

    def _end_look(self, trouble: str) -> None:
        """Record the result, and let waiting calls continue."""
        self.trouble = trouble
        self._looked = time.monotonic()
        self._fresh.set()


class StopCheck:
    """Progress that interrupts an update when the server stops. The part that was read is kept."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:  # noqa: ARG002
        """Check for the stop when a new task starts."""
        self.add(0)

    def add(self, count: int) -> None:  # noqa: ARG002
        """Check for the stop as the task goes on."""
        if self._stopped.is_set():
            raise Stopped
