"""Spending: what it cost, what changed, and why, against sums by hand."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.spend import DIMENSIONS, Spend, SpendFilter, spend
from backscroll.library.analytics.spend_periods import compared_period, forecast
from backscroll.library.analytics.spend_reasons import reasons
from backscroll.library.analytics.spend_report import spend_report
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

NOW = datetime(2026, 1, 12, 12, tzinfo=UTC)
SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"
# Dollars a million tokens of Sonnet 4.5, which are also microdollars a token.
INPUT, OUTPUT, WRITE, READ = 3, 15, 3.75, 0.3


def answer(
    name: str, parent: str, time: str, tokens: tuple[int, int, int, int], *, model: str = SONNET, call: str = ""
) -> str:
    given, written, read, output = tokens
    usage = {
        "input_tokens": given,
        "output_tokens": output,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written},
    }
    fields = json.dumps({"message": {"model": model, "usage": usage, "stop_reason": "end_turn"}})
    said = f'call({name}m) {name}t {call} {{"command": "ls"}}' if call else f"assistant({name}m): ok"
    return f"@ time={time}\n{name} <- {parent} {said} {fields}\n"


DRAWING = (
    "@ time=2026-01-10T10:00:00\na <- - user: read everything\n"
    + answer("b", "a", "2026-01-10T10:00:10", (0, 20_000, 0, 100), call="Bash")
    + answer("c", "b", "2026-01-10T10:01:00", (0, 60_000, 20_000, 100), call="Read")
    + "@ time=2026-01-10T10:30:00\nd <- c user: and now?\n"
    + answer("e", "d", "2026-01-10T10:30:10", (0, 81_000, 0, 100))  # 29 minutes later: the cache has lost it
    + "@ time=2026-01-10T10:31:00\nf <- e user: write it\n"
    + answer("g", "f", "2026-01-10T10:31:10", (0, 82_000, 0, 8_000), model=OPUS)  # another model
)
EARLIER = "@ time=2026-01-03T10:00:00 session=S2\nh <- - user: hello\n" + answer(
    "i", "h", "2026-01-03T10:00:10", (1_000, 0, 0, 1_000)
)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    shelf = Shelf(tmp_path).write(
        {
            session_path("S1"): jsonl(draw(DRAWING)),
            session_path("S2"): jsonl(draw(EARLIER, session="S2")),
        }
    )
    shelf.update()
    with shelf.open() as library:
        yield library


def week(library: Library, **only: str) -> Spend:
    since = datetime(2026, 1, 6, tzinfo=UTC)
    return spend(library, ReportRequest(zone=UTC), compared_period(since, None, NOW), SpendFilter(**only), NOW)


def test_the_parts_of_the_cost_are_those_of_the_price_list_and_add_up(library: Library) -> None:
    found = week(library)
    parts = {name: cost / 1000 for name, cost in found.total.parts.items() if cost}
    opus = (82_000 * 6.25, 8_000 * 25)
    assert parts == {
        "context": 20_000 * READ,
        "new": 80_000 * WRITE + 1_000 * WRITE + opus[0] * 1_000 / 82_000,
        "pause": 80_000 * WRITE,
        "switch": opus[0] * 81_000 / 82_000,
        "output": 300 * OUTPUT + opus[1],
    }
    assert sum(found.total.parts.values()) == found.total.cost


def test_the_previous_period_is_equally_long_and_the_difference_is_shown(library: Library) -> None:
    found = week(library)
    assert found.period.before == (datetime(2025, 12, 30, tzinfo=UTC), datetime(2026, 1, 5, 12, tzinfo=UTC))
    assert found.before.cost / 1000 == 1_000 * (INPUT + OUTPUT)
    rows = {
        row["chat"]: row
        for row in spend_report(library, ReportRequest(since=found.period.since, zone=UTC), "chat", NOW).as_dicts()
    }
    assert rows[session_uuid("S2")]["change_microdollars"] == -18_000
    assert rows[session_uuid("S2")]["cost_microdollars"] == 0
    assert rows[session_uuid("S1")]["before_microdollars"] == 0
    assert "pause of 29 min outlasted the cache: 80k tokens" in rows[session_uuid("S1")]["reason"]


def test_the_dearest_turn_comes_first_with_its_reason(library: Library) -> None:
    first, third, second = week(library).turns  # the last two cost about the same
    assert [turn.prompt and turn.prompt.text for turn in (first, second, third)] == [
        "write it", "and now?", "read everything",
    ]  # fmt: skip
    assert [reason.part for reason in reasons(first.items)] == ["switch", "output"]
    assert (
        reasons(first.items)[0].text
        == "1 model change (sonnet-4-5 → opus-4-5): 81k tokens were written to the cache again"
    )
    assert (
        reasons(first.items)[1].text == "8k tokens of answers, thinking and tool input; 1 answer of 4k tokens or more"
    )
    assert [reason.text for reason in reasons(second.items)] == [
        "a pause of 29 min outlasted the cache: 80k tokens were written to it again"
    ]


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_every_dimension_adds_up_and_a_filter_gives_what_its_row_says(library: Library, dimension: str) -> None:
    found = week(library)
    assert sum(group.now.cost for group in found.groups[dimension]) == found.total.cost
    assert sum(group.before.cost for group in found.groups[dimension]) == found.before.cost
    for group in found.groups[dimension]:
        only = week(library, **{dimension: group.name})
        assert (only.total.cost, only.before.cost) == (group.now.cost, group.before.cost)
        assert sum(only.total.parts.values()) == only.total.cost


@pytest.mark.parametrize("since", [None, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 10, 10, 15, tzinfo=UTC)])
@pytest.mark.parametrize("until", [None, datetime(2026, 1, 10, 10, 30, tzinfo=UTC)])
def test_the_total_is_that_of_the_usage_report(
    library: Library, since: datetime | None, until: datetime | None
) -> None:
    asked = ReportRequest(since=since, until=until, zone=UTC)
    total = spend_report(library, asked, "why", NOW).facts["total"]
    counted = usage(library, asked, "model").facts["total"]
    assert (total["cost_microdollars"], total["messages"]) == (counted["cost_microdollars"] or 0, counted["messages"])


def test_a_period_is_moved_back_by_whole_days() -> None:
    first, end = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC)
    assert compared_period(first, end, NOW).before == (datetime(2025, 12, 29, tzinfo=UTC), first)
    today = compared_period(end, None, NOW)
    assert today.before == (datetime(2026, 1, 11, tzinfo=UTC), datetime(2026, 1, 11, 12, tzinfo=UTC))
    hours = compared_period(end, end + timedelta(hours=2), NOW)
    assert hours.before == (end - timedelta(hours=2), end)
    assert compared_period(None, None, NOW).before is None


def test_the_forecast_adds_the_pace_of_the_last_days() -> None:
    costs = {date(2026, 1, 11): 14_000, date(2026, 1, 12): 3_000, date(2025, 12, 31): 28_000, date(2025, 12, 1): 99_000}
    found = forecast(costs, date(2026, 1, 12), 0.5, date(2025, 12, 1))
    assert (found.so_far, found.pace) == (17_000, 3_000)
    assert found.at_end == 17_000 + 3_000 * 19.5


def test_the_forecast_goes_by_the_days_since_the_first_answer_and_needs_a_week() -> None:
    costs = {date(2026, 1, day): 1_000 for day in range(1, 13)}
    week = forecast(costs, date(2026, 1, 8), 0.0, date(2026, 1, 1))
    assert (week.pace_days, week.pace, week.at_end) == (7, 1_000, 8_000 + 24 * 1_000)
    early = forecast(costs, date(2026, 1, 7), 0.0, date(2026, 1, 1))
    assert (early.so_far, early.pace_days, early.pace, early.at_end) == (7_000, 6, None, None)
    never = forecast({}, date(2026, 1, 7), 0.0, None)
    assert (never.pace_days, never.at_end) == (0, None)


def test_real_sessions_add_up_too(corpus_library: Library) -> None:
    found = spend(corpus_library, ReportRequest(zone=UTC), compared_period(None, None, NOW), SpendFilter(), NOW)
    assert sum(found.total.parts.values()) == found.total.cost
    for dimension in DIMENSIONS:
        assert sum(group.now.cost for group in found.groups[dimension]) == found.total.cost
    assert sum(turn.cost for turn in found.turns) == found.total.cost
    assert all(reasons(items) for items in found.chats.values() if any(item.cost for item in items))
