"""The definition of a rule."""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple


class Rule(NamedTuple):
    """One kind of secret."""

    name: str
    """What replaces it."""
    what: str
    """Its description for people."""
    patterns: tuple[str, ...]
    hints: tuple[str, ...] = ()
    """Patterns without regard to case. Every match contains a match of one of them; a text without any is skipped.

    Without hints, what the patterns have before their groups is looked for: rarer, and more work to look for."""
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

    @property
    def look(self) -> str:
        """The pattern that a text must match to be searched."""
        return "|".join(self.hints or leads(self.patterns))


def token(name: str, what: str, *patterns: str, hints: tuple[str, ...]) -> Rule:
    """A rule for secrets that begin with something unmistakable: its hints, in small letters."""
    escaped = tuple(map(re.escape, hints))
    return Rule(name, what, patterns, escaped, prefixes=escaped)


def leads(patterns: Iterable[str]) -> tuple[str, ...]:
    """Hints for patterns with a group: what comes before the group. They are as rare as the patterns themselves."""
    return tuple(pattern[: _group(pattern)] for pattern in patterns)


def _group(pattern: str) -> int:
    before = UP_TO_GROUP.match(pattern)
    return before.end() if before is not None else 0


UP_TO_GROUP: Final = re.compile(r"(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?|[^\\\[(])*", re.DOTALL)
"""Everything before the first parenthesis that begins a group; those of `(?…)` begin none."""
