"""Sums over several people, asked at once: for each of them the numbers of their own pages, and of nobody else."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import psycopg
import pytest

from backscroll.files.layout import Place, place_of
from backscroll.files.source_key import SourceKey
from backscroll.library.analytics.people_usage import PersonUsage, usage_of_people
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from backscroll.library.postgres import postgres_library, sums_of_people
from backscroll.settings import Settings
from backscroll.store.postgres import people_sums
from backscroll.store.postgres.people_sums import PeopleSums, SpentBy
from backscroll.store.postgres.store import PgStore
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.sent_projects import NO_PROJECT, sent_projects
from backscroll.team.people.accounts import people
from tests.contract.support import Desk
from tests.support.postgres import migrated, new_organisation, older_migrated
from tests.team.demo_served import DemoServed
from tests.team.test_appends import counting

__all__ = ["migrated", "older_migrated"]

SONNET: Final = "claude-sonnet-4-5-20250929"
FIRST: Final = """
    @ time=2026-02-01T10:00
    a <- - user: fix the parser
    b <- a assistant(m1): a look at it
    c <- b assistant(m2): it is fixed {"costUSD": 0.25}
    d <- c assistant(m0): no answer {"message": {"model": "<synthetic>"}}
    """
COPIED: Final = {
    "S1": FIRST,
    "S2": FIRST + "e <- d user: thanks\nf <- e assistant(m3): gladly",  # resumed: all of S1 stands in two files
    "S3": """
        @ cwd=/home/ada/blog model=of-an-unknown-price time=2026-02-02T23:40
        l <- - user: write about it
        h <- l assistant(m4): it is written
        """,
    "S3/x1": """
        @ cwd=/home/ada/blog model=of-an-unknown-price time=2026-02-03T00:10
        x <- - user: look
        y <- x assistant(m5): nothing
        """,
    "S4": """
        @ cwd=/elsewhere/shop
        m <- - user: when is this?
        n <- m assistant(m6) -timestamp: nobody knows
        o <- n assistant(m7) -message.model: nor who says so
        """,
    "S5": "p <- - user -cwd: where is this?\nq <- p assistant(m8) -cwd: nowhere",
}
AROUND_CHANGES: Final = {
    f"T{at}": f"@ time={time} cwd=/home/cat/{at % 3}\na{at} <- - user: hi\nb{at} <- a{at} assistant: yes"
    for at, time in enumerate((
        "2025-10-26T00:50", "2025-11-02T05:40", "2026-03-08T06:55", "2026-03-08T07:10", "2026-03-29T00:59",
        "2026-03-29T01:01", "2026-03-29T22:30", "2026-04-04T14:50", "2026-04-04T15:05", "2026-04-05T12:40",
        "2026-04-05T18:20", "2026-10-03T15:20", "2026-10-03T15:35",
    ))
}  # fmt: skip
ZONES: Final = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Kiritimati",
)  # fmt: skip
PERIODS: Final = (
    (None, None),
    (datetime(2026, 2, 2, tzinfo=UTC), None),
    (None, datetime(2026, 3, 29, 1, tzinfo=UTC)),
    (datetime(2026, 2, 1, 10, 7, tzinfo=UTC), datetime(2026, 4, 4, 15, tzinfo=UTC)),
    (datetime(2027, 1, 1, tzinfo=UTC), None),
)
DIMENSIONS: Final[tuple[SpentBy, ...]] = ("model", "project", "day")


@pytest.fixture(scope="module", params=["migrated", "older_migrated"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def numbers(address: str) -> list[int]:
    """Two people with the same content, one with other times, one with nothing, one without an index, a stranger."""
    found = []
    for drawings in (COPIED, COPIED, AROUND_CHANGES, {}, None, COPIED | AROUND_CHANGES):
        found.append(new_organisation())
        if drawings is not None:
            store = PgStore(address, found[-1]).start_writing()
            store.use_prices(lambda answer: 333 * answer.output + 1 if answer.model == SONNET else None, "odd")
            Desk(store).draw(drawings)
            store.close()
    return found


def _own(library: Library, asked: ReportRequest, by: SpentBy) -> dict[str, tuple[int, int, int]]:
    """What the owner of a library sees."""
    return {
        row[by]: (
            row["messages"],
            sum(value for name, value in row.items() if name.endswith("_tokens")),
            row["cost_microdollars"] or 0,
        )
        for row in usage(library, asked, by).as_dicts()
    }


def _of(rows: list[PersonUsage], person: int, by: SpentBy) -> dict[str, tuple[int, int, int]]:
    return {
        row.name: (row.answers, row.tokens, row.microdollars) for row in rows if (row.person, row.by) == (person, by)
    }


@pytest.mark.parametrize("zone", ZONES)
def test_everyone_has_the_numbers_of_their_own_reports(
    address: str, numbers: list[int], tmp_path: Path, zone: str
) -> None:
    with sums_of_people(address, numbers[:-1]) as sums:
        for since, until in PERIODS:
            asked = ReportRequest(since=since, until=until, zone=ZoneInfo(zone))
            found = list(usage_of_people(sums, asked, DIMENSIONS))
            assert {row.person for row in found} <= set(numbers[:3])
            for number in numbers[:4]:
                with _library(tmp_path, address, number) as library:
                    for by in DIMENSIONS:
                        own = _own(library, asked, by)
                        assert _of(found, number, by) == own, (since, until, number, by)
                        alone = list(usage_of_people(sums, asked, (by,)))
                        assert _of(alone, number, by) == own, "asked by itself"
            if since is None and until is None:
                assert {row.name for row in found if row.by == "project"} >= {"-", "/home/ada/blog", "/elsewhere/shop"}
                assert {row.name for row in found if row.by == "model"} == {SONNET, "of-an-unknown-price", "-"}
                assert "-" in {row.name for row in found if row.by == "day"}


def _library(folder: Path, address: str, number: int) -> Library:
    settings = Settings(homes=(), library=folder, file=folder / "settings.toml", terminal=(), require_key="never")
    return postgres_library(settings, address, number, keeps=False)


def test_it_takes_as_many_statements_for_all_as_for_one(
    address: str, numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    for some in (numbers[:1], numbers[:1], numbers):  # the first time, a connection is new
        with counting(monkeypatch) as statements, sums_of_people(address, some) as sums:
            assert list(usage_of_people(sums, ReportRequest(), DIMENSIONS))
            assert sums.projects()
        taken.append(len(statements["worker"]))
    assert taken[1] == taken[2] > 0


@pytest.fixture
def unfiltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements as if the store had forgotten whom they are about."""
    for name in ("SPENT", "SENT"):
        text = getattr(people_sums, name)
        changed = text.replace("s.build = any(%(builds)s::int[])", "true").replace(
            "build = any(%(builds)s::int[])", "true"
        )
        changed = changed.replace("c.true", "true")
        assert changed != text
        monkeypatch.setattr(people_sums, name, changed)


