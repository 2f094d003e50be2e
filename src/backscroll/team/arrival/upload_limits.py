"""Limits on uploads in one web process: how many run at the same time, and how much memory they take together.

The memory of an upload is estimated from its unpacked size.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from backscroll.errors import Busy

MAX_AT_ONCE: Final = {True: 64, False: 16}
MAX_OF_PERSON: Final = {True: 24, False: 4}
"""Greatest numbers of uploads under way in this process, in all and of one person, by whether they are small."""


class UploadSlots:
    """Slots for uploads, limited in all and for each person."""

    def __init__(self) -> None:
        self._running: Counter[tuple[str, bool]] = Counter()
        """The number of uploads under way, by person and whether they are small; without a person, of everyone."""

    @asynccontextmanager
    async def slot(self, person: str, *, is_small: bool) -> AsyncIterator[None]:
        """Count an upload while it is under way; Busy if there are too many."""
        own, every = (person, is_small), ("", is_small)
        if self._running[own] >= MAX_OF_PERSON[is_small] or self._running[every] >= MAX_AT_ONCE[is_small]:
            raise Busy("many devices are sending right now", "try again in a moment")
        self._running.update((own, every))
        try:
            yield
        finally:
            self._running.subtract((own, every))
            if not self._running[own]:
                del self._running[own]


class ByteBudget:
    """A number of bytes for all. Each upload waits, in order, until there is room; a larger one until it is alone."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def taking(self, size: int) -> AsyncIterator[None]:
        """Wait for room for a number of bytes, and give it back at the end."""
        size = min(size, self._most)
        async with self._turn:  # first come, first served: a large one does not wait forever behind small ones
            while self._left < size:
                self._freed.clear()
                await self._freed.wait()
            self._left -= size
        try:
            yield
        finally:
            self._left += size
            self._freed.set()
