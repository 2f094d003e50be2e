"""Decide whether a JSON value can have a secret in it, by one search over all of its texts at once.

Most records have none, and searching each of their many short texts takes longer than everything else. The search may
suspect a value without reason, but never passes a value that the rules would change.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

from backscroll.redaction.names import CHOSEN, DRAWN, FIELD, PUBLIC
from backscroll.redaction.patterns import AnyOf, compile_pattern
from backscroll.redaction.rule import Rule
from backscroll.redaction.wraps import broken_tokens

HIDDEN: Final = b"\xff"
"""Marks a mask while the rules run: no text has this byte, and no rule matches across it."""
MASK_START: Final = b"[redacted: "
MASK: Final = re.compile(rb"\[redacted: [a-z-]+(?: [0-9]+)?\]")
SHORTEST: Final = 6
"""A shorter text has no secret in it."""
LONGEST_NAME: Final = 100
DEEPEST: Final = 200
MAX_NAMES: Final = 10_000
MAYBE_UNSEEN: Final = (
    r"[\x00-\x08\x0b-\x1f\x7f]|\\[_-]|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xa9]"
    r"|\xef\xbb\xbf"
)
"""Bytes of invisible characters, roughly: a search at a tenth of the cost of an exact one, which misses nothing."""
PICTURE_FIELDS: Final = (("media_type", "data"), ("type", "base64"))
"""Fields with the kind and data of a picture: in a message, and in the result of a tool that read one."""
PICTURES_AND_VALUES: Final = frozenset({"data", "base64", "value"})
"""Names of fields that have a picture, or a setting whose name is in the field beside it."""
FIELDS_IN_LINE: Final = rf'(?:{CHOSEN}|{DRAWN}|authorization|cookie|auth|"data|"base64|"value)"'
"""The end of the name of a field that must be checked by itself."""


class Screen:
    """Screens values for some rules. Remembers the names of fields, which are few and repeated."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._look = _look(self._rules)
        self._names: set[str] = set()
        """Names of fields that are no secrets, and do not show that their value is one."""

    def is_clean_line(self, line: bytes) -> bool:
        """Whether the rules certainly change nothing in a JSON value, or in a text, by the bytes of its line alone.

        Only plain lines are known to be clean: without escapes, the line has every text verbatim.
        """
        return (
            line.isascii()
            and b"\\" not in line
            and MASK_START not in line
            and line.count(b"{") + line.count(b"[") <= DEEPEST
            and not self._look.found(line)
        )

    def is_clean(self, value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
        """Whether the rules certainly change nothing in a value."""
        texts: list[str] = []
        names: set[str] = set()
        if not self._gather(value, texts, names, 0):
            return False
        texts += names
        # A line end between texts, so that each begins and ends a line here.
        if not self._is_clean_text("\n".join(texts).encode("utf-8", "surrogatepass")):
            return False
        if len(self._names) < MAX_NAMES:
            self._names |= names
        return True

    def _is_clean_text(self, data: bytes) -> bool:
        if MASK_START in data:
            data = MASK.sub(HIDDEN, data)
        numbers = self._look.found(data)
        if len(self._rules) in numbers:
            return False  # invisible characters: the text without them may be a secret
        for rule in self._named(numbers):
            if compile_pattern(any_pattern(rule.patterns)).search(data) is not None:
                return False
            if rule.prefixes and next(broken_tokens(rule, data), None) is not None:
                return False
        return True

    def rules_for(self, data: bytes) -> list[Rule]:
        """Return the rules that can match a text, in order."""
        return self._named(self._look.found(data))

    def _named(self, numbers: list[int]) -> list[Rule]:
        return [self._rules[number] for number in numbers if number < len(self._rules)]

    def _gather(self, value: Any, texts: list[str], names: set[str], depth: int) -> bool:  # noqa: ANN401
        """Collect the texts of a value and the names in it; False if it must be checked field by field."""
        if depth > DEEPEST:
            return False
        items = value
        if isinstance(value, dict):
            if not self._names.issuperset(value) and not self._gather_names(value, texts, names):
                return False
            items = value.values()
        elif not isinstance(value, list):
            items = (value,)
        for item in items:
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind is dict or kind is list:
                if not self._gather(item, texts, names, depth + 1):
                    return False
            elif isinstance(item, (str, dict, list)):
                return False
        return True

    def _gather_names(self, value: dict[str, Any], texts: list[str], names: set[str]) -> bool:
        for name, item in value.items():
            if name in self._names:
                continue
            if name not in PICTURES_AND_VALUES and not tells(name):
                names.add(name)
            elif isinstance(item, str):
                return False
            else:
                texts.append(name)
        return True


@lru_cache(MAX_NAMES)
def tells(name: str) -> bool:
    """Whether the name of a field shows that its value is a secret."""
    if len(name) > LONGEST_NAME or not FIELD.search(name):
        return False
    return PUBLIC.search(name.encode("utf-8", "surrogatepass")) is None


@cache
def any_pattern(patterns: tuple[str, ...]) -> str:
    """Return a pattern that matches wherever any of these does."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)


@cache
def _look(rules: tuple[Rule, ...]) -> AnyOf:
    """Return the patterns of a search: the rules by their numbers, invisible characters, names of fields in a line."""
    return AnyOf([*(rule.look for rule in rules), MAYBE_UNSEEN, FIELDS_IN_LINE])
