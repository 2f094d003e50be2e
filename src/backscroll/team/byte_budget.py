"""How much memory requests take together: each waits, in order, until there is room for what it takes.

The bound holds in one process. What a request takes is judged by what comes out of compression.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ByteBudget:
    """So many bytes in all. A request that takes more waits until it is alone."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def taking(self, size: int) -> AsyncIterator[None]:
        """Wait for room for so many bytes, and give it back at the end."""
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
