"""Two sides: periods, queries, and their measures."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from backscroll.library.analytics.compare import compare, period_of
from backscroll.library.analytics.reports import ReportRequest
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

NOW = datetime(2026, 3, 15, 12, 0, tzinfo=UTC)
JANUARY = "@ time=2026-01-31T23:30:00\na <- - user: one\nb <- a assistant(m1): first"
FEBRUARY = """
@ time=2026-02-01T00:15:00
c <- - user: two
d <- c assistant(m2): second
e <- d user: three
f <- e assistant(m3): third
"""


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2025-12", (2025, 12, 1), (2026, 1, 1)),
        ("2026-01", (2026, 1, 1), (2026, 2, 1)),
        ("2026-W05", (2026, 1, 26), (2026, 2, 2)),
        ("2026-01-05", (2026, 1, 5), (2026, 1, 6)),
        ("2026-01-05..2026-01-07", (2026, 1, 5), (2026, 1, 8)),
        ("yesterday", (2026, 3, 14), (2026, 3, 15)),
    ],
)
def test_periods(text: str, since: tuple[int, int, int], until: tuple[int, int, int]) -> None:
    assert period_of(text, NOW) == (datetime(*since, tzinfo=UTC), datetime(*until, tzinfo=UTC))


def test_a_month_with_a_change_of_clocks_begins_and_ends_at_midnight() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    since, until = period_of("2026-03", NOW.astimezone(berlin)) or (None, None)
    assert since == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert until == datetime(2026, 3, 31, 22, tzinfo=UTC)


@pytest.mark.parametrize("text", ["project:a", "2026-13", "model:opus", "parser", "2026-W60"])
def test_anything_but_a_period_is_a_query(text: str) -> None:
    assert period_of(text, NOW) is None


def test_months_side_by_side(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(
        {session_path("S1"): jsonl(draw(JANUARY)), session_path("S2"): jsonl(draw(FEBRUARY, session="S2"))}
    )
    shelf.update()
    with shelf.open() as library:
        found = {row[0]: row[1:] for row in compare(library, ReportRequest(zone=UTC), "2026-01", "2026-02", NOW).rows}
    assert found["prompts"] == (1, 2, 1, 1.0)
    assert found["answers"] == (1, 2, 1, 1.0)
    assert found["output_tokens"] == (5, 10, 5, 1.0)
    assert found["answers_without_price"] == (0, 0, 0, None)


def test_models_of_one_chat_are_kept_apart(tmp_path: Path) -> None:
    both = JANUARY + "\n@ model=claude-opus-4-6\nc <- b user: two\nd <- c assistant(m2): second"
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(both))})
    shelf.update()
    with shelf.open() as library:
        report = compare(library, ReportRequest(zone=UTC), "model:opus", "model:sonnet", NOW)
    found = {row[0]: row[1:] for row in report.rows}
    assert found["answers"][:2] == (1, 1)
    assert found["turns"][:2] == (1, 1)
    assert found["chats"][:2] == (1, 1)
