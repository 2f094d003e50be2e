"""How many of all places are tried: every one with `scripts/test --all`, else a share of them.

`scripts/test --all` sets `BACKSCROLL_TRY_ALL`. Cases that differ only in what goes wrong try different places.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final, TypeVar

import pytest

Place = TypeVar("Place")

TRY_ALL: Final = bool(os.environ.get("BACKSCROLL_TRY_ALL"))
SHARE: Final = 1 if TRY_ALL else 8
"""One place in so many is tried."""


def numbers(case: int = 0) -> Iterator[int]:
    """1, 2, 3 and so on, or every `SHARE`th of them; another case has others."""
    return count(1 + case % SHARE, SHARE)


def some(places: Sequence[Place], case: int = 0, share: int = SHARE) -> Sequence[Place]:
    """All of them, or every `share`th; another case has others."""
    return places if TRY_ALL else places[case % share :: share]


def mostly_in_all(cases: Sequence[Any], each: int) -> list[Any]:
    """Parameters of a test, of which only every `each`th runs without `scripts/test --all`."""
    parameters = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*values, marks=[pytest.mark.all] if number % each else [])
        for number, values in enumerate(parameters)
    ]
