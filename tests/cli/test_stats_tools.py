"""backscroll stats tools, as a user runs it."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: no rule
d <- c call(m2) t2 mcp__tracker__list {}
e <- d result t2: nothing
f <- e call(m3) t3 Bash {"command": "make all"}
g <- f result t3: done
h <- g call(m4) t4 mcp__red__list {}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    drawn = draw(SHOP)
    drawn[-1]["message"]["content"][0]["name"] = "mcp__\x1b[31mred__list"
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(drawn)})


def run(home: Path, *arguments: str) -> CompletedProcess[str]:
    done = run_command("stats", "tools", *arguments, "--home", home)
    assert done.returncode == 0, done.stderr
    return done


def test_json_has_the_rows_and_what_was_left_out(home: Path) -> None:
    answer = json.loads(run(home, "--json").stdout)
    assert [(row["tool"], row["calls"], row["errors"]) for row in answer["rows"]][:1] == [("Bash", 2, 1)]
    assert answer["total"]["calls"] == answer["counted"] == 4
    assert (answer["copies"], answer["total"]["missing"], answer["missing_in_live_sessions"]) == (0, 1, 0)
    assert answer["durations"] == {"counted": 3, "negative": 0, "longer_than_a_day": 0, "without_time": 0}


def test_people_see_a_clean_table_with_bars(home: Path) -> None:
    done = run(home)
    head, first, *_ = done.stdout.splitlines()
    assert head.split() == [
        "TOOL", "CALLS", "FAILED", "FAILED", "%", "MISSING", "P50", "P90", "MAX", "INPUT",
        "OUTPUT",
    ]  # fmt: skip
    assert first.split()[:5] == ["Bash", "2", "1", "50.0", "%"]
    assert "█" in first
    assert "\x1b" not in done.stdout
    assert "4 calls, each counted once; 0 copies not counted again" in done.stderr


def test_csv_by_server(home: Path) -> None:
    lines = run(home, "--by", "mcp-server", "--csv", "--limit", "1").stdout.splitlines()
    assert lines[0].startswith("mcp-server,calls,errors,error_share")
    assert lines[1].startswith("-,2,1,0.5,")
    assert len(lines) == 2
