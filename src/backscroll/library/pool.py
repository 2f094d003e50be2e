"""Open libraries, reused from one request to the next: each serves one reader at a time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.settings import Settings

MAX_IDLE: Final = 2
"""Number of idle libraries that are kept. Each may hold another state of the archive and the text index: 45 MB with
300,000 rows and 55,000 captures. Opening one takes 12 ms.
"""


LibraryOpener = Callable[[Settings, Sequence[Home]], Library]
"""A function that opens a library with its store: `local_library` for one on this machine."""


class Pool:
    """Lends a library to each thread that needs one."""

    def __init__(
        self, settings: Settings, homes: Sequence[Home], opener: LibraryOpener, *, closes_idle: bool = False
    ) -> None:
        """Create a pool. With `closes_idle`, idle libraries hold no connection to a database."""
        self._closes_idle = closes_idle
        self.settings = settings
        self.homes = list(homes)
        self._opener = opener
        self._idle: list[Library] = []
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def library(self) -> Iterator[Library]:
        """Lend a library for exclusive use, with a fresh view of marks and live sessions."""
        with self._lock:
            library = self._idle.pop() if self._idle else None
        library = library or self.open()
        try:
            library.renew()
            yield library
        finally:
            if self._closes_idle:
                library.close()  # it opens again on its next use
            with self._lock:
                is_kept = len(self._idle) < MAX_IDLE and not self._is_closed
                if is_kept:
                    self._idle.append(library)
            if not is_kept:
                library.close()

    def open(self) -> Library:
        """Open a library that the caller closes, for threads that keep one."""
        return self._opener(self.settings, self.homes)

    def close(self) -> None:
        """Close all libraries; those in use are closed when their reader is done."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for library in idle:
            library.close()
