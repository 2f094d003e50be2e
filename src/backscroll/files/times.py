"""The time when a file was written, in nanoseconds since 1970, limited to the range that every store can hold.

File systems and other machines may have any number. One that no clock shows becomes the nearest one that can be stored,
so that it affects the order of that file and nothing else.
"""

from typing import Final

FARTHEST: Final = 9_200_000_000_000_000_000
"""July 2261, and as far before 1970: within 64 bits with room for rounding."""


def storable_time(nanoseconds: int) -> int:
    """Return the time, or the nearest one that can be stored."""
    return min(max(nanoseconds, -FARTHEST), FARTHEST)
