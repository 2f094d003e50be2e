"""Spend by person, team, project and model: sums over the indexes of people, each counted as its owner sees it.

A sum of few people tells what each of them spent. `disclosure` decides which sums a reader may see, unless the
organisation shows all of them.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import UsageError
from backscroll.library.analytics.people_usage import usage_of_people
from backscroll.library.analytics.reports import ReportRequest
from backscroll.render.projects import project_name
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person
from backscroll.team.people.teams import Team, audience_name
from backscroll.team.reading.disclosure import ShownSum, safe_sums

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import PeopleSums, SpentBy
    from backscroll.team.database.connections import Connection

LEAST: Final = 5
"""People who must have spent something for their sum to be shown."""
NO_TEAM: Final = ""
"""The name of the group of those who are in no team; no team has it."""
BY: Final = ("person", "team", "project", "model")
MAX_DOLLARS: Final = 100_000_000


class Sums(NamedTuple):
    """The sums of answers, tokens and cost."""

    answers: int = 0
    tokens: int = 0
    microdollars: int = 0

    def plus(self, other: "Sums") -> "Sums":
        """Add two sums."""
        return Sums(*(own + two for own, two in zip(self, other, strict=True)))


@dataclass
class Group:
    """A group of people, and what they spent together."""

    name: str
    people: set[str] = field(default_factory=set)
    sums: Sums = field(default_factory=Sums)

    def add(self, handle: str, sums: Sums) -> None:
        """Add the spend of a person."""
        if sums.answers:
            self.people.add(handle)
            self.sums = self.sums.plus(sums)


@dataclass(frozen=True)
class PersonSpend:
    """The spend of a person in a period, by model, project and day."""

    handle: str
    models: dict[str, Sums] = field(default_factory=dict)
    projects: dict[str, Sums] = field(default_factory=dict)
    days: dict[str, Sums] = field(default_factory=dict)

    def by(self, dimension: str) -> dict[str, Sums]:
        """The spend by one dimension."""
        return {"model": self.models, "project": self.projects, "day": self.days}[dimension]

    @property
    def total(self) -> Sums:
        """The whole spend."""
        return together(self.models.values())


def together(parts: Iterable[Sums]) -> Sums:
    """Add up sums."""
    total = Sums()
    for part in parts:
        total = total.plus(part)
    return total


def spend_of_people(
    sums: "PeopleSums", handles: Mapping[int, str], request: ReportRequest, by: Sequence["SpentBy"]
) -> list[PersonSpend]:
    """List the spend of everyone who spent something, by these dimensions, of which one is the model.

    `handles` has the people by number.
    """
    by_number = {number: PersonSpend(handle) for number, handle in handles.items()}
    for row in usage_of_people(sums, request, by):
        name = row.name
        if row.by == "project":  # everyone has a project somewhere else
            name = "no project" if name == "-" else project_name(name)
        parts = by_number[row.person].by(row.by)
        parts[name] = parts.get(name, Sums()).plus(Sums(row.answers, row.tokens, row.microdollars))
    return [spend for spend in by_number.values() if spend.total.answers]


def grouped(spent: Iterable[PersonSpend], by: str, teams: Iterable[Team] = ()) -> list[Group]:
    """Group spend by a dimension, the most expensive first. A person in two teams counts in both."""
    groups: dict[str, Group] = {}

    def add(name: str, handle: str, sums: Sums) -> None:
        groups.setdefault(name, Group(name)).add(handle, sums)

    all_teams = list(teams)
    for spend in spent:
        if by == "person":
            add(spend.handle, spend.handle, spend.total)
        elif by == "team":
            for name in [team.name for team in all_teams if spend.handle in team.members] or [NO_TEAM]:
                add(name, spend.handle, spend.total)
        else:
            for name, sums in spend.by(by).items():
                add(name, spend.handle, sums)
    filled = [group for group in groups.values() if group.people]
    return sorted(filled, key=lambda group: (-group.sums.microdollars, group.name))


@dataclass(frozen=True)
class VisibleSums:
    """The sums of a period that a reader may see."""

    safe: frozenset[ShownSum] | None = None
    """The sums that may be shown; None if all may."""

    def shows(self, audience: str, by: str = "", name: str = "") -> bool:
        """Whether the sum of an audience is shown: of everything, or of one model, project or day."""
        return self.safe is None or ShownSum(audience, by, name) in self.safe

    def parts(self, audience: str, by: str, groups: Sequence[Group]) -> tuple[list[Group], Group | None]:
        """Split the groups of an audience into those that are shown, and all others as one, if their sum is shown."""
        shown = [group for group in groups if self.shows(audience, by, group.name)]
        return shown, self.rest(audience, [group for group in groups if group not in shown])

    def rest(self, audience: str, groups: Sequence[Group]) -> Group | None:
        """Join groups into one, if the reader may see what remains of the audience without all others."""
        if not groups or not self.shows(audience):
            return None
        people: set[str] = set().union(*(group.people for group in groups))
        return Group("others", people, together(group.sums for group in groups))


def visible_sums(
    spent: Sequence[PersonSpend], audiences: Mapping[str, Set[str]], reader: str, agreed: Set[str]
) -> VisibleSums:
    """Return the sums that a reader may see in an organisation that hides small ones.

    `audiences` begin with the most important. The reader knows what they spent themselves, and what those spent who
    agreed to be named.
    """
    known = {reader, *agreed}
    spenders = {
        tuple(map(_names, some)): some for some in (_with(measure, spent) for measure in range(len(Sums._fields)))
    }
    return VisibleSums(
        frozenset.intersection(*(safe_sums(some, audiences, known, LEAST) for some in spenders.values()))
    )


def _with(measure: int, spent: Sequence[PersonSpend]) -> list[PersonSpend]:
    """Keep only spend with a value in one field of `Sums`, so that a model without a price hides nobody's costs."""
    parts = [
        PersonSpend(spend.handle, *({name: sums for name, sums in parts_of.items() if sums[measure]}
                                  for parts_of in (spend.models, spend.projects, spend.days)))
        for spend in spent
    ]  # fmt: skip
    return [spend for spend in parts if spend.models]


