"""A time limit for syntax highlighting. This module reads no clock: the caller passes one.

Some lexers take quadratic time, and only a clock can tell. Without one, only short texts are highlighted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Clock = Callable[[], float]
"""Clock that returns seconds; preferably CPU time of the thread, so that a busy machine does not disable highlighting.
"""

LONGEST_BLOCK: Final = 0.4
LONGEST_PAGE: Final = 1.2
"""Seconds for one block of code, and for everything rendered together, such as a hundred messages."""


class TimeLimitReached(Exception):  # noqa: N818 - it stops work, and is no mistake
    """The time for the whole page is used up; the current block is not to blame."""


class TimeLimit:
    """The remaining time for a page."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left = LONGEST_PAGE

    @contextmanager
    def block(self) -> Iterator[Callable[[], bool]]:
        """Measure one block; yield a function that says whether it takes too long."""
        if self._left <= 0:
            raise TimeLimitReached
        begun = self._clock()
        try:
            yield lambda: self._clock() - begun > LONGEST_BLOCK
        finally:
            self._left -= self._clock() - begun


def current_time_limit() -> TimeLimit | None:
    """Return the limit of the page that is being rendered; None without a clock."""
    return _CURRENT.get()


@contextmanager
def timed(clock: Clock | None) -> Iterator[None]:
    """Render within the time for a page. Nested calls share the same limit."""
    if clock is None or _CURRENT.get() is not None:
        yield
        return
    token = _CURRENT.set(TimeLimit(clock))
    try:
        yield
    finally:
        _CURRENT.reset(token)


_CURRENT: ContextVar[TimeLimit | None] = ContextVar("current_time_limit", default=None)
