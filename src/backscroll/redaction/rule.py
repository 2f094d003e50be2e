"""What a rule is."""

import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret."""

    name: str
    """What stands in its place."""
    what: str
    """What it is, for people."""
    patterns: tuple[str, ...]
    hints: tuple[str, ...]
    """Patterns without regard to case. Every match contains a match of one of them; a text without any is skipped."""
    check: Callable[[bytes], bool] | None = None
    """Whether what was found is a secret, where the pattern alone cannot tell."""
    unless: re.Pattern[bytes] | None = None
    """What stands before a secret and shows that it is none."""
    extend: Callable[[bytes, int], int] | None = None
    """Where it ends, if not where the pattern does; where it begins if there is nothing to hide."""
    wraps: bool = False
    """Whether its end may stand on the next line, because a terminal was too narrow for it."""
    prefixes: tuple[str, ...] = ()
    """How it begins, if it can be told by its beginning alone, even when a line ends before the rest of it."""
    optional: bool = False
    """Only where it is asked for."""


def token(name: str, what: str, *patterns: str, hints: tuple[str, ...]) -> Rule:
    """A rule for secrets that begin with something unmistakable: its hints, in small letters."""
    escaped = tuple(map(re.escape, hints))
    return Rule(name, what, patterns, escaped, prefixes=escaped)
