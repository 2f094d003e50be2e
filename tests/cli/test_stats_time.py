"""backscroll stats, stats time, prompts, activity, blocks and compare, as a user runs them."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: no rule
d <- c assistant(m2): done
"""
REPORTS = [
    ["stats"],
    ["stats", "time"],
    ["stats", "prompts"],
    ["stats", "activity"],
    ["stats", "blocks"],
    ["stats", "compare", "project:shop", "2026-01"],
]
TABLES = REPORTS[1:]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows = draw(SHOP, cwd="/home/ada/shop")
    for row in rows:
        row["cwd"] = "/home/ada/shop\x1b[31m"
    rows[1]["message"]["content"][0]["name"] = "Ba\x1b[31msh"
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(rows)})


def run(home: Path, *arguments: str) -> CompletedProcess[str]:
    done = run_command(*arguments, "--home", home)
    assert done.returncode == 0, done.stderr
    return done


def answer(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    return json.loads(run(home, *arguments, "--json").stdout)


@pytest.mark.parametrize("arguments", REPORTS, ids=" ".join)
def test_people_see_clean_text_and_what_was_counted(home: Path, arguments: list[str]) -> None:
    done = run(home, *arguments)
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.strip()
    assert "count" in done.stderr or "left out" in done.stderr
    assert run(home, *arguments, "-q").stderr == ""


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_csv_has_a_head_and_rows(home: Path, arguments: list[str]) -> None:
    head, *rows = run(home, *arguments, "--csv").stdout.splitlines()
    assert head.count(",") >= 4
    assert rows


def test_the_overview_as_json(home: Path) -> None:
    found = answer(home, "stats")
    assert found["activity"]["prompts"] == found["activity"]["chats"] == 1
    assert found["usage"]["messages"] == 2
    assert found["calls"] == 1
    assert len(found["last_days"]) == 30
    assert found["deletion"]["not_kept"] == 0


def test_times_and_prompts_as_json(home: Path) -> None:
    assert answer(home, "stats", "time")["total"]["active_seconds"] == 3
    assert answer(home, "stats", "prompts", "--by", "day")["total"]["prompts"] == 1
    assert answer(home, "stats", "activity")["active_days"] == 1
    assert answer(home, "stats", "blocks")["rows"][0]["messages"] == 2
    assert answer(home, "stats", "blocks", "--active")["rows"] == []


def test_a_comparison_as_json(home: Path) -> None:
    rows = {row["measure"]: row for row in answer(home, "stats", "compare", "2026-01", "2026-02")["rows"]}
    assert (rows["answers"]["first"], rows["answers"]["second"], rows["answers"]["change_share"]) == (2, 0, -1)


def test_a_time_before_the_name_of_a_report_is_refused(home: Path) -> None:
    done = run_command("stats", "--since", "7d", "usage", "--home", home)
    assert done.returncode == 2
    assert "after usage" in done.stderr
