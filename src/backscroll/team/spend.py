"""What people, teams, projects and models cost: sums over the libraries of people, each counted as its owner sees it.

A sum of few people tells what each of them spent. Groups of fewer than `LEAST` people are folded into one, and so are
further groups until that one has enough people too: no sum can be had by subtracting what is shown from the total.
Who agreed to be named does not count among these people: what is known of one hides nobody else.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import BackscrollError, UsageError
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from backscroll.render.projects import project_name
from backscroll.team.audit import record
from backscroll.team.people import Person, Team, audience_name

if TYPE_CHECKING:
    from backscroll.team.database import Connection

LEAST: Final = 5
"""So many people must have spent something for their sum to be shown."""
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
    projects: Mapping[str, Sums]
    models: Mapping[str, Sums]
    days: Mapping[str, Sums]

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


def spend_of(handle: str, library: Library, since: datetime | None, until: datetime | None) -> PersonSpend:
    """What a person spent: the numbers of their own Spend page."""
    about = ReportRequest(since=since, until=until)
    found = {by: _by(library, about, by) for by in ("project", "model", "day")}
    projects: dict[str, Sums] = {}
    for path, sums in found["project"].items():  # everyone has a project somewhere else
        name = project_name(path) if path != "-" else "no project"
        projects[name] = projects.get(name, Sums()).plus(sums)
    return PersonSpend(handle, projects, found["model"], found["day"])


def _by(library: Library, about: ReportRequest, by: str) -> dict[str, Sums]:
    rows = usage(library, about, by).as_dicts()
    return {
        row[by]: Sums(
            row["messages"],
            sum(value for name, value in row.items() if name.endswith("_tokens")),
            row["cost_microdollars"] or 0,
        )
        for row in rows
    }


def spend_of_people(
    handles: Iterable[str],
    opened: Callable[[str], Library],
    since: datetime | None,
    until: datetime | None,
) -> list[PersonSpend]:
    """What these people spent; those whose library is being made have spent nothing yet."""
    found = []
    for handle in handles:
        with opened(handle) as library:
            try:
                if library.is_indexed:
                    found.append(spend_of(handle, library, since, until))
            except BackscrollError:
                continue
    return found


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
            own = [team.name for team in known if one.handle in team.members] or ["no team"]
            for name in own:
                add(name, one.handle, one.total)
        else:
            parts = {"project": one.projects, "model": one.models, "day": one.days}[by]
            for name, sums in parts.items():
                add(name, one.handle, sums)
    found = [group for group in groups.values() if group.people]
    return sorted(found, key=lambda group: (-group.sums.microdollars, group.name))


@dataclass(frozen=True)
class SmallSums:
    """Which sums are of too few people to be shown."""

    least: int = LEAST
    agreed: frozenset[str] = frozenset()
    """Who agreed to be named."""

    def count(self, people: Set[str]) -> int:
        """How many people hide one another in their sum."""
        return len(people - self.agreed) if self.least > 1 else len(people)

    def shows(self, people: Set[str]) -> bool:
        """Whether what these people spent in all is shown: to everyone who agreed, or to enough."""
        return self.count(people) >= self.least or people <= self.agreed


def folded(groups: Iterable[Group], small: SmallSums = SmallSums()) -> tuple[list[Group], Group | None]:  # noqa: B008
    """The groups with enough people, and one of all others, which has enough people too, or no group is shown at all.

    Subtracting what is shown from the total gives the sum of all others, not that of a few.
    """
    shown = sorted(groups, key=lambda group: (small.count(group.people), group.sums.microdollars))
    others = Group("others")
    while shown and (small.count(shown[0].people) < small.least or _is_small(others, small)):
        less = shown.pop(0)
        others = Group("others", others.people | less.people, others.sums.plus(less.sums))
    shown.sort(key=lambda group: (-group.sums.microdollars, group.name))
    return shown, others if others.people else None


def _is_small(others: Group, small: SmallSums) -> bool:
    return bool(others.people) and small.count(others.people) < small.least


def folded_people(groups: Iterable[Group], small: SmallSums) -> tuple[list[Group], Group | None]:
    """The same for groups that are one person each: who agreed is shown by name. Where the others are few, their total
    is not shown either.
    """
    every = list(groups)
    shown, others = folded((group for group in every if not group.people <= small.agreed), small)
    shown += (group for group in every if group.people <= small.agreed)
    shown.sort(key=lambda group: (-group.sums.microdollars, group.name))
    return shown, others


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
