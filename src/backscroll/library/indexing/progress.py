"""How far an update has come, and whether it may stop."""

from collections.abc import Callable
from typing import Protocol

IsEnough = Callable[[], bool]
"""Asked between two batches: whether an update may stop, and leave the rest to the next one."""


def never() -> bool:
    """Do not stop before everything is read."""
    return False


class Progress(Protocol):
    """Receives progress."""

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Start a task with this many units."""

    def add(self, count: int) -> None:
        """Report more units done."""


class NoProgress:
    """Ignores progress."""

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Ignore progress."""

    def add(self, count: int) -> None:
        """Ignore progress."""
