"""Every number of `stats usage` is what a recount of the raw lines gives, however the answers are spread over files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from bench.generate import Mix, generate

from backscroll.files.homes import Home
from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.usage import answers, usage
from backscroll.library.library import Library
from backscroll.library.local import local_library
from tests.library.analytics.recount import Told, by_day, by_model, recount, totals
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, FAMILIES, session_file, session_path

ZONES: Final = tuple(map(ZoneInfo, ("UTC", "Asia/Kolkata", "America/New_York")))
SONNET: Final = "claude-sonnet-4-5-20250929"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def report_of(shelf: Shelf, by: str = "model", zone: ZoneInfo | None = None) -> Report:
    with shelf.open() as library:
        return usage(library, ReportRequest(zone=zone), by)


def groups_of(report: Report) -> dict[str, dict[str, int]]:
    rows = [dict(row) for row in report.as_dicts()]
    return {row.pop(report.columns[0]): {name: row[name] for name in TOKENS_AND_MESSAGES} for row in rows}


TOKENS_AND_MESSAGES: Final = (
    "messages", "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
)  # fmt: skip


def plain(groups: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {name: {field: group.get(field, 0) for field in TOKENS_AND_MESSAGES} for name, group in groups.items()}


def check(library: Library, told: dict[str, Told]) -> None:
    """All that a report says is what the recount says."""
    real = {name: one for name, one in told.items() if not one.is_synthetic}
    report = usage(library, ReportRequest(zone=ZONES[0]), "model")
    assert groups_of(report) == plain(by_model(told))
    counted = totals(told)
    for name, value in report.facts["total"].items():
        if name == "placeholders":
            assert value == sum(not one.is_final for one in real.values())
        elif name != "cost_microdollars":
            assert value == counted.get(name, 0), name
    assert report.facts["counted"] == len(real)
    assert report.facts["copies"] == sum(len(one.files) - 1 for one in real.values())
    assert report.facts["repeated_rows"] == sum(one.rows - 1 for one in real.values())
    assert report.facts["placeholders"] == sum(not one.is_final for one in real.values())
    assert report.facts["synthetic"] == len(told) - len(real)
    for zone in ZONES:
        assert groups_of(usage(library, ReportRequest(zone=zone), "day")) == plain(by_day(told, zone))
        hours = plain(by_day(told, zone, "%Y-%m-%d %H:00"))
        assert groups_of(usage(library, ReportRequest(zone=zone), "hour")) == hours
    for by in ("hour", "week", "month", "project", "chat", "agent", "git-branch", "version", "machine"):
        other = usage(library, ReportRequest(zone=ZONES[0]), by)
        assert other.facts == report.facts, by
        assert sum(row["messages"] for row in other.as_dicts()) == len(real), by
    explained = {row["message"]: row for row in answers(library, ReportRequest(zone=ZONES[0])).as_dicts()}
    assert explained.keys() == told.keys()
    for name, one in told.items():
        row = explained[name]
        assert (row["records"], row["files"], row["final"]) == (one.rows, len(one.files), one.is_final)
        assert all(row[field] == one.numbers[field] for field in TOKENS_AND_MESSAGES[1:]), name


# Homes that are there


def test_the_real_sessions_are_counted_as_a_recount_counts_them(corpus: Path, corpus_library: Library) -> None:
    check(corpus_library, recount(corpus / "home"))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_home_with_resumes_forks_and_agents_is_counted_as_a_recount_counts_it(tmp_path: Path, seed: int) -> None:
    mix = Mix(resumes=1.0, forks=0.6, problems=0)
    made = generate(tmp_path / "home", sessions=40, total_bytes=3_000_000, seed=seed, mix=mix)
    assert made.resumes + made.forks and made.agents
    with Shelf(tmp_path).open() as library:
        library.refresh(with_text=False)
        told = recount(tmp_path / "home")
        check(library, told)
        assert any(len(one.files) > 1 for one in told.values())


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("damaged", "secrets")])
def test_every_family_of_versions_is_counted_as_a_recount_counts_it(shelf: Shelf, family: str) -> None:
    shelf.write(FAMILIES[family]).update()
    with shelf.open() as library:
        check(library, recount(shelf.home))


def test_all_of_them_together_too(shelf: Shelf) -> None:
    """But for a row whose model is a number, of which the recount makes a model of its own."""
    sound = {path: data for path, data in EVERYTHING.items() if path not in FAMILIES["damaged"]}
    shelf.write(sound).update()
    with shelf.open() as library:
        check(library, recount(shelf.home))


# One answer at a time


def drawn(shelf: Shelf, drawing: str, **defaults: str) -> Report:
    shelf.write(session_file("S1", drawing, **defaults)).update()
    return report_of(shelf)


def test_of_the_rows_of_an_answer_each_field_counts_at_its_highest(shelf: Shelf) -> None:
    report = drawn(
        shelf,
        """
        a <- - user: hello
        b <- a thinking(m1): hm {"message": {"usage": {"output_tokens": 2, "cache_read_input_tokens": 900}}}
        c <- b assistant(m1): hi {"message": {"usage": {"output_tokens": 70, "cache_read_input_tokens": 800}}}
        """,
    )
    total = report.facts["total"]
    assert (total["messages"], total["input_tokens"], total["output_tokens"]) == (1, 10, 70)
    assert total["cache_read_input_tokens"] == 900
    assert report.facts["repeated_rows"] == 1


def test_an_answer_without_an_id_is_counted_by_its_row(shelf: Shelf) -> None:
    rows = draw("a <- - user: hello\nb <- a assistant -message.id: hi\nc <- b assistant -message.id: ho")
    copied = [row | {"sessionId": session_uuid("S2")} for row in rows]
    shelf.write({session_path("S1"): jsonl(rows), session_path("S2"): jsonl(copied)}).update()
    report = report_of(shelf)
    assert (report.facts["counted"], report.facts["copies"]) == (2, 2)


def test_cache_writes_are_priced_by_how_long_they_stay(shelf: Shelf) -> None:
    """Sonnet 4.5: input 3, output 15, writes 3.75 and 6, reads 0.3 dollars for a million."""
    report = drawn(
        shelf,
        """
        a <- - user: hello
        b <- a assistant(m1): hi {"message": {"usage": {"input_tokens": 1000, "output_tokens": 2000, \
            "cache_creation_input_tokens": 7000, "cache_read_input_tokens": 50000, "cache_creation": \
            {"ephemeral_5m_input_tokens": 4000, "ephemeral_1h_input_tokens": 3000}}}}
        """,
    )
    total = report.facts["total"]
    assert (total["cache_creation_5m"], total["cache_creation_1h"]) == (4000, 3000)
    assert total["cost_microdollars"] == 3 * 1000 + 15 * 2000 + 3.75 * 4000 + 6 * 3000 + 0.3 * 50000


def test_web_searches_are_counted_and_cost_a_cent(shelf: Shelf) -> None:
    used = '{"message": {"usage": {"server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 2}}}}'
    with_search = drawn(shelf, f"a <- - user: hello\nb <- a assistant(m1): hi {used}").facts["total"]
    assert (with_search["web_searches"], with_search["web_fetches"]) == (3, 2)
    assert with_search["cost_microdollars"] == 3 * 10 + 15 * 5 + 30_000


def test_an_output_that_was_never_finished_is_called_a_lower_bound(shelf: Shelf) -> None:
    unfinished = '{"message": {"stop_reason": null}}'
    report = drawn(shelf, f"a <- - user: hello\nb <- a assistant(m1): hi {unfinished}\nc <- b assistant(m2): ho")
    assert report.facts["placeholders"] == 1
    assert any(note.startswith("1 ") and "a lower bound" in note for note in report.notes)


def test_synthetic_answers_are_distinguished(shelf: Shelf) -> None:
    report = drawn(shelf, 'a <- - user: hi\nb <- a assistant(m1): no {"message": {"model": "<synthetic>"}}')
    assert (report.rows, report.facts["counted"], report.facts["synthetic"]) == ([], 0, 1)


def test_a_model_without_a_price_has_tokens_and_no_cost(shelf: Shelf) -> None:
    report = drawn(
        shelf,
        """
        a <- - user: hello
        b <- a assistant(m1): hi {"message": {"model": "unheard-of-1"}}
        c <- b assistant(m2): ho
        """,
    )
    costs = {row["model"]: row["cost_microdollars"] for row in report.as_dicts()}
    assert costs == {"unheard-of-1": None, SONNET: 105}
    assert report.facts["unknown"] == {"unheard-of-1": 1}
    assert report.facts["total"]["output_tokens"] == 10
    assert any("unheard-of-1 (1)" in note for note in report.notes)


def test_a_price_in_the_settings_counts_from_the_next_update_on(shelf: Shelf) -> None:
    drawn(shelf, 'a <- - user: hello\nb <- a assistant(m1): hi {"message": {"model": "unheard-of-1"}}')
    for rates, cost in (({"input": 1.0, "output": 2.0}, 20), ({"input": 7.0, "output": 2.0}, 80), (None, None)):
        prices = {"unheard-of-1": rates} if rates else {}
        with local_library(replace(shelf.settings, prices=prices), [Home(shelf.home)]) as library:
            library.refresh(with_text=False)
            report = usage(library, ReportRequest(), "model")
            assert report.facts["total"]["cost_microdollars"] == cost
            assert library.sql("select sum(cost), sum(unpriced) from spent").rows == [
                ((cost or 0) * 1000, int(cost is None))
            ]


def test_costs_in_old_rows_are_shown_next_to_our_own(shelf: Shelf) -> None:
    report = drawn(
        shelf,
        """
        @ version=0.2.126
        a <- - user: hello
        b <- a thinking(m1): hm {"costUSD": 0.0003}
        c <- b assistant(m1): hi {"costUSD": 0.0005}
        d <- c assistant(m2): ho
        """,
    )
    assert report.facts["reported"] == {
        "messages": 1, "reported_cost_microdollars": 500, "cost_microdollars": 105,
    }  # fmt: skip
    with shelf.open() as library:
        told = {
            row["message"]: row["reported_cost_microdollars"] for row in answers(library, ReportRequest()).as_dicts()
        }
    assert told == {"m1": 500, "m2": None}


def test_an_answer_without_a_time_has_no_day(shelf: Shelf) -> None:
    shelf.write(session_file("S1", "a <- - user: hello\nb <- a assistant(m1) -timestamp: hi")).update()
    assert [row[0] for row in report_of(shelf, "day").rows] == ["-"]


def test_an_agent_is_counted_once_wherever_it_is_repeated(shelf: Shelf) -> None:
    """In its own file, and in the result that the main session got of it."""
    shelf.write(FAMILIES["2.0.28 agents beside"]).update()
    report = report_of(shelf, "agent")
    assert {row["agent"]: row["messages"] for row in report.as_dicts()} == {"-": 2, "be11ce0": 1, "be3a4b1": 1}


PROGRESS: Final = """
    @ version=2.1.42
    a <- - user: look
    b <- a call(m1) t1 Task {"description": "look", "prompt": "look around", "subagent_type": "Explore"}
    p <- b progress agent_progress t1: look {"data": {"agentId": "abc1234", "message": {"type": "assistant", \
        "uuid": "x2", "timestamp": "2026-01-05T10:00:02.000Z", "message": {"id": "m2", "model": "claude-haiku-4-5", \
        "role": "assistant", "content": [], "stop_reason": null, "usage": {"input_tokens": 4, "output_tokens": 1, \
        "cache_creation_input_tokens": 300, "cache_read_input_tokens": 9000}}}}}
    """
AGENT: Final = """
    @ version=2.1.42 agent=abc1234 time=2026-01-05T10:00:01
    x1 <- - user: look around
    x2 <- x1 assistant(m2): seen {"message": {"model": "claude-haiku-4-5", "usage": {"input_tokens": 4, \
        "output_tokens": 30, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 9000}}}
    """


def test_an_answer_known_only_from_a_progress_row_is_counted(shelf: Shelf) -> None:
    report = drawn(shelf, PROGRESS)
    assert report.facts["counted"] == 2
    assert report.facts["total"]["cache_read_input_tokens"] == 9000
    assert len(report_of(shelf, "agent").rows) == 2


def test_a_progress_row_of_an_indexed_agent_adds_nothing(shelf: Shelf) -> None:
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write({f"{folder}/subagents/agent-abc1234.jsonl": jsonl(draw(AGENT, session="S1"))})
    total = drawn(shelf, PROGRESS).facts["total"]
    assert (total["messages"], total["output_tokens"], total["cache_read_input_tokens"]) == (2, 35, 9000)
