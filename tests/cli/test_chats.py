"""list, show, tree and resume, as a user runs them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, session_path, write_home

FIRST = """
@ session=S1 cwd=/home/ada/shop branch=main
a <- - user: fix the parser
b <- a call(m1) t1 Read {"file_path": "x.py"}
c <- b result t1: contents
d <- c assistant(m2): done
e <- a user: no, undo that
f <- e assistant(m3): undone
custom-title: Parser
"""
SECOND = """
@ session=S2 cwd=/home/ada/blog branch=draft model=claude-opus-4-1-20250805 time=2026-02-01T10:00:00.000Z
x <- - user: write a post
y <- x assistant: written
"""


def run(home: Path, *arguments: str) -> CompletedProcess[str]:
    return run_command(*arguments, "--home", home)


def answer(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        session_path("S1"): jsonl(draw(FIRST)),
        session_path("S2").replace("shop", "blog"): jsonl(draw(SECOND)),
    }
    return write_home(tmp_path / "claude", files)


def test_chats_are_listed_newest_first(home: Path) -> None:
    chats = answer(home, "list")["chats"]
    assert [chat["title"] for chat in chats] == ["write a post", "Parser"]
    parser = chats[1]
    assert parser["id"] == session_uuid("S1")
    assert (parser["project"], parser["branches"], parser["messages"], parser["prompts"]) == ("/home/ada/shop", 2, 5, 2)
    assert parser["sessions"] == parser["leaves"] == [session_uuid("S1")]
    assert (parser["started"], parser["last_active"]) == ("2026-01-05T10:00:00.000Z", "2026-01-05T10:00:05.000Z")
    text = run(home, "list").stdout
    assert text.index("write a post") < text.index("Parser (2 branches)")


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (["--project", "blog"], ["write a post"]),
        (["--title", "pars"], ["Parser"]),
        (["--branch", "main"], ["Parser"]),
        (["--model", "opus"], ["write a post"]),
        (["--since", "2026-01-20"], ["write a post"]),
        (["--until", "2026-01-05"], ["Parser"]),
        (["-n", "1"], ["write a post"]),
    ],
)
def test_lists_can_be_narrowed(home: Path, arguments: list[str], titles: list[str]) -> None:
    assert [chat["title"] for chat in answer(home, "list", *arguments)["chats"]] == titles


def test_an_empty_list_says_so(home: Path) -> None:
    done = run(home, "list", "--title", "nothing like it")
    assert done.returncode == 3
    assert "next:" in done.stderr


def test_a_chat_is_shown_as_markdown_in_a_pipe(home: Path) -> None:
    text = run(home, "show", session_uuid("S1")[:8]).stdout
    assert text.startswith("# Parser\n")
    assert "no, undo that" in text
    assert "undone" in text
    assert "done" not in text.replace("undone", "")


def test_other_branches_can_be_shown(home: Path) -> None:
    other = run(home, "show", session_uuid("S1"), "--branch", "2").stdout
    assert "`Read(x.py)` done" in other
    assert "undone" not in other
    everything = run(home, "show", session_uuid("S1"), "--branch", "all").stdout
    assert "undone" in everything
    assert "Read(x.py)" in everything
    assert run(home, "show", session_uuid("S1"), "--branch", "7").returncode == 2


def test_a_chat_is_found_by_any_of_its_ids(home: Path) -> None:
    for name in ("m3", session_uuid("S1").upper()[:10]):
        assert run(home, "show", name).stdout.startswith("# Parser")
    assert run(home, "show", "no-such").returncode == 3


def test_an_ambiguous_id_is_reported(tmp_path: Path) -> None:
    one = FIRST.replace("S1", "11111111-1111-4111-8111-111111111111")
    two = SECOND.replace("S2", "11111111-2222-4222-8222-222222222222")
    files = {
        "projects/-p/11111111-1111-4111-8111-111111111111.jsonl": jsonl(draw(one)),
        "projects/-p/11111111-2222-4222-8222-222222222222.jsonl": jsonl(draw(two)),
    }
    done = run(write_home(tmp_path, files), "show", "1111")
    assert done.returncode == 2
    assert "2 chats" in done.stderr


def test_a_chat_id_wins_over_the_id_of_a_message(tmp_path: Path) -> None:
    one = FIRST.replace("S1", "11111111-1111-4111-8111-111111111111")
    files = {
        "projects/-p/11111111-1111-4111-8111-111111111111.jsonl": jsonl(draw(one)),
        "projects/-p/22222222-2222-4222-8222-222222222222.jsonl": jsonl(
            draw("@ session=22222222-2222-4222-8222-222222222222\n11112222 <- - user: another chat")
        ),
    }
    home = write_home(tmp_path, files)
    assert run(home, "show", "1111").stdout.startswith("# Parser")
    assert "another chat" in run(home, "show", "11112222").stdout


LONG = "\n".join(
    ["@ session=S3"]
    + [
        f"p{n} <- {f'a{n - 1}' if n else '-'} user: prompt {n:02}\na{n} <- p{n} assistant: answer {n:02}"
        for n in range(20)
    ]
)


@pytest.fixture(scope="module")
def long_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("long"), {f"projects/-p/{session_uuid('S3')}.jsonl": jsonl(draw(LONG))})


def test_a_message_is_shown_with_its_context(long_chat: Path) -> None:
    (hit,) = answer(long_chat, "search", '"answer 10"')["hits"]
    done = run(long_chat, "show", hit["message"], "--around", "1")
    body = done.stdout.partition("```\n\n")[2]  # without what stands at the head of the chat
    assert re.findall(r"(?:prompt|answer) \d\d", body) == ["prompt 10", "answer 10", "prompt 11"]
    assert "20 messages before and 17 after are left out" in done.stderr
    usual = run(long_chat, "show", hit["message"]).stdout
    assert "prompt 08" in usual
    assert "prompt 07" not in usual


def test_around_needs_the_id_of_a_message(long_chat: Path) -> None:
    done = run(long_chat, "show", session_uuid("S3")[:8], "--around", "1")
    assert done.returncode == 2
    assert "not the id of a message" in done.stderr


def test_search_prints_the_ids_that_show_takes(long_chat: Path) -> None:
    (hit,) = answer(long_chat, "search", '"answer 10"')["hits"]
    printed = run(long_chat, "search", '"answer 10"').stdout.splitlines()[1].split()[0]
    assert hit["message"].startswith(printed)
    assert "answer 10" in run(long_chat, "show", printed, "--around", "0").stdout


def test_show_as_json_holds_every_message_with_its_branch(home: Path) -> None:
    shown = answer(home, "show", session_uuid("S1"))
    assert shown["chat"]["title"] == "Parser"
    assert [(message["branch"], message["kind"], message["text"]) for message in shown["messages"]] == [
        (1, "prompt", "fix the parser"),
        (1, "prompt", "no, undo that"),
        (1, "answer", "undone"),
        (2, "answer", ""),
        (2, "answer", "done"),
    ]
    (call,) = [call for message in shown["messages"] for call in message["calls"]]
    assert (call["name"], call["state"], call["result"]) == ("Read", "done", "contents")
    assert call["input"] == {"file_path": "x.py"}


def test_a_compaction_is_shown_with_the_tokens_it_saved(tmp_path: Path) -> None:
    drawing = """
    a <- - user: hi
    b <- a assistant: ho
    s <- - compact(logical=b) manual {"compactMetadata": {"preTokens": 9000, "postTokens": 800, \
"preservedSegment": {"headUuid": "a", "tailUuid": "b"}}}
    c <- s compact-summary: This session is being continued from a previous conversation.
    """
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(drawing))})
    messages = answer(home, "show", session_uuid("S1"))["messages"]
    (told,) = [message["compaction"] for message in messages if message["kind"] == "compaction"]
    assert (told["trigger"], told["tokens_before"], told["tokens_after"]) == ("manual", 9000, 800)
    assert (told["preserved_from"], told["preserved_to"]) == ("a", "b")


def test_the_rows_can_be_had_as_they_were_written(home: Path) -> None:
    rows = [json.loads(line) for line in run(home, "show", session_uuid("S1"), "--raw").stdout.splitlines()]
    assert [row["uuid"] for row in rows][-2:] == ["e", "f"]


def test_a_tree_shows_what_a_chat_is_made_of(home: Path) -> None:
    text = run(home, "tree", session_uuid("S1")).stdout
    assert "1 (active)" in text
    assert "left after “fix the parser”" in text
    assert [branch["number"] for branch in answer(home, "tree", session_uuid("S1"))["branches"]] == [1, 2]


def test_resume_prints_the_command_for_the_right_leaf(home: Path) -> None:
    done = run(home, "resume", session_uuid("S1"))
    assert done.stdout == f"cd /home/ada/shop && CLAUDE_CONFIG_DIR={home} claude --resume {session_uuid('S1')}\n"
    assert answer(home, "resume", session_uuid("S1"))["command"] == ["claude", "--resume", session_uuid("S1")]


def test_resume_runs_the_client_in_its_folder(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    write_home(home, {session_path("S1"): jsonl(draw(FIRST.replace("/home/ada/shop", str(folder))))})
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text('#!/bin/sh\necho "$PWD" "$@"\n')
    client.chmod(0o755)
    environment = os.environ | {"PATH": f"{client.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "backscroll", "resume", session_uuid("S1"), "--run", "--home", str(home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == f"{folder} --resume {session_uuid('S1')}\n"


def test_resume_says_what_is_missing(home: Path) -> None:
    done = run(home, "resume", session_uuid("S1"), "--run")
    assert done.returncode == 1
    assert "the folder /home/ada/shop is gone" in done.stderr


def test_every_chat_of_every_kind_of_home_can_be_listed_shown_and_drawn(tmp_path: Path) -> None:
    home = write_home(tmp_path / "claude", EVERYTHING)
    chats = answer(home, "list")["chats"]
    assert len(chats) > 10
    for chat in chats:
        assert answer(home, "show", chat["id"])["chat"]["id"] == chat["id"]
    assert run(home, "tree", chats[0]["id"]).returncode == 0


def test_nothing_in_a_chat_commands_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    rows = draw(FIRST)
    rows[0]["message"]["content"] = f"prompt {evil}"
    rows[0]["cwd"] = f"/home/{evil}"
    rows[-1]["customTitle"] = f"title {evil}"
    rows[3]["message"]["content"][0]["text"] = f"answer {evil}"
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(rows)})
    name = session_uuid("S1")
    for arguments in (["list"], ["show", name, "--branch", "all"], ["tree", name], ["resume", name]):
        done = run(home, *arguments)
        assert done.returncode == 0, done.stderr
        assert not set(done.stdout) & {"\x1b", "\x07", "\u202e"}
