"""The sizes of chats, compared with drawn chats and with what other reports count."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backscroll.library.analytics.chats import COLUMNS, DIMENSIONS, chats
from backscroll.library.analytics.reports import ReportRequest, percentile
from backscroll.library.analytics.time import time_spent
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import EVERYTHING, session_path

OPUS, SONNET = "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"


def drawn(name: str, turns: int, start: str, *, project: str = "/home/ada/shop", model: str = OPUS) -> dict[str, bytes]:
    """A chat of some turns, each with an answer of a thousand tokens."""
    drawing, parent = f"@ cwd={project} time={start}\n", "-"
    fields = {"message": {"model": model, "usage": {"input_tokens": 900, "output_tokens": 100}}}
    for turn in range(turns):
        drawing += f"{name}p{turn} <- {parent} user: prompt {turn} of {name}\n"
        drawing += f"{name}a{turn} <- {name}p{turn} assistant({name}m{turn}): done {json.dumps(fields)}\n"
        parent = f"{name}a{turn}"
    return {session_path(name): jsonl(draw(drawing, session=name))}


@given(st.lists(st.integers(0, 50), min_size=1), st.sampled_from((0.5, 0.9, 0.95, 1.0)))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(values: list[int], part: float) -> None:
    found = percentile(values, part)
    assert found is not None

    def reached(limit: float) -> bool:
        return sum(value <= limit for value in values) >= ceil(round(part * len(values), 9))

    assert reached(found)
    assert not any(reached(value) for value in values if value < found)


def test_percentiles_are_over_all_chats_of_a_group(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for number in range(1, 11):
        shelf.write(drawn(f"S{number}", number, f"2026-01-05T{number + 7:02}:00"))
    shelf.write(drawn("B1", 3, "2026-01-14T10:00", project="/home/ada/blog", model=SONNET))
    shelf.update()
    with shelf.open() as library:
        asked = ReportRequest(zone=UTC)
        by_project, by_model, by_week = (chats(library, asked, by) for by in ("project", "model", "week"))
    shop, blog = by_project.as_dicts()
    assert (shop["project"], shop["chats"], blog["chats"]) == ("/home/ada/shop", 10, 1)
    assert [shop[f"turns_{part}"] for part in ("p50", "p90", "p95", "max")] == [5, 9, 10, 10]
    assert [shop[f"total_{part}_tokens"] for part in ("p50", "p90", "p95", "max")] == [5000, 9000, 10_000, 10_000]
    assert [row["turns_max"] for row in by_model.as_dicts()] == [10, 3]
    assert [(row["week"], row["chats"]) for row in by_week.as_dicts()] == [("2026-W03", 1), ("2026-W02", 10)]
    assert by_project.facts["total"]["chats"] == 11


def test_only_what_happened_in_the_period_counts(tmp_path: Path) -> None:
    first = drawn("S1", 4, "2026-01-05T10:00")
    more = draw(
        "@ cwd=/home/ada/shop time=2026-01-20T10:00\nx <- S1a3 user: more\ny <- x assistant(z): ok", session="S1"
    )
    path = session_path("S1")
    shelf = Shelf(tmp_path).write({path: first[path] + jsonl(more)})
    shelf.update()
    with shelf.open() as library:
        since = datetime(2026, 1, 19, tzinfo=UTC)
        (late,) = chats(library, ReportRequest(since=since, zone=UTC), "week").as_dicts()
        (whole,) = chats(library, ReportRequest(zone=UTC), "week").as_dicts()
    # It began before the period: it counts where the period begins.
    assert (late["week"], late["turns_max"]) == ("2026-W04", 1)
    assert (whole["week"], whole["turns_max"]) == ("2026-W02", 5)


def test_a_chat_without_a_price_is_said_to_be_left_out_of_costs(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(drawn("S1", 1, "2026-01-05T10:00", model="claude-unheard-of"))
    shelf.update()
    with shelf.open() as library:
        report = chats(library, ReportRequest(zone=UTC))
    assert report.facts["total"]["cost_max_microdollars"] is None
    assert any("1 chat without a known price" in note for note in report.notes)


def test_nothing_has_no_rows(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.update()
    with shelf.open() as library:
        report = chats(library, ReportRequest(zone=UTC))
    assert report.rows == []
    assert report.facts["total"]["turns_p50"] is None


def agrees(library: Library) -> None:
    """The largest is that of other reports by chat, and every group has its chats."""
    asked = ReportRequest(zone=UTC)
    spent = {row["chat"]: row for row in time_spent(library, asked, "chat").as_dicts()}
    used = {row["chat"]: row for row in usage(library, asked, "chat").as_dicts() if row["chat"] != "-"}
    answered = {*used, *(name for name, row in spent.items() if row["turns"] and name != "-")}
    expected: dict[str, Sequence[float]] = {
        "turns_max": [spent[name]["turns"] if name in spent else 0 for name in answered],
        "total_max_tokens": [sum(value for key, value in row.items() if key.endswith("_tokens")) for row in
                             used.values()],
        "cost_max_microdollars": [row["cost_microdollars"] or 0 for row in used.values()],
        "active_max_seconds": [spent[name]["active_seconds"] for name in answered if name in spent],
    }  # fmt: skip
    for by in DIMENSIONS:
        report = chats(library, asked, by)
        assert report.columns == (by, *COLUMNS)
        assert sum(row["chats"] for row in report.as_dicts()) == report.facts["total"]["chats"] == len(answered)
        for name, values in expected.items():
            assert max(row[name] or 0 for row in report.as_dicts()) == report.facts["total"][name] == max(values)


def test_every_home_agrees_with_the_other_reports(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    with shelf.open() as library:
        agrees(library)


def test_the_corpus_agrees_with_the_other_reports(corpus_library: Library) -> None:
    agrees(corpus_library)
