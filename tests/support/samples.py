"""How many of all places are tried. `BACKSCROLL_TRY_ALL=1` tries every one, as a release does; else a share of them.

Cases that differ only in what goes wrong try different places, so that together they still try every place.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, TypeVar

Place = TypeVar("Place")

TRY_ALL: Final = bool(os.environ.get("BACKSCROLL_TRY_ALL"))
SHARE: Final = 1 if TRY_ALL else 8
"""One place in so many is tried."""


def numbers(case: int = 0) -> Iterator[int]:
    """1, 2, 3 and so on, or every `SHARE`th of them; another case has others."""
    return count(1 + case % SHARE, SHARE)


def some(places: Sequence[Place], case: int = 0) -> Sequence[Place]:
    """All of them, or every `SHARE`th; another case has others."""
    return places[case % SHARE :: SHARE]
