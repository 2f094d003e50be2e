"""A fair queue of requests in one process, so that no one can hold up everyone.

Each person has one request under way at a time, and all together have few. The rest wait in order. A person who has
asked nearly all the time lately pauses three times as long as each answer took, if others ask, too: the threads of a
process take turns, and making pages for one person would slow down everyone's searches. Strangers, who are known by an
address only, have turns of their own.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias

MAX_AT_ONCE: Final = 5
"""Requests under way at most. Each may hold three connections to the database."""
RECENTLY: Final = 5.0
"""Half-life in seconds of the counted use, and time after which a person no longer counts as asking."""
MUCH: Final = 1.0
"""Seconds of answers within that time after which a person has to pause."""
PAUSE: Final = 3.0
"""Length of a pause, in times of the answer."""

Asker: TypeAlias = int | str
"""A person's number; with a minus, that person's agents; or the address of a stranger."""


class RequestQueue:
    """A queue that gives requests of people their turns, in one event loop."""

    def __init__(self) -> None:
        self._running: set[Asker] = set()
        self._waiting: OrderedDict[asyncio.Future[None], Asker] = OrderedDict()
        self._used: OrderedDict[Asker, tuple[float, float]] = OrderedDict()
        """Seconds of answers of each person, and when they were counted; the latest last."""

    async def wait_turn(self, person: Asker) -> Callable[[], None]:
        """Wait for a turn; return a function that ends it, and may be called more than once."""
        if self._may_begin(person):
            self._running.add(person)
        else:
            await self._wait(person)
        loop, is_over = asyncio.get_running_loop(), False
        began = loop.time()

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                pause = self._note(person, began, loop.time())
                loop.call_later(pause, self._end, person)

        return end

    def _note(self, person: Asker, began: float, now: float) -> float:
        """Count an answer; return how long the person has to pause."""
        used, at = self._used.pop(person, (0.0, now))
        used = used * 0.5 ** ((now - at) / RECENTLY) + now - began
        while self._used and now - next(iter(self._used.values()))[1] > RECENTLY:
            self._used.popitem(last=False)
        is_alone = not self._used
        self._used[person] = used, now
        return 0.0 if is_alone or used < MUCH else PAUSE * (now - began)

    async def _wait(self, person: Asker) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = person
        try:
            await turn
        except asyncio.CancelledError:
            if self._waiting.pop(turn, None) is None:  # it had its turn already
                self._end(person)
            raise

    def _end(self, person: Asker) -> None:
        self._running.discard(person)
        for turn, waiting in [*self._waiting.items()]:
            if self._may_begin(waiting):
                del self._waiting[turn]
                if not turn.cancelled():
                    self._running.add(waiting)
                    turn.set_result(None)

    def _may_begin(self, person: Asker) -> bool:
        return person not in self._running and len(self._running) < MAX_AT_ONCE
