"""backscroll sql, as a user runs it."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: no rule
d <- c assistant(m2): done
"""
VALUES = (
    "select 1 as whole, 1.5 as part, null as missing, '' as empty, x'00ff' as bytes, 'a,\"b' || char(10) || 'ä' as text"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(SHOP))})


def run(home: Path, *arguments: str, stdin: str | None = None) -> CompletedProcess[str]:
    return run_command("sql", *arguments, "--home", home, given=stdin or "")


def answer(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_views_can_be_asked(home: Path) -> None:
    found = answer(home, "select id, title, messages from v_chats")
    assert found == {
        "columns": ["id", "title", "messages"],
        "rows": [[session_uuid("S1"), "fix the parser", 3]],
        "complete": True,
    }
    assert answer(home, "select tool, is_error from v_tool_calls")["rows"] == [["Bash", 1]]


def test_json_has_the_values_as_they_are(home: Path) -> None:
    assert answer(home, VALUES)["rows"] == [[1, 1.5, None, "", "00ff", 'a,"b\nä']]
    assert answer(home, "select 9e999, -9e999")["rows"] == [["inf", "-inf"]]


def test_csv_has_the_values_as_they_are(home: Path) -> None:
    text = run(home, VALUES).stdout
    assert text == 'whole,part,missing,empty,bytes,text\n1,1.5,,"",00ff,"a,""b\nä"\n'
    assert list(csv.reader(io.StringIO(text)))[1] == ["1", "1.5", "", "", "00ff", 'a,"b\nä']


def test_a_table_is_for_people(home: Path) -> None:
    text = run(
        home, "select 'ab' as name, 5 as n union select '日本' || char(27) || '[2J', 1234", "--format", "table"
    ).stdout
    assert text == "name     n\nab       5\n日本  1234\n"


def test_a_table_fits_the_terminal(home: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "backscroll",
        "sql",
        "select 'x' as a, printf('%.500c', 'y') as b",
        "--home",
        str(home),
    ]
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": "60", "NO_COLOR": "1"}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=environment)
    os.close(slave)
    assert process.wait(timeout=60) == 0
    lines = os.read(master, 10_000).decode().splitlines()
    os.close(master)
    assert lines == ["a  b", "x  " + "y" * 56 + "…"]


def test_a_statement_comes_from_stdin_too(home: Path) -> None:
    assert run(home, stdin="select 5 as n").stdout == "n\n5\n"
    assert run(home, "-", stdin="select 6 as n").stdout == "n\n6\n"
    assert run(home, stdin="  \n").returncode == 2


def test_rows_are_limited_and_the_limit_is_reported(home: Path) -> None:
    done = run(home, "select uuid from v_messages", "--limit", "2")
    assert len(done.stdout.splitlines()) == 3
    assert "only the first 2 rows" in done.stderr
    assert answer(home, "select uuid from v_messages", "-n", "2")["complete"] is False
    assert answer(home, "select uuid from v_messages", "-n", "4")["complete"] is True


def test_an_answer_that_is_too_large_is_cut_and_the_cut_is_reported(home: Path) -> None:
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n limit 20) select i, zeroblob(3900000) from n"
    done = run(home, rows, "--seconds", "60")
    assert "only the first 16 rows: there are more, but these are large" in done.stderr


def test_the_views_and_their_columns_are_listed(home: Path) -> None:
    text = run(home, "--schema", "--format", "table").stdout
    assert "statements in SQLite's SQL" in text
    assert "v_chats (chat, id, title" in text
    found = answer(home, "--schema")
    assert (found["dialect"], found["columns"]) == ("SQLite", ["view", "column"])
    assert ["v_usage", "model"] in found["rows"]
    for view in {view for view, _ in found["rows"]}:
        assert run(home, f"select * from {view} limit 1").returncode == 0


@pytest.mark.parametrize(
    "statement",
    ["delete from chats", "update chats set title = 'x'", "create table t (a)", "drop view v_chats", "vacuum",
     "pragma query_only = off; delete from chats", "select 1; delete from chats"],
)  # fmt: skip
def test_nothing_can_be_written(home: Path, statement: str) -> None:
    before = answer(home, "select * from v_chats")
    done = run(home, statement)
    assert done.returncode == 2
    assert "next:" in done.stderr
    assert answer(home, "select * from v_chats") == before


@pytest.mark.parametrize(
    ("statement", "what"), [("selec 1", "selec"), ("select * from nope", "nope"), ("select 'x", "x")]
)
def test_a_statement_that_is_none_is_named(home: Path, statement: str, what: str) -> None:
    done = run(home, statement)
    assert (done.returncode, done.stdout) == (2, "")
    assert what in done.stderr
    assert "  next: " in done.stderr


def test_a_statement_that_takes_too_long_is_stopped(home: Path) -> None:
    endless = "with recursive t(a) as (select 1 union all select a + 1 from t) select count(*) from t"
    done = run(home, endless, "--seconds", "0.1")
    assert done.returncode == 1
    assert "longer than 0.1 seconds" in done.stderr
    assert "more time" in done.stderr
