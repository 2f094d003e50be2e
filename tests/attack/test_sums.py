"""No sum that a reader may see, and no combination of them, tells what fewer than five people spent.

The attacker here is linear algebra in plain Python. It shares no code with what decides which sums are shown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.accounts import person_of
from backscroll.team.people.teams import new_team, set_lead, set_members
from backscroll.team.reading.disclosure import ShownSum, safe_sums
from tests.support.postgres import fresh_database, postgres
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Browser, Served, serving

__all__ = ["postgres"]
HANDLES = "abcdefgh"
PEOPLE = "abcdefg"
TEAMS = {"Five": "abcde", "Six": "abcdef", "Two": "fg"}
MONTH = "2026-01"


@dataclass
class Spent:
    """Someone who spent something, with the names of what."""

    handle: str
    names: dict[str, list[str]] = field(default_factory=dict)

    def by(self, dimension: str) -> Mapping[str, object]:
        return dict.fromkeys(self.names[dimension], 1)

    def cells(self) -> list[tuple[str, ...]]:
        """The unknown amounts of this person."""
        return [(self.handle, *names) for names in product(*(self.names[by] for by in ("model", "project", "day")))]


def _rank(rows: Sequence[Sequence[int]]) -> int:
    left = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(len(left[0]) if left else 0):
        at = next((number for number in range(rank, len(left)) if left[number][column]), None)
        if at is None:
            continue
        left[rank], left[at] = left[at], left[rank]
        for number in range(rank + 1, len(left)):
            if factor := left[number][column] / left[rank][column]:
                left[number] = [one - factor * two for one, two in zip(left[number], left[rank], strict=True)]
        rank += 1
    return rank


def leaks(
    shown: Sequence[ShownSum], people: Sequence[Spent], audiences: Mapping[str, set[str]], known: set[str], least: int
) -> list[tuple[str, ...]]:
    """The groups of fewer than `least` people about whom a combination of the sums tells something."""
    unknown = [one for one in people if one.handle not in known]

    def is_in(one: ShownSum, cell: tuple[str, ...]) -> bool:
        return cell[0] in audiences[one.audience] and (not one.by or one.name in cell[1:])

    columns = {(cell[0], tuple(int(is_in(one, cell)) for one in shown)) for some in unknown for cell in some.cells()}

    def rank_without(some: tuple[str, ...]) -> int:
        return _rank(sorted({column for handle, column in columns if handle not in some}))

    whole = rank_without(())
    handles = [one.handle for one in unknown]
    size = min(least - 1, len(handles))
    return [some for some in combinations(handles, size) if rank_without(some) < whole]


def _names(*names: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=1, unique=True)


@st.composite
def organisations(draw: st.DrawFn) -> tuple[list[Spent], dict[str, set[str]], set[str]]:
    handles = HANDLES[: draw(st.integers(3, len(HANDLES)))]
    kinds = {"model": _names("m1", "m2"), "project": _names("p1", "p2"), "day": _names("d1", "d2")}
    people = [Spent(handle, {by: draw(names) for by, names in kinds.items()}) for handle in handles]
    teams = draw(st.lists(st.sets(st.sampled_from(handles), min_size=1), max_size=3))
    audiences = {f"team {number}": team for number, team in enumerate(teams)}
    if draw(st.booleans()):
        audiences = {"everyone": set(handles), **audiences, "no team": set(handles).difference(*teams)}
    return people, audiences, draw(st.sets(st.sampled_from(handles), max_size=2))


@given(organisations(), st.integers(2, 3))
@settings(max_examples=60, deadline=None)
def test_no_combination_of_sums_tells_what_few_people_spent(
    organisation: tuple[list[Spent], dict[str, set[str]], set[str]], least: int
) -> None:
    people, audiences, known = organisation
    shown = sorted(safe_sums(people, audiences, known, least))
    assert not leaks(shown, people, audiences, known, least)


@pytest.mark.all
@given(organisations(), st.integers(2, 5))
@settings(max_examples=1500, deadline=None)
def test_no_combination_of_sums_tells_what_few_people_spent_at_length(
    organisation: tuple[list[Spent], dict[str, set[str]], set[str]], least: int
) -> None:
    people, audiences, known = organisation
    shown = sorted(safe_sums(people, audiences, known, least))
    assert not leaks(shown, people, audiences, known, least)


def _alike(handles: str, **names: list[str]) -> list[Spent]:
    usual = {"model": ["m"], "project": ["p"], "day": ["d"]}
    return [Spent(handle, {**usual, **names}) for handle in handles]


def _shown(people: list[Spent], known: str = "", **teams: str) -> set[str]:
    everyone = {one.handle for one in people}
    audiences = {"everyone": everyone, **{name: set(members) for name, members in teams.items()}}
    found = safe_sums(people, audiences, set(known), 5)
    assert not leaks(sorted(found), people, audiences, set(known), 5)
    return {f"{one.audience} {one.name}".strip() for one in found}


def test_the_oracle_sees_the_leak_of_the_issue() -> None:
    people, audiences = _alike("abcdef"), {"five": set("abcde"), "six": set("abcdef")}
    both = [ShownSum("five"), ShownSum("six")]
    assert leaks(both, people, audiences, set(), 5)
    assert not leaks(both[:1], people, audiences, set(), 5)


def test_of_two_teams_that_differ_by_one_person_one_is_shown() -> None:
    shown = _shown(_alike("abcdef"), five="abcde", six="abcdef")
    assert {"everyone", "six"} <= shown
    assert not {"five", "five p"} & shown


def test_teams_that_overlap_are_shown_if_enough_people_are_in_one_only() -> None:
    people = _alike("abcdefghijklmnopq")
    shown = _shown(people, left="abcdefg", right="fghijkl")
    assert {"everyone", "left", "right"} <= shown, "five only left, five only right, five in neither"
    assert _shown(_alike("abcdefghijkl"), left="abcdefg", right="fghijkl") >= {"everyone", "left"}
    assert "right" not in _shown(_alike("abcdefghijkl"), left="abcdefg", right="fghijkl"), (
        "left + right − everyone = fg"
    )


def test_disjoint_teams_are_all_shown_with_their_parts() -> None:
    shown = _shown(_alike("abcde") + _alike("fghij", project=["q"]), left="abcde", right="fghij")
    assert {"everyone", "everyone p", "everyone q", "left", "right"} <= shown


def test_a_project_and_a_model_that_differ_by_one_person_are_not_both_shown() -> None:
    people = _alike("abcde") + _alike("f", model=["n"]) + _alike("ghijkl", model=["n"], project=["q"])
    assert not {"everyone m", "everyone p"} <= _shown(people), "p − m is what f spent"


def test_who_reads_and_who_agreed_hide_nobody() -> None:
    assert _shown(_alike("abcde")) > {"everyone"}
    assert _shown(_alike("abcde"), known="a") == set()
    assert _shown(_alike("abcdef"), known="a") > {"everyone"}
    assert _shown(_alike("abcdef"), known="ab") == set()


@dataclass
class House:
    """A server with a to g, who had 1, 2, 4, … answers: each number tells whose answers are in it."""

    served: Served
    teams: dict[str, int]
    admin: Browser

    def numbers(self, browser: Browser, team: str = "", period: str = MONTH) -> set[int]:
        """All numbers of answers that the pages about a team show, divided in every way."""
        found: set[int] = set()
        for by in ("person", "project", "model") if team else ("team", "person", "project", "model"):
            where = f"/team-spend?by={by}&period={period}"
            page = browser.get(f"{where}&team={self.teams[team]}" if team else where)
            assert page.status_code == 200
            found |= {int(one.replace(",", "")) for one in re.findall(r"([\d,]+) answers?,", page.text)}
            found |= {int(one.replace(",", "")) for one in re.findall(r'data-label="Answers">([\d,]+)<', page.text)}
        return found


@pytest.fixture(scope="module")
def house(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder: Path = tmp_path_factory.mktemp("house")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        for number, person in enumerate(invited(served, *PEOPLE)):
            project = "shop" if person.handle < "f" else "maps"
            lines = [f"@ cwd=/home/dev/{project} time={MONTH}-05T10:00:00.000Z", f"u{number} <- - user: begin"]
            parent = f"u{number}"
            for answer in range(2**number):
                lines.append(f"{person.handle}{answer} <- {parent} assistant(m{person.handle}{answer}): fine")
                parent = f"{person.handle}{answer}"
            machine_of(served, person, folder / "machines").push(**{f"s{person.handle}": "\n".join(lines)})
        with served.context.database.transaction() as connection:
            owner = person_of(connection, 1, "admin")
            teams = {name: new_team(connection, owner, name) for name in TEAMS}
            for name, members in TEAMS.items():
                set_members(connection, owner, teams[name], list(members))
        made = House(served, teams, served.signed_in("admin"))
        made.admin.submit("/team-spend/rule", shown="1")
        until(lambda: 127 in made.numbers(made.admin, period="all"))
        made.admin.submit("/team-spend/rule", shown="")
        yield made


def _combinations(numbers: set[int]) -> Iterator[int]:
    """Every number, and every sum and difference of two and three of them."""
    for size in (1, 2, 3):
        for some in combinations(sorted(numbers), size):
            for signs in product((1, -1), repeat=size):
                yield sum(sign * one for sign, one in zip(signs, some, strict=True))


@pytest.mark.slow
def test_the_pages_of_an_administrator_do_not_give_anyone_away(house: House) -> None:
    numbers = house.numbers(house.admin).union(*(house.numbers(house.admin, team) for team in TEAMS))
    assert 127 in numbers, "everyone"
    assert not {one for one in _combinations(numbers) if 0 < one < 128 and one.bit_count() < 5}
    house.admin.submit("/team-spend/rule", shown="1")
    unprotected = set().union(*(house.numbers(house.admin, team, "all") for team in ("Five", "Six")))
    house.admin.submit("/team-spend/rule", shown="")
    assert 32 in set(_combinations(unprotected)), "without the rule, Six − Five is what f spent"


@pytest.mark.slow
def test_a_lead_who_knows_their_own_spend_learns_nothing_of_four_others(house: House) -> None:
    with house.served.context.database.transaction() as connection:
        owner = person_of(connection, 1, "admin")
        for name in ("Five", "Six"):
            set_lead(connection, owner, house.teams[name], "a")
    lead = house.served.signed_in("a")
    numbers = house.numbers(lead, "Five") | house.numbers(lead, "Six")
    assert 63 in numbers
    without_own = {one & ~1 for one in numbers}
    assert not {one for one in _combinations(without_own) if 0 < one < 128 and one.bit_count() < 5}
