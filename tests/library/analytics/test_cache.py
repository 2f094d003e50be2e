"""The prompt cache: hits, savings and misses, against sums by hand."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.analytics.cache import cache
from backscroll.library.analytics.cost_parts import LOSSES, rewriting_cost
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.spend import SpendFilter, spend
from backscroll.library.analytics.spend_periods import compared_period
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from backscroll.pricing.money import microdollars
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path


def answer(name: str, parent: str, time: str, given: int, written: int, read: int) -> str:
    usage = f'"input_tokens": {given}, "output_tokens": 0, "cache_creation_input_tokens": {written}, '
    usage += f'"cache_read_input_tokens": {read}, "cache_creation": {{"ephemeral_5m_input_tokens": {written}}}'
    fields = f'{{"message": {{"usage": {{{usage}}}}}}}'
    return f"@ time=2026-01-05T{time}\n{name} <- {parent} assistant({name}m): ok {fields}\n"


DRAWING = (
    "a <- - user: hi\n"
    + answer("b", "a", "10:00:00", 100, 10_000, 0)  # the first: nothing could be read
    + answer("c", "b", "10:01:00", 100, 1_000, 10_000)
    + answer("d", "c", "10:20:00", 100, 12_000, 0)  # after 19 minutes
    + answer("e", "d", "12:30:00", 100, 13_000, 0)  # after more than two hours
    + answer("f", "e", "12:31:00", 100, 0, 13_000)
)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    rows = draw(DRAWING)
    again = [row | {"sessionId": session_uuid("S2")} for row in rows]
    more = draw("@ session=S2 time=2026-01-07T10:00:00.000Z\nz <- f user: go on")
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(rows), session_path("S2"): jsonl([*again, *more])})
    shelf.update()
    with shelf.open() as library:
        yield library


def rows(library: Library, by: str, **asked: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    return {row[by]: row for row in cache(library, ReportRequest(zone=UTC, **asked), by).as_dicts()}


def test_hits_and_money_are_those_of_the_price_list(library: Library) -> None:
    row = rows(library, "model")["claude-sonnet-4-5-20250929"]
    assert (row["answers"], row["cache_creation_input_tokens"], row["cache_read_input_tokens"]) == (5, 36_000, 23_000)
    assert row["hit_share"] == 23_000 / 59_500
    # Sonnet 4.5: 3 dollars a million for input, 3.75 for writes, 0.30 for reads.
    cost = 500 * 3 + 36_000 * 3.75 + 23_000 * 0.3
    assert row["cost_microdollars"] == cost
    assert row["saved_microdollars"] == 59_500 * 3 - cost
    # After a pause, what the answer before had is written again; what is more than that is new.
    assert (row["misses"], row["missed_tokens"]) == (2, 11_100 + 12_100)
    assert row["missed_cost_microdollars"] == round((11_100 + 12_100) * 3.75)


def test_misses_by_pause(library: Library) -> None:
    found = {name: (row["answers"], row["misses"]) for name, row in rows(library, "pause").items()}
    assert found == {"first answer": (1, 0), "up to 5 min": (2, 0), "5 min to 1 h": (1, 1), "more than 1 h": (1, 1)}


def test_a_pause_reaches_back_before_the_time_that_is_asked_about(library: Library) -> None:
    found = rows(library, "pause", since=datetime(2026, 1, 5, 12, tzinfo=UTC))
    assert {name: row["misses"] for name, row in found.items()} == {"up to 5 min": 0, "more than 1 h": 1}


def test_days_and_chats(library: Library) -> None:
    assert list(rows(library, "day")) == ["2026-01-05"]
    row = rows(library, "chat")[session_uuid("S1")]
    assert (row["answers"], row["title"]) == (5, "hi")


def test_misses_cost_what_spend_says(corpus_library: Library) -> None:
    asked, now = ReportRequest(zone=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    found = spend(corpus_library, asked, compared_period(None, None, now), SpendFilter(), now)
    prices = load_prices(corpus_library.settings)
    agents = [item.answer for item in found.items if item.answer.agent is not None]
    lost = sum(found.total.parts[name] for name in LOSSES) + sum(rewriting_cost(one, prices) for one in agents)
    assert cache(corpus_library, asked).facts["total"]["missed_cost_microdollars"] == microdollars(lost) > 0


def test_the_numbers_are_those_of_an_independent_count(corpus: Path, corpus_library: Library) -> None:
    most: dict[str, list[int]] = {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    for path in sorted((corpus / "home").glob("projects/**/*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                row = json.loads(line)
                # Of agents without a file of their own, the session repeats what they said.
                row = row["data"]["message"] if row.get("type") == "progress" else row
                message = row["message"]
                usage, key = message["usage"], message["id"]
            except (ValueError, KeyError, TypeError):
                continue
            if message["model"] != "<synthetic>":
                counts = most.setdefault(key, [0, 0, 0])
                most[key] = [max(known, usage.get(name) or 0) for known, name in zip(counts, names, strict=True)]
    total = cache(corpus_library, ReportRequest()).facts["total"]
    assert total["answers"] == len(most)
    assert [total[name] for name in names] == [sum(counts[at] for counts in most.values()) for at in range(3)]
