"""What people, teams, projects and models cost: sums over the indexes of people, each counted as its owner sees it.

A sum of few people tells what each of them spent. `disclosure` decides which sums a reader may see; unless the
organisation has decided that all of them are shown.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import UsageError
from backscroll.library.analytics.people_usage import usage_of_people
from backscroll.library.analytics.reports import ReportRequest
from backscroll.render.projects import project_name
from backscroll.team.audit import record
from backscroll.team.disclosure import ShownSum, safe_sums
from backscroll.team.people import Person, Team, audience_name

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import PeopleSums, SpentBy
    from backscroll.team.database import Connection

LEAST: Final = 5
"""So many people must have spent something for their sum to be shown."""
NO_TEAM: Final = ""
"""The name of the group of those who are in no team; no team has it."""
BY: Final = ("person", "team", "project", "model")
MAX_DOLLARS: Final = 100_000_000


class Sums(NamedTuple):
    """What answers add up to."""

    answers: int = 0
    tokens: int = 0
    microdollars: int = 0

    def plus(self, other: "Sums") -> "Sums":
        """Both together."""
        return Sums(*(one + two for one, two in zip(self, other, strict=True)))


@dataclass
class Group:
    """What some people spent together."""

    name: str
    people: set[str] = field(default_factory=set)
    sums: Sums = field(default_factory=Sums)

    def add(self, handle: str, sums: Sums) -> None:
        """Count what a person spent."""
        if sums.answers:
            self.people.add(handle)
            self.sums = self.sums.plus(sums)


@dataclass(frozen=True)
class PersonSpend:
    """What a person spent in a period, by what."""

    handle: str
    models: dict[str, Sums] = field(default_factory=dict)
    projects: dict[str, Sums] = field(default_factory=dict)
    days: dict[str, Sums] = field(default_factory=dict)

    def by(self, dimension: str) -> dict[str, Sums]:
        """It by one of these."""
        return {"model": self.models, "project": self.projects, "day": self.days}[dimension]

    @property
    def total(self) -> Sums:
        """All of it."""
        return together(self.models.values())


def together(parts: Iterable[Sums]) -> Sums:
    """The sum of sums."""
    total = Sums()
    for part in parts:
        total = total.plus(part)
    return total


def spend_of_people(
    sums: "PeopleSums", handles: Mapping[int, str], asked: ReportRequest, by: Sequence["SpentBy"]
) -> list[PersonSpend]:
    """What everyone spent who spent something, by these dimensions, of which one is the model.

    `handles` has the people by number.
    """
    found = {number: PersonSpend(handle) for number, handle in handles.items()}
    for row in usage_of_people(sums, asked, by):
        name = row.name
        if row.by == "project":  # everyone has a project somewhere else
            name = "no project" if name == "-" else project_name(name)
        parts = found[row.person].by(row.by)
        parts[name] = parts.get(name, Sums()).plus(Sums(row.answers, row.tokens, row.microdollars))
    return [one for one in found.values() if one.total.answers]


def grouped(spent: Iterable[PersonSpend], by: str, teams: Iterable[Team] = ()) -> list[Group]:
    """The groups of a dimension, the most expensive first. Someone in two teams counts in both."""
    groups: dict[str, Group] = {}

    def add(name: str, handle: str, sums: Sums) -> None:
        groups.setdefault(name, Group(name)).add(handle, sums)

    known = list(teams)
    for one in spent:
        if by == "person":
            add(one.handle, one.handle, one.total)
        elif by == "team":
            for name in [team.name for team in known if one.handle in team.members] or [NO_TEAM]:
                add(name, one.handle, one.total)
        else:
            for name, sums in one.by(by).items():
                add(name, one.handle, sums)
    found = [group for group in groups.values() if group.people]
    return sorted(found, key=lambda group: (-group.sums.microdollars, group.name))


@dataclass(frozen=True)
class VisibleSums:
    """The sums of a period that a reader may see."""

    safe: frozenset[ShownSum] | None = None
    """None: all of them."""

    def shows(self, audience: str, by: str = "", name: str = "") -> bool:
        """Whether the sum of an audience is shown: of everything, or of one model, project or day."""
        return self.safe is None or ShownSum(audience, by, name) in self.safe

    def parts(self, audience: str, by: str, groups: Sequence[Group]) -> tuple[list[Group], Group | None]:
        """The groups that are shown of what an audience spent, and all others as one, if their sum is shown."""
        shown = [group for group in groups if self.shows(audience, by, group.name)]
        return shown, self.rest(audience, [group for group in groups if group not in shown])

    def rest(self, audience: str, groups: Sequence[Group]) -> Group | None:
        """Some groups as one, if the reader may see what remains of the audience without all others."""
        if not groups or not self.shows(audience):
            return None
        people: set[str] = set().union(*(group.people for group in groups))
        return Group("others", people, together(group.sums for group in groups))


def visible_sums(
    spent: Sequence[PersonSpend], audiences: Mapping[str, Set[str]], reader: str, agreed: Set[str]
) -> VisibleSums:
    """The sums of these audiences, the most important first, that a reader may see in an organisation that hides small
    ones. The reader knows what they spent themselves, and what those spent who agreed to be named.
    """
    known = {reader, *agreed}
    spenders = {
        tuple(map(_names, some)): some for some in (_with(measure, spent) for measure in range(len(Sums._fields)))
    }
    return VisibleSums(
        frozenset.intersection(*(safe_sums(some, audiences, known, LEAST) for some in spenders.values()))
    )


def _with(measure: int, spent: Sequence[PersonSpend]) -> list[PersonSpend]:
    """What people spent of one of the fields of `Sums`: a model without a price hides nobody's costs."""
    parts = [
        PersonSpend(one.handle, *({name: sums for name, sums in some.items() if sums[measure]}
                                  for some in (one.models, one.projects, one.days)))
        for one in spent
    ]  # fmt: skip
    return [one for one in parts if one.models]


def _names(one: PersonSpend) -> tuple[str, ...]:
    return (one.handle, *one.models, "", *one.projects, "", *one.days)


def agreed_to_be_named(connection: "Connection", org: int) -> frozenset[str]:
    """Who lets those who see their team's sums see what they spend, by name."""
    found = connection.execute("select handle from person where org = %s and shows_spend and erased is null", (org,))
    return frozenset(str(handle) for (handle,) in found)


def agree_to_be_named(connection: "Connection", person: Person, *, agreed: bool) -> None:
    """Agree to it, or take that back."""
    connection.execute("update person set shows_spend = %s where id = %s", (agreed, person.id))
    record(connection, person.org, person.handle, "spend.by-name", person.handle, "agreed" if agreed else "withdrawn")


def shows_small_sums(connection: "Connection", org: int) -> bool:
    """Whether the organisation lets leads see sums of fewer than `LEAST` people."""
    row = connection.execute("select shows_small_sums from org where id = %s", (org,)).fetchone()
    return bool(row and row[0])


def show_small_sums(connection: "Connection", by: Person, *, shown: bool) -> None:
    """Decide so, for the organisation."""
    connection.execute("update org set shows_small_sums = %s where id = %s", (shown, by.org))
    record(connection, by.org, by.handle, "spend.small-sums", by.org_name, "shown" if shown else "hidden")


def budget_of(connection: "Connection", org: int, team: int | None) -> float | None:
    """What a month may cost, in dollars."""
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