def _everything(sums: PeopleSums) -> tuple[list[Any], list[Any]]:
    spent = sums.spent(DIMENSIONS, None, None)
    return sorted(spent, key=repr), sorted(sums.projects(), key=repr)


def test_row_level_security_alone_hides_everyone_else(
    address: str, numbers: list[int], request: pytest.FixtureRequest
) -> None:
    with sums_of_people(address, numbers[:2]) as sums:
        expected = _everything(sums)
    assert all(expected)
    request.getfixturevalue("unfiltered")
    with sums_of_people(address, numbers[:2]) as sums:
        assert _everything(sums) == expected
    with sums_of_people(address, []) as sums:
        assert _everything(sums) == ([], [])
        assert sums.span() is None


def test_a_chat_that_no_list_shows_makes_no_project(address: str) -> None:
    number = new_organisation()
    store = PgStore(address, number).start_writing()
    warmup = "@ cwd=/home/ada/else\nb <- - user: Warmup"  # of a session that is gone
    desk = Desk(store).draw({"S1": "@ cwd=/home/ada/shop\na <- - user: hi", "S2/x1": warmup})
    assert desk.lists("") == "S1"
    with sums_of_people(address, [number]) as sums:
        assert [(one.project, one.sessions) for one in sums.projects()] == [("/home/ada/shop", 1)]
    store.close()


def test_what_is_shared_gives_no_right_to_sums(address: str, numbers: list[int]) -> None:
    """The settings of a search in what others share: their builds, and not the right to all that is in them."""
    with psycopg.connect(address, autocommit=True) as connection:
        (build,) = connection.execute("select id from backscroll.builds where org = %s", numbers[:1]).fetchone() or (0,)
        connection.execute("set backscroll.build = '0'; set backscroll.sources = '[]'")
        connection.execute(f"set backscroll.shared = '{{{build}}} {{{build}}} {{1}} {{1}}'")
        for homes, sees in (("[]", False), ("all", True)):
            connection.execute(f"reset role; set backscroll.homes = '{homes}'; set role backscroll_shared")
            builds = connection.execute("select distinct build from backscroll.spent").fetchall()
            assert builds == ([(build,)] if sees else [])


def test_projects_are_those_of_every_library(demo: DemoServed) -> None:
    database = demo.served.context.database
    libraries = Libraries(demo.folder / "server", database)
    with database.transaction() as connection:
        handles = {one.id: one.handle for one in people(connection, demo.person("ada").org)}
    expected: dict[str, list[Any]] = {}
    for handle in ("ada", "ben", "liz"):
        with libraries.to_read(handle) as library:
            sizes: dict[str, int] = {}
            for source, file in library.store.indexed_files().items():
                place = place_of(SourceKey.parse(source).path.split("/"))
                if isinstance(place, Place) and place.session_id:
                    sizes[place.session_id] = sizes.get(place.session_id, 0) + file.size
            for stored in library.chats(""):
                name = (stored.overview.project or NO_PROJECT).rpartition("/")[2]
                row = expected.setdefault(name, [set(), 0, 0])
                row[0].add(handle)
                row[1] += len(stored.overview.sessions)
                row[2] += sum(sizes.get(session, 0) for session in stored.overview.sessions)
    with libraries.sums(handles) as sums:
        found = {one.name: [one.people, one.sessions, one.size] for one in sent_projects(sums, handles, {})}
    assert found == expected
    assert len(found) > 2
