"""Progress of an update, and the test whether it may stop."""

from collections.abc import Callable
from typing import Protocol

IsEnough = Callable[[], bool]
"""Called between two batches: whether an update may stop, and leave the rest to the next one."""


def never() -> bool:
    """Never stop before everything is read."""
    return False


class Progress(Protocol):
    """Receives progress of a running task."""

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Start a task with this many units."""

    def add(self, count: int) -> None:
        """Report finished units."""


class NoProgress:
    """Ignores all progress reports."""

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Ignore the start of a task."""

    def add(self, count: int) -> None:
        """Ignore the finished units."""
