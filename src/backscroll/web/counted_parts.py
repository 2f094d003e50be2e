"""Parts of pages that take long to count, kept for the next visit while nothing changes.

Only a viewer that follows its homes knows that nothing changed: without that, everything is counted each time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from backscroll.render.html.element import Html

MAX_PARTS: Final = 12
"""Number of parts kept; the largest have about 200 kB."""
MAX_SECONDS: Final = 60.0
"""Seconds that a part is kept: pages also say how much time is left of something."""


class CountedParts:
    """The newest parts, by the request they answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: OrderedDict[Hashable, tuple[float, Html]] = OrderedDict()
        self._change: int | None = None
        self._changes = 0

    def keep(self) -> None:
        """Start caching: from now on, every change is reported."""
        with self._lock:
            self._changes += 1
            self._change = self._changes
            self._parts.clear()

    def changed(self) -> None:
        """Drop all parts, because something was written."""
        with self._lock:
            if self._change is not None:
                self._changes += 1
                self._change = self._changes
            self._parts.clear()

    def stop(self) -> None:
        """Stop caching: changes are no longer reported."""
        with self._lock:
            self._change = None
            self._parts.clear()

    def get(self, asked: Hashable | None, count: Callable[[], Html]) -> Html:
        """Return the requested part, as it was counted before or as `count` counts it now; None is never kept."""
        if asked is None:
            return count()
        with self._lock:
            before, now = self._change, self._clock()
            made, part = self._parts.get(asked, (0.0, None))
            if part is not None and now - made < MAX_SECONDS:
                self._parts.move_to_end(asked)
                return part
        part = count()
        with self._lock:
            if before is not None and before == self._change:  # or it may have been counted before the change
                self._parts[asked] = (now, part)
                self._parts.move_to_end(asked)
                while len(self._parts) > MAX_PARTS:
                    self._parts.popitem(last=False)
        return part
