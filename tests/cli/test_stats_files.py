"""stats files, stats context, stats cache, blame and file, as a user runs them."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.library.analytics.test_files import APP, FIRST
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

HOSTILE = FIRST.replace("begin the app", r'"begin \u001b[31m the app"').replace("one\\n", "one\\u001b[2J\\n")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(HOSTILE))})


def run(home: Path, *arguments: str) -> CompletedProcess[str]:
    return run_command(*arguments, "--home", home)


def answer(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_files(home: Path) -> None:
    found = answer(home, "stats", "files")
    assert [(row["file"], row["edits"], row["added"]) for row in found["rows"]] == [(APP, 2, 3)]
    assert found["failed"] == 1
    done = run(home, "stats", "files")
    assert "REMOVED" in done.stdout
    assert "2 edits and 0 reads of 1 file," in done.stderr
    assert run(home, "stats", "files", "--csv", "--sort", "last").stdout.startswith("file,edits,reads")


def test_context(home: Path) -> None:
    found = answer(home, "stats", "context")
    assert [row["chat"] for row in found["rows"]] == [session_uuid("S1")]
    assert "PROMPTS" in run(home, "stats", "context").stdout
    assert [row["tool"] for row in answer(home, "stats", "context", "--by", "tool")["rows"]] == ["Edit", "Write"]
    done = run(home, "stats", "context", f"chat:{session_uuid('S1')}", "--by", "turn")
    assert "\x1b" not in done.stdout
    assert done.stdout.count("\n") == 3


def test_cache(home: Path) -> None:
    assert answer(home, "stats", "cache", "--by", "pause")["total"]["answers"] == 4
    assert "SAVED" in run(home, "stats", "cache").stdout


def test_blame(home: Path) -> None:
    found = answer(home, "blame", "app.py")
    assert [(turn["added"], turn["removed"], turn["last"]) for turn in found["turns"]] == [
        (1, 1, "2026-01-05T10:00:07.000Z"),
        (2, 0, "2026-01-05T10:00:02.000Z"),
    ]
    done = run(home, "blame", "shop/app.py")
    assert "begin the app" in done.stdout
    assert "\x1b" not in done.stdout
    assert run(home, "blame", "nowhere.py").returncode == 3


def test_file(home: Path) -> None:
    assert run(home, "file", "app.py").stdout == "one\x1b[2J\nthree\n"  # into a pipe it is the file itself
    done = run(home, "file", "app.py", "--at", "d")
    assert done.stdout == "one\x1b[2J\ntwo\n"
    assert "certain" in done.stderr
    changed = run(home, "file", "app.py", "--diff").stdout
    assert "-two\n+three\n" in changed
    listed = answer(home, "file", "app.py", "--list")
    assert [(version["tool"], version["certain"]) for version in listed["versions"]] == [
        ("Write", True),
        ("Edit", True),
    ]
    assert "VERSION" in run(home, "file", "app.py", "--list").stdout
    assert answer(home, "file", "app.py", "--at", "d")["content"] == "one\x1b[2J\ntwo\n"
    assert run(home, "file", "app.py", "--list", "--diff").returncode == 2