def _names(spend: PersonSpend) -> tuple[str, ...]:
    return (spend.handle, *spend.models, "", *spend.projects, "", *spend.days)


def agreed_to_be_named(connection: "Connection", org: int) -> frozenset[str]:
    """Handles of those who agreed that readers of their team's sums see their spend by name."""
    rows = connection.execute("select handle from person where org = %s and shows_spend and erased is null", (org,))
    return frozenset(str(handle) for (handle,) in rows)


def agree_to_be_named(connection: "Connection", person: Person, *, agreed: bool) -> None:
    """Agree to be named, or withdraw that."""
    connection.execute("update person set shows_spend = %s where id = %s", (agreed, person.id))
    record(connection, person.org, person.handle, "spend.by-name", person.handle, "agreed" if agreed else "withdrawn")


def shows_small_sums(connection: "Connection", org: int) -> bool:
    """Whether the organisation lets leads see sums of fewer than `LEAST` people."""
    row = connection.execute("select shows_small_sums from org where id = %s", (org,)).fetchone()
    return bool(row and row[0])


def show_small_sums(connection: "Connection", by: Person, *, shown: bool) -> None:
    """Set whether leads of the organisation see small sums."""
    connection.execute("update org set shows_small_sums = %s where id = %s", (shown, by.org))
    record(connection, by.org, by.handle, "spend.small-sums", by.org_name, "shown" if shown else "hidden")


def budget_of(connection: "Connection", org: int, team: int | None) -> float | None:
    """Read the monthly budget, in dollars."""
    row = connection.execute(
        "select dollars from budget where org = %s and team is not distinct from %s", (org, team)
    ).fetchone()
    return float(row[0]) if row else None


def set_budget(connection: "Connection", by: Person, team: int | None, text: str) -> None:
    """Set the budget of a month for a team or the organisation; an empty text removes it."""
    plain = text.strip().removeprefix("$").replace(",", "")
    try:
        amount = float(plain) if plain else None
    except ValueError:
        amount = -1.0
    if amount is not None and not 0 < amount <= MAX_DOLLARS:
        hint = "write a number such as 2000, or nothing for no budget"
        raise UsageError(f"{text.strip()} is not an amount in US dollars", hint)
    connection.execute("delete from budget where org = %s and team is not distinct from %s", (by.org, team))
    if amount is not None:
        connection.execute("insert into budget (org, team, dollars) values (%s, %s, %s)", (by.org, team, amount))
    about = audience_name(connection, by.org, team)
    record(connection, by.org, by.handle, "budget.set", about, "none" if amount is None else f"{amount:g}")
