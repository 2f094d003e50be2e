"""Where the time went, against drawn chats whose times are known."""

from datetime import UTC, datetime
from pathlib import Path

from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.time import COLUMNS, time_spent
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

WORK = """
@ time=2026-01-05T10:00:00
a <- - user: fix the parser
@ time=2026-01-05T10:00:10
b <- a call(m1) t1 Bash {"command": "make"}
@ time=2026-01-05T10:00:40
c <- b result t1: fine
@ time=2026-01-05T10:01:00
d <- c assistant(m2): done
@ time=2026-01-05T10:03:00
e <- d user: and the tests
@ time=2026-01-05T10:03:30
f <- e assistant(m3): done too
@ time=2026-01-05T11:00:00
g <- f user: go on
@ time=2026-01-05T11:00:05
h <- g assistant(m4): gladly
"""
ASKED = """
@ time=2026-01-06T10:00:00
qa <- - user: choose for me
@ time=2026-01-06T10:00:10
qb <- qa call(qm1) qt1 AskUserQuestion {"questions": []}
@ time=2026-01-06T10:01:10
qc <- qb result qt1: the blue one
@ time=2026-01-06T10:01:20
qd <- qc call(qm2) qt2 Bash {"command": "sleep"}
@ time=2026-01-06T13:01:20
qe <- qd result qt2: woken
@ time=2026-01-06T13:01:30
qf <- qe assistant(qm3): done
"""


def total(shelf: Shelf, asked: ReportRequest | None = None) -> dict[str, float]:
    with shelf.open() as library:
        library.update()
        found: dict[str, float] = time_spent(library, asked or ReportRequest(zone=UTC)).facts["total"]
    return found


def test_every_gap_belongs_to_what_ends_it(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(WORK))})
    assert total(shelf) == dict(zip(COLUMNS, (3, 215, 65, 30, 120, 0, 3390, 30.0, 60.0), strict=True))


def test_copies_in_a_resumed_file_add_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(WORK))})
    before = total(shelf)
    rows = draw(WORK)
    moved = [row | {"timestamp": "2026-01-07T08:00:00.000Z"} for row in rows]
    shelf.write({session_path("S2"): jsonl(moved)})
    assert total(shelf) == before
    # The copies are of a later day, but what they are copies of is not.
    later = ReportRequest(since=datetime(2026, 1, 7, tzinfo=UTC), zone=UTC)
    assert total(shelf, later)["turns"] == 0
    with shelf.open() as library:
        assert time_spent(library, ReportRequest(zone=UTC)).facts["copies"] == len(rows)


def test_a_question_is_a_wait_for_the_human_and_a_sleeping_computer_is_away(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(ASKED))})
    found = total(shelf)
    assert (found["human_seconds"], found["tools_seconds"], found["away_seconds"]) == (60, 0, 3 * 3600)
    assert found["model_seconds"] == 30
    assert found["turn_p50_seconds"] == 90


def test_days_models_and_projects_add_up_to_the_same(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(
        {
            session_path("S1"): jsonl(draw(WORK)),
            session_path("S2"): jsonl(draw(ASKED, session="S2", model="claude-opus-4-6")),
        }
    )
    shelf.update()
    with shelf.open() as library:
        for by in ("day", "project", "model", "chat"):
            report = time_spent(library, ReportRequest(zone=UTC), by)
            for column in COLUMNS[:7]:
                assert sum(row[column] for row in report.as_dicts()) == report.facts["total"][column]
        assert [row[0] for row in time_spent(library, ReportRequest(zone=UTC), "day").rows] == [
            "2026-01-06",
            "2026-01-05",
        ]


def test_what_agents_did_is_inside_the_wait_for_them(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(WORK))})
    before = total(shelf)
    agent = "@ agent=abc1234 time=2026-01-05T10:00:15\nx <- - user: look\ny <- x assistant(mx): seen"
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write({f"{folder}/subagents/agent-abc1234.jsonl": jsonl(draw(agent))})
    assert total(shelf) == before
