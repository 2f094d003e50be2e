"""How long the colours of code may take. Nothing here reads a clock: whoever asks for a page hands one over.

Some lexers take the square of a text's length, and only a clock can tell. Without one, only short texts are coloured.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Clock = Callable[[], float]
"""Seconds that passed since whenever; best those of the thread, so that a busy machine costs no colours."""

LONGEST_BLOCK: Final = 0.4
LONGEST_PAGE: Final = 1.2
"""In seconds: for one block of code, and for all that are made together, such as a hundred messages."""


class TimeLimitReached(Exception):  # noqa: N818 - it stops work, and is no mistake
    """All that is made together has taken its time: it is no fault of the block that comes now."""


class TimeLimit:
    """What is left of the time for a page."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left = LONGEST_PAGE

    @contextmanager
    def block(self) -> Iterator[Callable[[], bool]]:
        """Measure one block. Gives what says whether it has taken too long."""
        if self._left <= 0:
            raise TimeLimitReached
        begun = self._clock()
        try:
            yield lambda: self._clock() - begun > LONGEST_BLOCK
        finally:
            self._left -= self._clock() - begun


def current_time_limit() -> TimeLimit | None:
    """What is left for the page that is being made; None where nobody handed over a clock."""
    return _CURRENT.get()


@contextmanager
def timed(clock: Clock | None) -> Iterator[None]:
    """Make something within the time for a page. What is made inside of another shares its time."""
    if clock is None or _CURRENT.get() is not None:
        yield
        return
    token = _CURRENT.set(TimeLimit(clock))
    try:
        yield
    finally:
        _CURRENT.reset(token)


_CURRENT: ContextVar[TimeLimit | None] = ContextVar("current_time_limit", default=None)
