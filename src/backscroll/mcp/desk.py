"""What the server holds: libraries to read from, one for each call that runs at the same time, and their freshness."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import Browsed, Home, Library, StoredChat
from backscroll.library.pool import Pool
from backscroll.settings import Settings

PAUSE: Final = 3.0
"""Between two looks at the homes, in seconds. Nobody looks while nobody asks."""
PATIENCE: Final = 1.0
"""How long a call waits for a look at the homes to end: nearly always there is little to read."""

log = logging.getLogger(__name__)


class Stopped(Exception):  # noqa: N818 - it never leaves this module
    """The server ends."""


class Desk(Pool):
    """Where calls come to be answered."""

    def __init__(self, settings: Settings, homes: Sequence[Home]) -> None:
        super().__init__(settings, homes)
        self._read: Browsed | None = None
        self._wanted = threading.Event()
        self._fresh = threading.Event()
        self._stopped = threading.Event()
        self._looked = float("-inf")
        self.trouble = ""
        """Why the library could not be brought up to date, if it could not."""
        self._thread: threading.Thread | None = None

    @contextmanager
    def library(self) -> Iterator[Library]:
        """A library that nobody else reads from meanwhile, brought up to date if that is soon done."""
        self._wait_until_fresh()
        with super().library() as library:
            yield library

    def browse(self, library: Library, stored: StoredChat) -> Browsed:
        """A chat to be read; the one that was read last is still open if nothing was added to it."""
        found = self._read
        if found is None or found.stored != stored:
            self._read = found = Browsed(library, stored)
        return found

    # Keeping it fresh

    def start(self) -> None:
        """Bring the library up to date beside the calls, now and whenever one comes after a pause."""
        self._wanted.set()
        self._thread = threading.Thread(target=self._keep_fresh, name="freshness", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go of everything."""
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
        with Library(self.settings, self.homes) as library:
            while True:
                self._wanted.wait()
                self._wanted.clear()
                if self._stopped.is_set():
                    return
                try:
                    library.renew()
                    library.refresh(with_text=True, progress=Until(self._stopped))
                    self.trouble = ""
                except Stopped:
                    return
                except (BackscrollError, OSError) as error:  # what is there must do; the next look may go better
                    self.trouble = str(error)
                    log.warning("the library could not be brought up to date: %s", error)
                self._looked = time.monotonic()
                self._fresh.set()


class Until:
    """Ends an update where it stands. Whatever was read until then is kept."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:  # noqa: ARG002
        """Something new begins."""
        self.add(0)

    def add(self, count: int) -> None:  # noqa: ARG002
        """So much more is done."""
        if self._stopped.is_set():
            raise Stopped
