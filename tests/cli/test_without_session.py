"""Chats of which only files of agents are left, as a user sees them: in lists, in search results, and on their own."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import agent_path, write_home

COPY = """
@ session=S1 agent=acompact-9f3c cwd=/home/ada/shop
a <- - user: where is the walrus?
b <- a assistant(m1): behind the ferry
c <- b user: sum it up
d <- c assistant(m2): a walrus was looked for
"""
TASK = """
@ session=S2 agent=x1 cwd=/home/ada/shop
e <- - user: count the ferries
f <- e assistant(m3): seven of them
"""
WARMUP = """
@ session=S3 agent=w1 cwd=/home/ada/shop
g <- - user: Warmup
h <- g assistant(m4): the ferry is warm
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    drawings = {("S1", "acompact-9f3c"): COPY, ("S2", "x1"): TASK, ("S3", "w1"): WARMUP}
    return write_home(tmp_path / "claude", {agent_path(*name): jsonl(draw(text)) for name, text in drawings.items()})


def answer(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run_command(*arguments, "--json", "--home", home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_lists_and_searches_have_the_same_chats(home: Path) -> None:
    listed = {chat["id"]: chat["title"] for chat in answer(home, "list")["chats"]}
    assert listed == {session_uuid("S1"): "where is the walrus?", session_uuid("S2"): "count the ferries"}
    found = answer(home, "search", "ferry OR ferries")
    assert {chat["id"] for chat in found["chats"]} == set(listed)
    assert found["total_chats"] == 2


@pytest.mark.parametrize(("session", "said"), [("S1", "behind the ferry"), ("S2", "seven of them")])
def test_such_a_chat_shows_its_agents_and_says_why(home: Path, tmp_path: Path, session: str, said: str) -> None:
    shown = run_command("show", session_uuid(session), "--home", home).stdout
    assert said in shown
    assert "The session's own file is not there" in shown
    for form in ("html", "md"):
        target = tmp_path / f"chat.{form}"
        done = run_command("export", session_uuid(session), "--format", form, "--out", target, "--home", home)
        assert done.returncode == 0, done.stderr
        text = target.read_text(encoding="utf-8")
        assert said in text
        assert "own file is not there" in text


def test_the_tree_has_the_copy_that_is_all_there_is(home: Path) -> None:
    assert [agent["id"] for agent in answer(home, "tree", session_uuid("S1"))["agents"]] == ["acompact-9f3c"]
