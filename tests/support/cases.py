"""Many cases in one test: all are tried, and each that fails is named."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def for_each(cases: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Check all of them."""
    tried = 0
    failed = []
    for case in cases:
        tried += 1
        try:
            check(case)
        except AssertionError as error:
            failed.append(f"{case}: {error}")
    assert tried
    assert not failed, f"{len(failed)} of {tried} failed\n" + "\n".join(failed)
