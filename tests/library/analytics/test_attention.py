"""What deserves attention: only what repeats, with its numbers by day and the passages behind them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from backscroll.library.analytics.attention import Finding, attention, by_weeks
from backscroll.library.analytics.occurrences import failed_calls, interruptions
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file


def calls(session: str, day: int, tool: str, results: str) -> str:
    """A call for each letter: e for an error, d for a denial, o for one that went well."""
    drawing, parent = (
        f"@ time=2026-01-{day:02}T10:00:00 session={session}\n{session}a <- - user: begin\n",
        f"{session}a",
    )
    ends = {"e": "error {0}: no such file", "d": "denied {0}", "o": "result {0}: done"}
    for number, letter in enumerate(results):
        call, call_id = f"{session}{number}", f"{session}t{number}"
        drawing += f'{call} <- {parent} call({call}m) {call_id} {tool} {{"file_path": "/src/app.py"}}\n'
        drawing += f"{call}r <- {call} {ends[letter].format(call_id)}\n"
        parent = f"{call}r"
    return drawing


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    shelf = Shelf(tmp_path)
    shelf.write(session_file("S1", calls("S1", 5, "Edit", "eeeooooooooo")))
    shelf.write(session_file("S2", calls("S2", 6, "Edit", "eoooo")))
    shelf.update()
    with shelf.open() as library:
        yield library


def found(library: Library, since: datetime | None = None) -> dict[str, Finding]:
    return {one.kind: one for one in attention(library, ReportRequest(zone=UTC, since=since))}


def failures(library: Library, one: Finding) -> list[tuple[object, ...]]:
    tool, signature = one.about["tool"], one.about.get("signature", "")
    return failed_calls(library, ReportRequest(zone=UTC), tool=tool, signature=signature, limit=0).rows


def test_errors_that_repeat_tools_that_fail_and_files_edited_over_and_over(library: Library) -> None:
    every = found(library)
    assert every["error"].text == "Edit failed 4 times in 2 chats with the same error: no such file"
    assert every["error"].days == {date(2026, 1, 5): 3, date(2026, 1, 6): 1}
    assert {place.chat for place in every["error"].places} == {session_uuid("S1"), session_uuid("S2")}
    assert every["tool"].text == "Edit failed in 4 of 17 calls, 24 %"
    assert every["file"].text == "app.py was edited 9 times in one chat"
    assert "interruption" not in every
    assert "denied" not in every


def test_an_exit_code_alone_is_not_the_same_error(tmp_path: Path) -> None:
    drawing = calls("S1", 5, "Bash", "eeeeoooooooooo").replace("no such file", "x").replace(": x", ": Exit code 1")
    shelf = Shelf(tmp_path).write(session_file("S1", drawing))
    shelf.update()
    with shelf.open() as library:
        every = found(library)
    assert "error" not in every
    assert every["tool"].text == "Bash failed in 4 of 14 calls, 29 %"


def test_what_hardly_happens_is_left_out(library: Library) -> None:
    assert found(library, since=datetime(2026, 1, 6, tzinfo=UTC)) == {}


def test_a_finding_leads_to_as_many_calls_as_it_counts(library: Library) -> None:
    for one in attention(library, ReportRequest(zone=UTC)):
        if one.kind in ("error", "tool"):
            assert len(failures(library, one)) == one.number == sum(one.days.values())
    rows = failed_calls(library, ReportRequest(zone=UTC), tool="Edit", limit=1).as_dicts()
    assert [row["example"] for row in rows] == ["no such file", "", "", ""]
    assert rows[0]["chat"] == session_uuid("S2")
    assert failed_calls(library, ReportRequest(zone=UTC), tool="Bash").rows == []


def test_columns_of_days_and_of_weeks() -> None:
    days = {date(2026, 1, 1): 2, date(2026, 1, 31): 3, date(2025, 12, 31): 9}
    assert by_weeks(days, date(2026, 1, 1), date(2026, 1, 31))[:2] == [2, 0]
    assert sum(by_weeks(days, date(2026, 1, 1), date(2026, 1, 31))) == 5
    weeks = by_weeks(days, date(2025, 12, 1), date(2026, 1, 31))
    assert (len(weeks), sum(weeks), weeks[-1]) == (9, 14, 3)


@pytest.mark.all
def test_real_sessions(corpus_library: Library) -> None:
    every = attention(corpus_library, ReportRequest(zone=UTC))
    kinds = {one.kind for one in every}
    assert {"error", "denied", "file", "cache", "interruption"} <= kinds
    for one in every:
        if one.kind in ("error", "tool"):
            assert len(failures(corpus_library, one)) == one.number
        if one.kind == "denied":
            assert len(failed_calls(corpus_library, ReportRequest(), state="denied", limit=0).rows) == one.number
        if one.kind == "interruption":
            assert len(interruptions(corpus_library, ReportRequest(zone=UTC)).rows) == one.number
