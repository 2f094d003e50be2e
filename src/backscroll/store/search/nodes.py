"""Conditions on passages, as a tree that every engine can turn into its own kind of query.

Words and phrases count for the rank of a passage by how rare they are; everything else only decides whether a passage
matches.
"""

from typing import Final, NamedTuple, TypeAlias


class Everything(NamedTuple):
    """Matches every passage."""


class Nothing(NamedTuple):
    """Matches no passage."""


class HasWord(NamedTuple):
    """Passages that have a word."""

    word: str


class HasPhrase(NamedTuple):
    """Passages that have these words in order, with at most `gap` others between them; two words also in reverse order,
    with two fewer between them.
    """

    words: tuple[str, ...]
    gap: int = 0


class HasBeginning(NamedTuple):
    """Passages with a word that begins with the last of these, right after the others. All matches count the same."""

    words: tuple[str, ...]


class HasPart(NamedTuple):
    """Passages with a word that contains these letters."""

    letters: str


class IsFact(NamedTuple):
    """Passages of a role (`role:prompt`) or tool (`tool:bash`), or that are an `error`, of an `agent`, an `image`."""

    name: str


class InFiles(NamedTuple):
    """Passages of these files."""

    files: tuple[int, ...]


class IsOneOf(NamedTuple):
    """The passages with these ids."""

    blocks: tuple[int, ...]


class IsUpTo(NamedTuple):
    """The passages with an id of at most this."""

    block: int


class IsFrom(NamedTuple):
    """Passages at or after this time, in milliseconds. Passages without a time have 0."""

    time: int


class IsBefore(NamedTuple):
    """Passages before this time, in milliseconds, and passages without a time."""

    time: int


DATED: Final = IsFrom(1)
"""Passages with a time."""


class SomeOf(NamedTuple):
    """Passages that match any part."""

    parts: "tuple[Node, ...]"


class EachOf(NamedTuple):
    """Passages that match all of `parts` and none of `but_not`; `also` counts for the rank only."""

    parts: "tuple[Node, ...]"
    but_not: "tuple[Node, ...]" = ()
    also: "tuple[Node, ...]" = ()


class Weighed(NamedTuple):
    """A node whose matches count `factor` times as much for the rank."""

    part: "Node"
    factor: float


class Worth(NamedTuple):
    """A node whose matches all add the same score."""

    part: "Node"
    score: float


Node: TypeAlias = (
    Everything | Nothing | HasWord | HasPhrase | HasBeginning | HasPart | IsFact | InFiles | IsOneOf | IsUpTo | IsFrom
    | IsBefore | SomeOf | EachOf | Weighed | Worth
)  # fmt: skip


def either(parts: "tuple[Node, ...] | list[Node]") -> Node:
    """Return the node of passages that match any part."""
    return parts[0] if len(parts) == 1 else SomeOf(tuple(parts))


def together(parts: "tuple[Node, ...] | list[Node]") -> Node:
    """Return the node of passages that match all parts."""
    return parts[0] if len(parts) == 1 else EachOf(tuple(parts))
