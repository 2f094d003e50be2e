"""The definition of a redaction rule."""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple


class Rule(NamedTuple):
    """A rule that finds one kind of secret."""

    name: str
    """Name of the rule, which replaces the secret."""
    what: str
    """Description of the secret for people."""
    patterns: tuple[str, ...]
    hints: tuple[str, ...] = ()
    """Patterns without regard to case. Every match contains a match of one of them; a text without any is skipped.

    Without hints, the beginnings of the patterns before their groups are searched for: rarer, but slower to search."""
    check: Callable[[bytes], bool] | None = None
    """Decides whether a match is a secret, where the pattern alone cannot."""
    unless: re.Pattern[bytes] | None = None
    """Text before a match which shows that the match is not a secret."""
    extend: Callable[[bytes, int], int] | None = None
    """Returns the end of the secret, if not that of the pattern; its start if there is nothing to hide."""
    wraps: bool = False
    """Whether the secret may continue on the next line, because a terminal wrapped it."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the secret, if they alone identify it, even when a line ends before the rest of it."""
    optional: bool = False
    """Whether the rule applies only on request."""

    @property
    def look(self) -> str:
        """The pattern that a text must match to be searched."""
        return "|".join(self.hints or leads(self.patterns))


def token(name: str, what: str, *patterns: str, hints: tuple[str, ...]) -> Rule:
    """Return a rule for secrets with unmistakable beginnings: its hints, in small letters."""
    escaped = tuple(map(re.escape, hints))
    return Rule(name, what, patterns, escaped, prefixes=escaped)


def leads(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return hints for patterns with a group: the part before the group, which is as rare as the pattern itself."""
    return tuple(pattern[: _group(pattern)] for pattern in patterns)


def _group(pattern: str) -> int:
    before = UP_TO_GROUP.match(pattern)
    return before.end() if before is not None else 0


UP_TO_GROUP: Final = re.compile(r"(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?|[^\\\[(])*", re.DOTALL)
"""Everything before the first parenthesis that begins a group; those of `(?…)` begin none."""
