"""Guess the context window of a conversation from its model and from the contexts that occurred.

Transcripts do not state it. Some models only ever had 200,000 tokens; others are sold with 200,000 and with a million.
For these, only the contexts can tell: one of more than 200,000 tokens, or one that was compacted before that.
"""

import re
from typing import Final

STANDARD: Final = 200_000
LARGE: Final = 1_000_000
FULL: Final = 0.7
"""A context of less than this share of a window is compacted by hand, not because the window was full."""

# Claude 2 and 3, all of Haiku up to 4.5, and Opus up to 4.5.
ONLY_STANDARD: Final = re.compile(
    r"claude-(?:[23]\b|[23][-.]\d\b|haiku-4(?:[-.]5)?(?!\d|[-.]\d\b)|opus-4(?:[-.][015])?(?!\d|[-.]\d\b))"
)


def context_window(model: str | None, largest: int, compacted_at: int | None = None) -> int | None:
    """Return the window in tokens; None if either size is possible.

    `largest` is the largest context that was seen, `compacted_at` the largest right before a compaction.
    """
    if largest > LARGE:
        return None
    if largest > STANDARD:
        return LARGE
    if model is not None and ONLY_STANDARD.search(model.lower()):
        return STANDARD
    return STANDARD if compacted_at is not None and compacted_at >= FULL * STANDARD else None
