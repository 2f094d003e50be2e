"""The tree that a query is parsed into.

Parts are equal when their meaning is: their place in the text, and the spelling of a value, do not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

Comparison: TypeAlias = Literal["=", "==", ">", "<", ">=", "<="]
"""`=` on a text means that it contains the value, `==` that it equals the value, which mostly pages ask for."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it was typed, `getUserName` or `src/a.py`; the store splits it. `start:end` is its text."""

    text: str
    prefix: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    is_required: bool = False
    """Whether a chat must have the word: after `+`, next to `AND`, or in parentheses. Only at the top of a query."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Text in quotation marks."""

    text: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern between slashes; only at the top level of a query, or in a Not there."""

    pattern: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Field:
    """A condition on a field. A choice has its proper name, a time is in UTC, a number is plain.

    `since` is called `after`, with `>=`, and `before` has `<`. `start:end` is the whole text of the field, but for a
    value in parentheses or after a `|` only that value. `typed` is the value as written: `write` repeats it, so that
    `7d` stays seven days. Leave it out when making another field from this one.
    """

    name: str
    comparison: Comparison
    value: str | datetime | float
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    typed: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """A negation. Never a Not of a Not."""

    part: "Part"


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction. Contains no other All; below the root, at least two parts."""

    parts: "tuple[Part, ...]"


@dataclass(frozen=True, slots=True)
class Either:
    """A disjunction of at least two parts, none of them an Either."""

    parts: "tuple[Part, ...]"


Part: TypeAlias = Word | Phrase | Regex | Field | Not | All | Either


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and the text it was written as."""

    text: str = field(compare=False)
    root: All
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Notes for the user on how ambiguous text was understood."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words and phrases to highlight, each once."""
        texts = (part.text for part in leaves(self.root) if isinstance(part, Word | Phrase))
        return tuple(dict.fromkeys(texts))

    @property
    def is_empty(self) -> bool:
        """Whether the query has no conditions."""
        return not self.root.parts


def leaves(part: Part, *, negated: bool = False) -> Iterator[Word | Phrase | Regex | Field]:
    """Yield the parts without parts, in order; those in a Not only with `negated`."""
    match part:
        case Not(inner):
            if negated:
                yield from leaves(inner, negated=True)
        case All(parts) | Either(parts):
            for inner in parts:
                yield from leaves(inner, negated=negated)
        case _:
            yield part


def all_of(parts: list[Part]) -> Part:
    """Return a part that requires all of these."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, All) else (part,))]
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def either_of(parts: list[Part]) -> Part:
    """Return a part that requires any of these."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Either) else (part,))]
    return flat[0] if len(flat) == 1 else Either(tuple(flat))


def required(part: Part, *, is_required: bool = True) -> Part:
    """Return the part with its words required, or not; words inside other parts than All are unchanged."""
    if isinstance(part, Word):
        return replace(part, is_required=is_required)
    if isinstance(part, All):
        return All(tuple(required(inner, is_required=is_required) for inner in part.parts))
    return part


def plain(part: Part) -> Part:
    """Return the part with no word required, as only words at the top of a query can be."""
    if isinstance(part, Not):
        return Not(plain(part.part))
    if isinstance(part, Either):
        return Either(tuple(map(plain, part.parts)))
    return All(tuple(map(plain, part.parts))) if isinstance(part, All) else required(part, is_required=False)


def not_(part: Part) -> Part:
    """Return the negation of a part."""
    return part.part if isinstance(part, Not) else Not(part)
