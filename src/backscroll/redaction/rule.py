"""The definition of a rule."""

import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret."""

    name: str
    """What replaces it."""
    what: str
    """Its description for people."""
    patterns: tuple[str, ...]
    hints: tuple[str, ...]
    """Patterns without regard to case. Every match contains a match of one of them; a text without any is skipped."""
    check: Callable[[bytes], bool] | None = None
    """Decides whether a match is a secret, where the pattern alone cannot."""
    unless: re.Pattern[bytes] | None = None
    """What comes before a match and shows that it is not a secret."""
    extend: Callable[[bytes, int], int] | None = None
    """Where it ends, if not where the pattern does; where it begins if there is nothing to hide."""
    wraps: bool = False
    """Whether it may continue on the next line, because a terminal wrapped it."""
    prefixes: tuple[str, ...] = ()
    """Its prefix, if the prefix alone identifies it, even when a line ends before the rest of it."""
    optional: bool = False
    """Whether it applies only on request."""


def token(name: str, what: str, *patterns: str, hints: tuple[str, ...]) -> Rule:
    """A rule for secrets that begin with something unmistakable: its hints, in small letters."""
    escaped = tuple(map(re.escape, hints))
    return Rule(name, what, patterns, escaped, prefixes=escaped)
