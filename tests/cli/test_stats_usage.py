"""stats usage, as a user runs it."""

import csv
import io
import json
import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.homes import FAMILIES, session_file, write_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    drawing = (
        "a <- - user: hello\n"
        'b <- a assistant(m1): hi {"message": {"usage": {"output_tokens": 70}}}\n'
        'c <- b assistant(m2): ho {"message": {"model": "unheard\\u001b[31m-of"}}'
    )
    return write_home(tmp_path / "home", {**FAMILIES["1.0 resume copies"], **session_file("S1", drawing)})


def run(home: Path, *arguments: str, zone: str = "UTC") -> CompletedProcess[str]:
    where = ("--home", home, "--library", home.parent / "library")
    return run_command(*where, "stats", "usage", *arguments, environment={**os.environ, "TZ": zone})


def answer(home: Path, *arguments: str, zone: str = "UTC") -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json", zone=zone)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_answer_counts_once_and_what_was_left_out_is_said(home: Path) -> None:
    found = answer(home, "--by", "month")
    assert (found["counted"], found["copies"], found["unknown"]) == (8, 6, {"unheard\x1b[31m-of": 1})
    assert {row["month"]: row["messages"] for row in found["rows"]} == {"2026-01": 2, "2025-07": 6}
    assert sum(row["output_tokens"] for row in found["rows"]) == found["total"]["output_tokens"] == 70 + 7 * 5


def test_days_are_those_of_the_time_zone(home: Path) -> None:
    assert answer(home, "--by", "hour", "--limit", "1")["rows"][0]["hour"] == "2026-01-05 10:00"
    assert answer(home, "--by", "hour", "-n", "1", zone="Asia/Kolkata")["rows"][0]["hour"] == "2026-01-05 15:00"


def test_a_table_for_people_is_clean_and_says_what_was_counted(home: Path) -> None:
    done = run(home, "--by", "model")
    assert done.returncode == 0
    assert done.stdout.startswith("MODEL")
    assert "\x1b" not in done.stdout + done.stderr
    assert "8 answers, each counted once; 6 copies in other files not counted again" in done.stderr
    assert "no known price for unheard" in done.stderr


def test_the_explanation_has_every_answer_and_adds_up(home: Path) -> None:
    found = answer(home, "--explain")
    assert len(found["explanation"]) == found["counted"]
    for name in ("input_tokens", "output_tokens", "cache_read_input_tokens"):
        assert sum(row[name] for row in found["explanation"]) == found["total"][name]
    rows = list(csv.DictReader(io.StringIO(run(home, "--explain", "--csv").stdout)))
    assert [row["message"] for row in rows] == [row["message"] for row in found["explanation"]]


def test_a_query_and_a_time_choose_what_is_counted(home: Path) -> None:
    assert answer(home, "--since", "2026-01-01")["counted"] == 2
    assert answer(home, "--until", "2025-12-31")["counted"] == 6
    assert answer(home, "project:nowhere")["counted"] == 0


def test_the_words_of_ccusage_are_understood(home: Path) -> None:
    for word, by in (("daily", "day"), ("weekly", "week"), ("monthly", "month"), ("session", "chat")):
        assert answer(home, word) == answer(home, "--by", by)
    assert answer(home, "monthly", "--since", "20260101")["counted"] == 2
    assert answer(home, "monthly", "project:nowhere")["counted"] == 0
    assert answer(home, "blocks")["rows"][0]["start"] == "2026-01-05 10:00"


def test_a_breakdown_has_a_row_for_each_model_and_adds_up(home: Path) -> None:
    found = answer(home, "--by", "month", "--breakdown")
    january = {row["model"]: row["messages"] for row in found["rows"] if row["month"] == "2026-01"}
    assert len(january) == 2 and sum(january.values()) == 2
    for name in ("messages", "input_tokens", "output_tokens", "cache_read_input_tokens"):
        assert sum(row[name] for row in found["rows"]) == found["total"][name]
    assert "title" in answer(home, "session", "--breakdown")["rows"][0]
    assert run(home, "monthly", "--breakdown").stdout.startswith("MONTH")
