"""Whose request is answered next in this process, so that one person cannot hold up everyone.

A person has few requests under way at the same time, and only one while others ask, too. The rest wait in order.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

MAX_AT_ONCE: Final = 6
MAX_OF_ONE: Final = 3
"""Requests under way in all, and of one person. Each may hold three connections to the database."""
RECENTLY: Final = 10.0
"""Seconds after which a person no longer counts as one who asks."""


class Turns:
    """Gives requests of people their turns, in one event loop."""

    def __init__(self) -> None:
        self._running: Counter[int] = Counter()
        self._waiting: OrderedDict[asyncio.Future[None], int] = OrderedDict()
        self._asked: OrderedDict[int, float] = OrderedDict()
        """When each person last asked, the latest last."""

    async def take(self, person: int) -> Callable[[], None]:
        """Wait for a turn; call what is returned, once or more often, when it ends."""
        loop = asyncio.get_running_loop()
        self._note(person, loop.time())
        if not self._may_begin(person):
            turn = loop.create_future()
            self._waiting[turn] = person
            try:
                await turn
            except BaseException:
                if not self._waiting.pop(turn, None) and turn.done() and not turn.cancelled():
                    self._end(person)
                raise
        else:
            self._running[person] += 1
        is_over = False

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self._end(person)

        return end

    def _end(self, person: int) -> None:
        self._running[person] -= 1
        if not self._running[person]:
            del self._running[person]
        for turn, waiting in [*self._waiting.items()]:
            if self._may_begin(waiting) and not turn.done():
                del self._waiting[turn]
                self._running[waiting] += 1
                turn.set_result(None)

    def _may_begin(self, person: int) -> bool:
        is_alone = len(self._asked) == 1
        return self._running.total() < MAX_AT_ONCE and self._running[person] < (MAX_OF_ONE if is_alone else 1)

    def _note(self, person: int, now: float) -> None:
        self._asked[person] = now
        self._asked.move_to_end(person)
        while now - next(iter(self._asked.values())) > RECENTLY:
            self._asked.popitem(last=False)
