"""What the server holds: libraries to read from, one for each request that runs at the same time."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread

from backscroll.errors import Busy
from backscroll.library import Home, OpenChats
from backscroll.library.pool import Pool
from backscroll.settings import Settings

MOST_CHANGES: Final = 4
"""Requests that change something and run at the same time: they may have to wait for a lock."""
MOST_WAITING: Final = 16

Made = TypeVar("Made")


class WriteThreads:
    """Threads for requests that change something, so that those that only read never wait for a lock."""

    def __init__(self) -> None:
        self._threads: CapacityLimiter | None = None  # made in the loop of the server
        self._running = 0

    async def run(self, change: Callable[[], Made]) -> Made:
        """Run it in a thread; Busy at once where too many wait already."""
        if self._running >= MOST_CHANGES + MOST_WAITING:
            raise Busy("too many changes at once", "try again in a moment")
        self._threads = self._threads or CapacityLimiter(MOST_CHANGES)
        self._running += 1
        try:
            return await to_thread.run_sync(change, limiter=self._threads)
        finally:
            self._running -= 1


class ViewerState(Pool):
    """Where requests come to be answered."""

    def __init__(self, settings: Settings, homes: Sequence[Home]) -> None:
        super().__init__(settings, homes)
        self.open_chats = OpenChats()
        self.changes = WriteThreads()
