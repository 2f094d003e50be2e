"""State shared by requests: a pool of open libraries, open chats, and threads for writing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from backscroll.errors import Busy
from backscroll.library import Home
from backscroll.library.chats.open_chats import MAX_ROWS, OpenChats
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.pool import LibraryOpener, Pool
from backscroll.settings import Settings
from backscroll.web.counted_parts import CountedParts
from backscroll.web.recent_writes import RecentWrites

MAX_CHANGES: Final = 4
"""Writing requests that run at the same time; each may have to wait for a lock."""
MAX_WAITING: Final = 16

Made = TypeVar("Made")


class WriteThreads:
    """Threads for writing requests, so that reading requests never wait behind a lock."""

    def __init__(self) -> None:
        self._threads: CapacityLimiter | None = None  # created in the server's event loop
        self._running = 0

    async def run(self, change: Callable[[], Made]) -> Made:
        """Run `change` in a thread; Busy if too many are waiting already."""
        if self._running >= MAX_CHANGES + MAX_WAITING:
            raise Busy("too many changes at once", "try again in a moment")
        self._threads = self._threads or CapacityLimiter(MAX_CHANGES)
        self._running += 1
        try:
            return await to_thread.run_sync(change, limiter=self._threads)
        finally:
            self._running -= 1


class ViewerState(Pool):
    """The pool of libraries, and the chats that pages have open."""

    def __init__(
        self,
        settings: Settings,
        homes: Sequence[Home],
        opener: LibraryOpener = local_library,
        *,
        max_rows: int = MAX_ROWS,
        closes_idle: bool = False,
    ) -> None:
        """Keep at most `max_rows` rows of open chats in memory."""
        super().__init__(settings, homes, opener, closes_idle=closes_idle)
        self.open_chats = OpenChats(max_rows)
        self.changes = WriteThreads()
        self.counted_parts = CountedParts()
        self.recent_writes = RecentWrites(self.homes)

    @contextmanager
    def library(self) -> Iterator[Library]:
        """Yield a library for exclusive use, which knows the sessions being written."""
        with super().library() as library:
            library.growing = self.recent_writes.sessions()
            yield library


def viewer_of(request: Request) -> ViewerState:
    """Return the libraries that answer a request: those of this machine, or, on a team server, of the asker."""
    viewer: ViewerState = request.scope.get(VIEWER) or request.app.state.viewer
    return viewer


VIEWER: Final = "backscroll.viewer"
"""Key in the scope of a request under which the server puts the libraries that the asker may see."""
PROMPTS: Final = "backscroll.prompts"
"""Key in the scope of the prompts that the asker may use."""
