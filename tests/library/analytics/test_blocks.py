"""Windows of five hours: the rule, the open one, and a recount of real files."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backscroll.cli.statusline_text import _window
from backscroll.library.analytics.blocks import LENGTH, blocks, starts_of
from backscroll.library.analytics.reports import QUARTER, ReportRequest
from backscroll.library.library import Library
from backscroll.query.parse import parse
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

NOW = datetime(2026, 1, 5, 17, 0, tzinfo=UTC)
DAY = """
@ time=2026-01-05T10:20:00
a <- - user: one
b <- a assistant(m1): first
@ time=2026-01-05T14:59:00
c <- b assistant(m2): still the first
@ time=2026-01-05T15:00:00
d <- c assistant(m3): the second
@ time=2026-01-05T16:30:00
e <- d assistant(m4): the second too
"""


def test_a_window_begins_at_the_full_hour_of_the_first_answer_after_the_last(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(DAY))})
    shelf.update()
    with shelf.open() as library:
        found = blocks(library, ReportRequest(zone=UTC), NOW)
        active = blocks(library, ReportRequest(zone=UTC), NOW, active=True)
        later = blocks(library, ReportRequest(zone=UTC), NOW + timedelta(hours=9))
    assert [row[:3] for row in found.rows] == [
        ("2026-01-05 15:00", "2026-01-05 20:00", 2),
        ("2026-01-05 10:00", "2026-01-05 15:00", 2),
    ]
    burning = found.facts["active"]
    assert (burning["tokens"], burning["minutes_used"], burning["minutes_left"]) == (30, 120, 180)
    assert burning["projected_tokens"] == 75
    assert active.rows == found.rows[:1]
    assert later.facts["active"] is None


def test_a_query_chooses_tokens_but_not_windows(tmp_path: Path) -> None:
    other = "@ time=2026-01-05T13:00:00\nx <- - user: hello\n@ time=2026-01-05T15:30:00\ny <- x assistant(mx): hi"
    shelf = Shelf(tmp_path).write(
        {
            session_path("S1"): jsonl(draw(DAY)),
            session_path("S2"): jsonl(draw(other, session="S2", cwd="/home/ada/store")),
        }
    )
    shelf.update()
    with shelf.open() as library:
        found = blocks(library, ReportRequest(query=parse("project:store", NOW), zone=UTC), NOW)
    assert [row[:3] for row in found.rows] == [("2026-01-05 15:00", "2026-01-05 20:00", 1)]


def test_real_files_counted_by_hand_have_the_same_windows(corpus: Path, corpus_library: Library) -> None:
    first: dict[str, datetime] = {}
    for path in (corpus / "home" / "projects").rglob("*.jsonl"):
        for line in path.read_bytes().split(b"\n"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row.get("type") == "progress":
                # What an agent said, repeated in the session that started it.
                row = (row.get("data") or {}).get("message") or {}
            message = row.get("message") if row.get("type") == "assistant" else None
            if not message or not message.get("usage") or message.get("model") == "<synthetic>":
                continue
            when = datetime.fromisoformat(row["timestamp"])
            name = message.get("id") or row["uuid"]
            first[name] = min(when, first.get(name, when))
    windows: dict[datetime, int] = {}
    start = None
    for when in sorted(first.values()):
        if start is None or when >= start + timedelta(hours=5):
            start = when.replace(minute=0, second=0, microsecond=0)
            windows[start] = 0
        windows[start] += 1
    found = blocks(corpus_library, ReportRequest(zone=UTC), NOW)
    assert {row[0]: row[2] for row in found.rows} == {
        f"{when:%Y-%m-%d %H:%M}": count for when, count in windows.items()
    }


@given(st.lists(st.integers(min_value=1, max_value=1500), min_size=1, max_size=60))
def test_the_status_line_has_the_same_open_window(offsets: list[int]) -> None:
    quarters = sorted({1_960_000 + offset for offset in offsets})
    now = quarters[-1] * 900 + 1
    connection = sqlite3.connect(":memory:")
    connection.execute("create table spent (quarter integer, model text, cost integer)")
    connection.executemany("insert into spent values (?, 'm', 1000000)", [(quarter,) for quarter in quarters])
    window = _window(connection, now)
    end = (starts_of(quarters)[-1] + LENGTH) // 1_000_000
    assert window is not None
    assert window["minutes_left"] == (end - now) // 60
    inside = [quarter for quarter in quarters if quarter * QUARTER >= starts_of(quarters)[-1]]
    assert window["cost_microdollars"] == 1000 * len(inside)
