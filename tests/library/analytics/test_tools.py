"""How often tools were called and how they fared, against drawn homes and a count of the raw rows."""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.tools import tools
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import FAMILIES, session_file, session_path

SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: Exit code 2
d <- c call(m2) t2 Bash {"command": "make all"}
e <- d result t2: fine
f <- e call(m3) t3 mcp__tracker__list {}
g <- f error t3: The user doesn't want to proceed with this tool use
h <- g call(m4) t4 Read {"file_path": "x.py"}
i <- h error t4: [Request interrupted by user for tool use]
j <- i call(m5) t5 Read {"file_path": "y.py"}
"""
TIMES = """
a <- - user: go
b <- a call(m1) t1 Bash {"command": "one"} {"timestamp": "2026-01-05T10:00:00.000Z"}
c <- b result t1: x {"timestamp": "2026-01-05T10:00:04.000Z"}
d <- c call(m2) t2 Bash {"command": "two"} {"timestamp": "2026-01-05T11:00:00.000Z"}
e <- d result t2: x {"timestamp": "2026-01-05T10:59:00.000Z"}
f <- e call(m3) t3 Bash {"command": "three"} {"timestamp": "2026-01-05T12:00:00.000Z"}
g <- f result t3: x {"timestamp": "2026-01-08T12:00:00.000Z"}
h <- g call(m4) t4 Bash {"command": "four"} {"timestamp": "2026-01-09T12:00:00.000Z"}
i <- h result t4: x {"timestamp": "2026-01-09T12:00:10.000Z"}
"""


def report(shelf: Shelf, asked: ReportRequest | None = None, by: str = "tool") -> Report:
    shelf.update()
    with shelf.open() as library:
        return tools(library, asked or ReportRequest(), by)


def rows(found: Report) -> dict[str, dict[str, Any]]:
    return {row[found.columns[0]]: row for row in found.as_dicts()}


def test_every_way_to_end_is_counted(tmp_path: Path) -> None:
    found = rows(report(Shelf(tmp_path).write(session_file("S1", SHOP))))
    bash, read, listed = found["Bash"], found["Read"], found["mcp__tracker__list"]
    assert (bash["calls"], bash["errors"], bash["error_share"]) == (2, 1, 0.5)
    assert (bash["input_bytes"], bash["output_characters"]) == (len('{"command":"make"}{"command":"make all"}'), 15)
    assert (read["calls"], read["interrupted"], read["missing"], read["errors"]) == (2, 1, 1, 0)
    assert (listed["denied"], listed["error_share"], listed["p50_seconds"]) == (1, None, None)


def test_a_call_that_was_copied_into_a_resumed_session_counts_once(tmp_path: Path) -> None:
    once = report(Shelf(tmp_path / "one").write(session_file("S1", SHOP)))
    copies = draw(SHOP, session="S2", time="2026-01-06T10:00:00.000Z")
    files = session_file("S1", SHOP) | {session_path("S2"): jsonl(copies)}
    twice = report(Shelf(tmp_path / "two").write(files))
    assert twice.rows == once.rows
    assert (once.facts["counted"], once.facts["copies"]) == (5, 0)
    assert (twice.facts["counted"], twice.facts["copies"]) == (5, 5)


def test_impossible_durations_are_left_out_and_reported(tmp_path: Path) -> None:
    found = report(Shelf(tmp_path).write(session_file("S1", TIMES)))
    bash = rows(found)["Bash"]
    assert (bash["calls"], bash["p50_seconds"], bash["max_seconds"]) == (4, 4.0, 10.0)
    assert found.facts["durations"] == {"counted": 2, "negative": 1, "longer_than_a_day": 1, "without_time": 0}
    assert "durations left out: 1 negative, 1 longer than a day" in found.notes


def test_by_server_project_and_model(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", SHOP))
    assert {name: row["calls"] for name, row in rows(report(shelf, by="mcp-server")).items()} == {"-": 4, "tracker": 1}
    assert list(rows(report(shelf, by="project"))) == ["/home/ada/shop"]
    assert list(rows(report(shelf, by="model"))) == ["claude-sonnet-4-5-20250929"]


def test_a_time_is_exact(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", TIMES))
    asked = ReportRequest(since=datetime(2026, 1, 5, 10, 0, 1, tzinfo=UTC), until=datetime(2026, 1, 9, 12, tzinfo=UTC))
    assert report(shelf, asked).facts["counted"] == 2


def test_the_numbers_are_those_of_the_raw_rows(corpus: Path, corpus_library: Library) -> None:
    calls: dict[str, set[str]] = defaultdict(set)
    failed: dict[str, bool] = {}
    for block in _blocks(corpus / "home"):
        if block.get("type") == "tool_use":
            calls[block["name"]].add(block["id"])
        elif block.get("type") == "tool_result":
            failed.setdefault(block["tool_use_id"], bool(block.get("is_error")))
    found = rows(tools(corpus_library, ReportRequest()))
    assert {name: row["calls"] for name, row in found.items()} == {name: len(ids) for name, ids in calls.items()}
    assert {name: row["missing"] for name, row in found.items()} == {
        name: sum(call not in failed for call in ids) for name, ids in calls.items()
    }
    assert {name: row["errors"] + row["denied"] + row["interrupted"] for name, row in found.items()} == {
        name: sum(failed.get(call, False) for call in ids) for name, ids in calls.items()
    }


def _blocks(home: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(home.glob("projects/**/*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            if b'"tool_use' not in line and b'"tool_result' not in line:
                continue
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row.get("type") == "progress":  # it may repeat a row of an agent
                row = (row.get("data") or {}).get("message") or {}
            message = row.get("message") if row.get("type") in ("user", "assistant") else None
            content = message.get("content") if isinstance(message, dict) else None
            yield from (block for block in content or () if isinstance(block, dict))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_homes_is_counted_as_its_view_says(family: str, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(FAMILIES[family])
    found = rows(report(shelf))
    view = shelf.rows(
        "select tool, count(*), sum(state = 'error'), sum(state = 'missing') from v_tool_calls group by 1"
    )
    assert {name: (row["calls"], row["errors"], row["missing"]) for name, row in found.items()} == {
        tool or "-": (calls, failed, missing) for tool, calls, failed, missing in view
    }
