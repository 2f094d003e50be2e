"""Whose request is answered next in this process, so that one person cannot hold up everyone.

Each person has one request under way at a time, and all together have few. The rest wait in order.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MAX_AT_ONCE: Final = 5
"""Requests under way. Each may hold three connections to the database."""


class Turns:
    """Gives requests of people their turns, in one event loop."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._waiting: OrderedDict[asyncio.Future[None], int] = OrderedDict()

    async def take(self, person: int) -> Callable[[], None]:
        """Wait for a turn; call what is returned, once or more often, when it ends."""
        if self._may_begin(person):
            self._running.add(person)
        else:
            await self._wait(person)
        is_over = False

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self._end(person)

        return end

    async def _wait(self, person: int) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = person
        try:
            await turn
        except asyncio.CancelledError:
            if self._waiting.pop(turn, None) is None:  # it had its turn already
                self._end(person)
            raise

    def _end(self, person: int) -> None:
        self._running.discard(person)
        for turn, waiting in [*self._waiting.items()]:
            if self._may_begin(waiting):
                del self._waiting[turn]
                if not turn.cancelled():
                    self._running.add(waiting)
                    turn.set_result(None)

    def _may_begin(self, person: int) -> bool:
        return person not in self._running and len(self._running) < MAX_AT_ONCE
