"""The Spend page: what it cost, what changed, why; everything on it is a filter, and the budget is kept."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backscroll.library.marks import read_marks
from backscroll.web.pages.spend_request import bounds_of_preset
from tests.library.analytics.test_spend import DRAWING, EARLIER
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.shown import Viewer

WEEK = "/spend?since=2026-01-06&until=2026-01-12&zone=UTC"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write({
        session_path("S1"): jsonl(draw(DRAWING)),
        session_path("S2"): jsonl(draw(EARLIER, session="S2")),
    })  # fmt: skip
    shelf.update()
    return shelf


def test_it_says_what_it_cost_what_changed_and_why(shelf: Shelf) -> None:
    page = Viewer(shelf).get(WEEK)
    assert "$1.33 ▲ $1.31 more" in page.text
    assert "than Dec 30, 2025 – Jan 5, which is as long and cost $0.02" in page.text
    assert "a pause of 29 min outlasted the cache: 80k tokens were written to it again" in page.text
    assert "1 model change (sonnet-4-5 → opus-4-5)" in page.text
    assert page.hrefs(f"/chats/{session_uuid('S1')}?at=")  # the dearest turns lead to their prompts


def test_a_click_on_anything_filters_everything(shelf: Shelf) -> None:
    viewer = Viewer(shelf)
    page = viewer.get(WEEK)
    for name in ("opus-4-5", "Bash"):
        only = viewer.get(page.link(name))
        assert "Only" in only.text
        assert only.link(name).startswith("/spend?")
        back = only.link(name)  # the same again removes the filter
        assert viewer.get(back).text == page.text
    assert "$0.71 " in viewer.get(page.link("opus-4-5")).text
    assert "Nothing was spent with these filters" in viewer.get(f"{WEEK}&model=nothing").text


def test_the_budget_is_kept_and_drawn(shelf: Shelf) -> None:
    viewer = Viewer(shelf)
    assert viewer.post("/spend/budget", 303, amount="$1,200.50", back=WEEK) == WEEK
    assert read_marks(shelf.settings.library).budget == 1200.5
    page = viewer.get(WEEK)
    assert "of $1,200" in page.text or "of $1,201" in page.text
    assert re.search(r"Budget a day \$(3[89]|4[0-3])", page.text)
    assert viewer.post("/spend/budget", 303, amount="", back="https://elsewhere.example/") == "/spend"
    assert read_marks(shelf.settings.library).budget is None
    assert "budget" not in (shelf.settings.library / "marks.json").read_text()
    for amount in ("much", "-3", "0", "nan", "inf"):
        viewer.post("/spend/budget", 400, amount=amount)


def test_without_anything_it_says_what_to_do(tmp_path: Path, shelf: Shelf) -> None:
    empty = Shelf(tmp_path / "empty")
    empty.update()
    assert "Nothing was spent" in Viewer(empty).get("/spend").text
    page = Viewer(shelf).get("/spend?period=today")
    assert Viewer(shelf).get(page.link("Show all time")).text.count("Dearest chats") == 1
    assert "use one of today" in Viewer(shelf).get("/spend?period=soon", 400).text


def test_periods_begin_at_midnight() -> None:
    now = datetime(2026, 3, 11, 15, 30, tzinfo=UTC)  # a Wednesday

    def day(month: int, number: int) -> datetime:
        return datetime(2026, month, number, tzinfo=UTC)

    assert bounds_of_preset("today", now) == (day(3, 11), None)
    assert bounds_of_preset("7d", now) == (day(3, 5), None)
    assert bounds_of_preset("last-week", now) == (day(3, 2), day(3, 9))
    assert bounds_of_preset("month", now) == (day(3, 1), None)
    assert bounds_of_preset("last-month", now) == (day(2, 1), day(3, 1))
    assert bounds_of_preset("all", now) == (None, None)
