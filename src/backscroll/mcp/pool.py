"""What the server holds: libraries to read from, one for each call that runs at the same time, and their freshness."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import ChatReader, Home, Library, StoredChat, local_library
from backscroll.library.pool import Pool
from backscroll.settings import Settings

PAUSE: Final = 3.0
"""Between two looks at the homes, in seconds. Nobody looks while nobody asks."""
PATIENCE: Final = 1.0
"""How long a call waits for a look at the homes to end: nearly always there is little to read."""

log = logging.getLogger(__name__)


class Stopped(Exception):  # noqa: N818 - it never leaves this module
    """The server ends."""


class RefreshedPool(Pool):
    """Where calls come to be answered."""

    def __init__(self, settings: Settings, homes: Sequence[Home]) -> None:
        super().__init__(settings, homes)
        self._read: ChatReader | None = None
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

    def browse(self, library: Library, stored: StoredChat) -> ChatReader:
        """A chat to be read; the one that was read last is still open if nothing was added to it."""
        found = self._read
        if found is None or found.stored != stored:
            self._read = found = ChatReader(library, stored)
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
        """Look at the homes whenever a call wants it, until the end. No failure ends it: the next look may succeed."""
        while self._next_look():
            try:
                with local_library(self.settings, self.homes) as library:
                    library.refresh(with_text=True, progress=StopCheck(self._stopped))
            except Stopped:
                return
            except Exception as error:  # whatever it is: without this thread every answer would grow old in silence
                is_expected = isinstance(error, BackscrollError | OSError)
                log.warning("the library could not be brought up to date: %s", error, exc_info=not is_expected)
                self._end_look(str(error) if is_expected else f"{type(error).__name__}: {error}")
            else:
                self._end_look("")

    def _next_look(self) -> bool:
        """Wait until a call wants a look; False at the end."""
        self._wanted.wait()
        self._wanted.clear()
        return not self._stopped.is_set()

    def _end_look(self, trouble: str) -> None:
        """A look is over; calls that wait for it go on."""
        self.trouble = trouble
        self._looked = time.monotonic()
        self._fresh.set()


class StopCheck:
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
