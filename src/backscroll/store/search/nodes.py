"""What is looked for, as a tree that every engine can turn into its own kind of query.

Words and phrases count for the rank of a passage by how rare they are; everything else only decides whether a passage
matches.
"""

from typing import Final, NamedTuple, TypeAlias


class Everything(NamedTuple):
    """Every passage."""


class Nothing(NamedTuple):
    """No passage."""


class HasWord(NamedTuple):
    """Passages with a word."""

    word: str


class HasPhrase(NamedTuple):
    """Passages with these words one after the other, with at most so many others between them."""

    words: tuple[str, ...]
    gap: int = 0


class HasBeginning(NamedTuple):
    """Passages with a word that begins with the last of these, right after the others. All count the same."""

    words: tuple[str, ...]


class HasPart(NamedTuple):
    """Passages with a word that contains this."""

    letters: str


class IsFact(NamedTuple):
    """Passages of a role (`role:prompt`) or a tool (`tool:bash`), or that are an `error`, of an `agent`, an `image`."""

    name: str


class InFiles(NamedTuple):
    """Passages of these files."""

    files: tuple[int, ...]


class IsOneOf(NamedTuple):
    """The passages with these ids."""

    blocks: tuple[int, ...]


class IsUpTo(NamedTuple):
    """The passages with an id up to this one."""

    block: int


class IsFrom(NamedTuple):
    """Passages of this time, in milliseconds, or later. Those without a time have 0."""

    time: int


class IsBefore(NamedTuple):
    """Passages before this time, in milliseconds, and those without one."""

    time: int


DATED: Final = IsFrom(1)
"""Passages with a time."""


class SomeOf(NamedTuple):
    """Passages that any of these finds."""

    parts: "tuple[Node, ...]"


class EachOf(NamedTuple):
    """Passages that all of `parts` and none of `but_not` find; `also` count for the rank only."""

    parts: "tuple[Node, ...]"
    but_not: "tuple[Node, ...]" = ()
    also: "tuple[Node, ...]" = ()


class Weighed(NamedTuple):
    """What counts so many times as much for the rank."""

    part: "Node"
    factor: float


class Worth(NamedTuple):
    """What counts the same wherever it is found."""

    part: "Node"
    score: float


Node: TypeAlias = (
    Everything | Nothing | HasWord | HasPhrase | HasBeginning | HasPart | IsFact | InFiles | IsOneOf | IsUpTo | IsFrom
    | IsBefore | SomeOf | EachOf | Weighed | Worth
)  # fmt: skip


def either(parts: "tuple[Node, ...] | list[Node]") -> Node:
    """The passages that any of these finds."""
    return parts[0] if len(parts) == 1 else SomeOf(tuple(parts))


def together(parts: "tuple[Node, ...] | list[Node]") -> Node:
    """The passages that all of these find."""
    return parts[0] if len(parts) == 1 else EachOf(tuple(parts))
