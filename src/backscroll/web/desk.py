"""What the server holds: libraries to read from, one for each request that runs at the same time."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from backscroll.library import Browser, Home, Library
from backscroll.settings import Settings

MOST_IDLE: Final = 8


class Desk:
    """Where requests come to be answered."""

    def __init__(self, settings: Settings, homes: Sequence[Home]) -> None:
        self.settings = settings
        self.homes = list(homes)
        self.browser = Browser()
        self._idle: list[Library] = []
        self._lock = threading.Lock()

    @contextmanager
    def library(self) -> Iterator[Library]:
        """A library that nobody else reads from meanwhile, knowing what has happened until now."""
        with self._lock:
            library = self._idle.pop() if self._idle else None
        library = library or Library(self.settings, self.homes)
        library.renew()
        try:
            yield library
        finally:
            with self._lock:
                is_kept = len(self._idle) < MOST_IDLE
                if is_kept:
                    self._idle.append(library)
            if not is_kept:
                library.close()

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            idle, self._idle = self._idle, []
        for library in idle:
            library.close()
