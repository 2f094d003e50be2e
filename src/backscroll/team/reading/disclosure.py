"""Choose the sums that may be shown together, so that no combination of them tells what a few people spent.

A reader sees many sums of one month: of teams that overlap, of their models, projects and days. They can add and
subtract them, and know some of what is in them: what they spent themselves and what those spent who agreed to be named,
who is in a team, who uses which model, works in which project, and worked on which day. So each sum is a linear
combination of unknown amounts, and the sums that are shown must have no combination in which the amounts of all but a
few people cancel out.

A combination that is not zero must show in the amounts of at least `least` people. That is certain if all columns of
the system, which are what one person adds to each sum, can be combined from columns that so many people have in common.
Where that fails, sums are left out, the least important first. This leaves out more than necessary, and never less. It
assumes that the reader does not know who used which model in which project on which day.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple, Protocol

BY: Final = ("model", "project", "day")
"""Dimensions that divide sums, the most important first."""
PRIME: Final = (1 << 61) - 1
"""The modulus of all arithmetic. Numbers of these systems are small, so that no other number becomes zero."""
Column = dict[int, int]
"""The share of a person in each sum, by the number of the sum; empty shares are left out."""


class ShownSum(NamedTuple):
    """A sum of an audience: of everything, or of one model, project or day."""

    audience: str
    by: str = ""
    name: str = ""


class Spender(Protocol):
    """The spend of a person, by each of `BY`."""

    @property
    def handle(self) -> str:
        """The handle of the person."""
        ...

    def by(self, dimension: str) -> Mapping[str, object]:
        """The models, projects or days of the spend."""
        ...


def safe_sums(
    spenders: Sequence[Spender], audiences: Mapping[str, Set[str]], known: Set[str], least: int
) -> frozenset[ShownSum]:
    """Return the sums that may be shown, all together, to a reader who knows what the people in `known` spent.

    `audiences` has the people of each, the most important first. The rest of an audience beside
    the shown parts may be shown, too: the reader could subtract.
    """
    unknown = [each for each in spenders if each.handle not in known]
    sums = _candidates(unknown, audiences, least)
    while True:
        leaking = _leaking(unknown, audiences, sums, least)
        if not leaking:
            return frozenset(sums)
        last = max(leaking, key=sums.index)
        dropped = {each for each in leaking if each.by == last.by}
        gone = {each.audience for each in dropped if not each.by}
        sums = [each for each in sums if each not in dropped and each.audience not in gone]


def _candidates(unknown: Sequence[Spender], audiences: Mapping[str, Set[str]], least: int) -> list[ShownSum]:
    """List the sums with enough people, the most important first."""
    totals = []
    parts: dict[str, list[tuple[int, ShownSum]]] = {by: [] for by in BY}
    for audience, people in audiences.items():
        inside = [each for each in unknown if each.handle in people]
        if len(inside) < least:
            continue
        totals.append(ShownSum(audience))
        for by in BY:
            counts: dict[str, int] = {}
            for each in inside:
                for name in each.by(by):
                    counts[name] = counts.get(name, 0) + 1
            parts[by] += [(-count, ShownSum(audience, by, name)) for name, count in counts.items() if count >= least]
    return totals + [each for by in BY for _, each in sorted(parts[by])]


def _leaking(
    unknown: Sequence[Spender], audiences: Mapping[str, Set[str]], sums: Sequence[ShownSum], least: int
) -> set[ShownSum]:
    """Return the sums to leave out next: of each column that too few people have, the least important one."""
    owners: dict[tuple[tuple[int, int], ...], set[str]] = {}
    numbers = {each: number for number, each in enumerate(sums)}
    for each in unknown:
        of = [
            audience
            for audience, people in audiences.items()
            if each.handle in people and ShownSum(audience) in numbers
        ]
        for column in _columns(each, of, numbers):
            owners.setdefault(tuple(sorted(column.items())), set()).add(each.handle)
    span = _Span()
    columns = [(dict(column), people) for column, people in owners.items()]
    while True:
        columns = _distinct((span.rest(column), people) for column, people in columns)
        common = [column for column, people in columns if len(people) >= least]
        if not common:
            return {sums[max(column)] for column, _ in columns}
        for column in common:
            span.add(column)


def _columns(spender: Spender, audiences: Sequence[str], numbers: Mapping[ShownSum, int]) -> Iterable[Column]:
    """Yield the columns of a person: with the first model, project and day, and the differences to others."""
    base = {numbers[ShownSum(audience)]: 1 for audience in audiences}
    for by in BY:
        first, *others = sorted(spender.by(by)) or [""]
        shown = _numbers_of(audiences, by, first, numbers)
        base |= dict.fromkeys(shown, 1)
        for name in others:
            difference = dict.fromkeys(shown, -1 % PRIME)
            yield difference | dict.fromkeys(_numbers_of(audiences, by, name, numbers), 1)
    yield base


def _numbers_of(audiences: Sequence[str], by: str, name: str, numbers: Mapping[ShownSum, int]) -> list[int]:
    every = (ShownSum(audience, by, name) for audience in audiences)
    return [numbers[each] for each in every if each in numbers]


def _distinct(columns: Iterable[tuple[Column, set[str]]]) -> list[tuple[Column, set[str]]]:
    """Drop zero columns and multiples of others; return each column with everyone who has it."""
    owners: dict[tuple[tuple[int, int], ...], set[str]] = {}
    for column, people in columns:
        if column:
            scale = pow(column[min(column)], -1, PRIME)
            key = tuple(sorted((number, value * scale % PRIME) for number, value in column.items()))
            owners.setdefault(key, set()).update(people)
    return [(dict(key), people) for key, people in owners.items()]


class _Span:
    """The linear span of some columns."""

    def __init__(self) -> None:
        self._by_first: dict[int, Column] = {}
        """Columns by their first number, where they have 1."""

    def add(self, column: Column) -> None:
        """Add a column to the span."""
        rest = self.rest(column)
        if rest:
            first = min(rest)
            scale = pow(rest[first], -1, PRIME)
            self._by_first[first] = {number: value * scale % PRIME for number, value in rest.items()}

    def rest(self, column: Column) -> Column:
        """Return the rest of a column outside of the span; empty if the span contains it."""
        left, rest = dict(column), {}
        while left:
            number = min(left)
            factor = left.pop(number)
            reduced = self._by_first.get(number)
            if reduced is None:
                rest[number] = factor
                continue
            for other, value in reduced.items():
                if other != number:
                    left[other] = (left.get(other, 0) - factor * value) % PRIME
                    if not left[other]:
                        del left[other]
        return rest
