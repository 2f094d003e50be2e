"""Cut off the end of a list so that the rest does not depend on how the engine orders equals. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from backscroll.store.search.engine import Match

MORE: Final = 8
"""The factor of further matches to fetch if all matches are equally good."""


def without_ties(find: Callable[[int], list[Match]], most: int) -> tuple[list[Match], float | None]:
    """Return the first matches, up to `most` of different scores, and the score of the first one left out, if any is.

    `find` returns so many matches in order. Matches as good as one that it may not have returned are left out.
    """
    while True:
        matches = find(most)
        if len(matches) < most:
            return matches, None
        left_out = matches[-1].score
        kept = [match for match in matches if match.score != left_out]
        if kept:
            return kept, left_out
        most *= MORE


def among_first(matches: Sequence[Match], most: int) -> list[int]:
    """Return the passages of the first matches, and of all that are as good as the last of these."""
    ordered = sorted(matches, key=lambda match: -match.score)
    if len(ordered) <= most:
        return [match.block for match in ordered]
    last = ordered[most - 1].score
    return [match.block for match in ordered if match.score >= last]
