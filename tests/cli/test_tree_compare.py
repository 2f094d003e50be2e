"""tree --compare, as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

FORKED = """
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00
a <- - user: Draw a logo
b <- a assistant(m1): Here is a circle.
c <- b user: Make it blue
d <- c assistant(m2): It is blue.
@ time=2026-01-05T11:00
e <- b user: Make it red
f <- e assistant(m3): It is red.
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(FORKED))})


def test_two_branches_are_printed_one_below_the_other(home: Path) -> None:
    done = run_command("tree", session_uuid("S1"), "--compare", "1", "2", "--home", home)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "they share 2 messages, up to “Draw a logo”" in lines
    assert lines.index("❯ Make it red") < lines.index("branch 2") < lines.index("❯ Make it blue")


def test_as_json_both_are_there(home: Path) -> None:
    done = run_command("tree", session_uuid("S1"), "--compare", "2", "1", "--json", "--home", home)
    assert [branch["number"] for branch in json.loads(done.stdout)["branches"]] == [2, 1]


def test_a_branch_that_does_not_exist_is_told(home: Path) -> None:
    done = run_command("tree", session_uuid("S1"), "--compare", "1", "3", "--home", home)
    assert (done.returncode, "there is no branch 3" in done.stderr) == (3, True)
