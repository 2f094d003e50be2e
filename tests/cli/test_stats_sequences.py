"""backscroll stats sequences, as a user runs it."""

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
c <- b error t1: error: no
d <- c call(m2) t2 Bash {"command": "make"}
e <- d error t2: error: no
f <- e call(m3) t3 Bash {"command": "make"}
g <- f error t3: error: no
h <- g call(m4) t4 Read {"file_path": "/home/ada/z"}
i <- h result t4: z
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(SHOP))})


def run(home: Path, *arguments: str) -> CompletedProcess[str]:
    done = run_command("stats", "sequences", *arguments, "--home", home)
    assert done.returncode == 0, done.stderr
    return done


def test_json_has_sequences(home: Path) -> None:
    answer = json.loads(run(home, "--json", "--length", "2").stdout)
    assert answer["rows"] == [
        {"sequence": "Bash → Bash", "length": 2, "count": 2, "turns": 1, "chats": 1},
        {"sequence": "Bash → Read", "length": 2, "count": 1, "turns": 1, "chats": 1},
    ]
    assert (answer["counted"], answer["turns"], answer["loops"], answer["folded"]) == (4, 1, 1, False)


def test_people_see_bars_and_hear_of_loops(home: Path) -> None:
    done = run(home, "--fold")
    assert done.stdout.splitlines()[1].startswith("Bash → Read")
    assert "█" in done.stdout
    assert "--loops" in done.stderr


def test_loops_say_where_they_began(home: Path) -> None:
    (row,) = json.loads(run(home, "--loops", "--json").stdout)["rows"]
    assert (row["tool"], row["count"], row["chat"], row["message"]) == ("Bash", 3, session_uuid("S1"), "b")
    assert session_uuid("S1") in run(home, "--loops").stdout
    assert run(home, "--loops", "--csv").stdout.startswith("tool,count,first,last,chat,agent,message,file,signature\n")
