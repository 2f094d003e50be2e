"""backscroll stats errors, as a user runs it."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: "Exit code 2\\nerror: \\u001b]0;evil\\u0007no rule for /home/ada/x.o"
d <- c call(m2) t2 Bash {"command": "make"}
e <- d error t2: "Exit code 2\\nerror: no rule for /home/ada/y.o"
f <- e call(m3) t3 Bash {"command": "make"}
g <- f result t3: done
h <- g call(m4) t4 Read {"file_path": "/home/ada/z"}
i <- h error t4: <tool_use_error>File does not exist.</tool_use_error>
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(SHOP))})


def run(home: Path, *arguments: str) -> CompletedProcess[str]:
    done = run_command("stats", "errors", *arguments, "--home", home)
    assert done.returncode == 0, done.stderr
    return done


def test_json_has_patterns_with_an_example(home: Path) -> None:
    answer = json.loads(run(home, "--json", "--tool", "Read").stdout)
    (row,) = answer["rows"]
    assert (row["signature"], row["tool"], row["count"], row["solved"]) == ("File does not exist.", "Read", 1, 0)
    assert (row["example_chat"], row["example_message"]) == (session_uuid("S1"), "i")
    assert (answer["counted"], answer["patterns"], answer["copies"], answer["within_calls"]) == (1, 1, 0, 10)


def test_people_see_what_goes_wrong_most(home: Path) -> None:
    done = run(home, "--examples")
    assert done.stdout.splitlines()[0].split() == ["COUNT", "CHATS", "LAST", "SOLVED", "TOOL", "SIGNATURE"]
    assert "File does not exist." in done.stdout
    assert "CHAT" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "3 errors in" in done.stderr


def test_csv_has_every_column(home: Path) -> None:
    lines = run(home, "--csv", "-n", "1").stdout.splitlines()
    assert lines[0] == (
        "signature,tool,count,chats,first,last,retried,solved,solved_share,example_chat,example_message,example"
    )
