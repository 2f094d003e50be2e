"""backscroll search, as a user runs it."""

import fcntl
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import place_options, run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

PARSER = """
@ session=S1 cwd=/home/ada/shop branch=main
a <- - user: fix the flaky tokenizer
b <- a thinking(m1): where could the gremlin be?
c <- b call(m1) t1 Bash {"command": "make check"}
d <- c error t1: "first line\\nsecond line\\nconnection reset by peer\\nfourth line\\nfifth line"
e <- d assistant(m2): mended getUserName
custom-title: Parser
"""
BLOG = """
@ session=S2 cwd="/home/ada/my blog" branch=draft model=claude-opus-4-1-20250805 time=2026-02-01T10:00:00.000Z
x <- - user: write a post
y <- x assistant: a reset of the connection, and flaky too
z <- y user: thanks
"""
S1, S2 = session_uuid("S1"), session_uuid("S2")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        session_path("S1"): jsonl(draw(PARSER)),
        session_path("S2").replace("shop", "blog"): jsonl(draw(BLOG)),
    }
    return write_home(tmp_path / "claude", files)


def run(home: Path, *arguments: str, command: str = "search") -> CompletedProcess[str]:
    return run_command(command, *arguments, *place_options([command], home))


def answer(home: Path, *arguments: str, exit_code: int = 0) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json")
    assert done.returncode == exit_code, done.stderr
    return json.loads(done.stdout)


def chats(home: Path, *arguments: str) -> list[str]:
    return [chat["id"] for chat in answer(home, *arguments)["chats"]]


PICTURES = """
@ session=S9 cwd=/home/ada/zoo
pa <- - user: LONG
pb <- pa call(m1) p1 Read {"file_path": "/zoo.png"}
pc <- pb result p1: [{"type": "image", "source": {"data": "x"}}]
pd <- pc call(m2) p2 Bash {"command": "true"}
pe <- pd result p2: ""
"""


def test_what_has_no_text_is_not_called_unreadable_and_a_title_ends_with_a_word(tmp_path: Path) -> None:
    rows = draw(PICTURES.replace("LONG", "where " * 50))
    home = write_home(tmp_path / "claude", {session_path("S9"): jsonl(rows)})
    picture = run_command("search", "has:image", "--home", home).stdout
    assert "output Read: [Image]" in picture
    assert f"{'where ' * 33}".strip() + "…" in picture
    nothing = run_command("search", "tool:Bash role:output", "--home", home).stdout
    assert "output Bash: (no text)" in nothing


def test_what_the_client_notes_without_words_is_no_match(tmp_path: Path) -> None:
    rows = draw("""
    @ session=S9 cwd=/home/ada/zoo
    a <- - user: feed the lion
    b <- a assistant(m1): It is fed.
    c <- b system stop_hook_summary {"hookCount": 1, "hookErrors": []}
    d <- c system turn_duration {"durationMs": 9000}
    """)
    home = write_home(tmp_path / "claude", {session_path("S9"): jsonl(rows)})
    shown = run_command("search", "project:zoo", "--home", home).stdout
    assert "3 matches" in shown  # the title, the prompt and the answer
    assert "answer: It is fed." in shown.splitlines()[1]
    assert "(no text)" not in shown


def test_a_chat_is_shown_with_what_was_found_in_it(home: Path) -> None:
    lines = run(home, "tokenizer").stdout.splitlines()
    assert lines[0].startswith(f"{S1[:8]}  Parser  shop · ")
    assert lines[0].endswith("1 match")
    assert re.fullmatch(r"  a 2026-01-05 \d\d:\d\d prompt: fix the flaky tokenizer", lines[1])


def test_every_kind_of_passage_is_found(home: Path) -> None:
    for word, kind in (
        ("Parser", "title"), ("tokenizer", "prompt"), ("gremlin", "thinking"), ("check", "input"), ("peer", "output"),
        ("mended", "answer"), ("user", "answer"),
    ):  # fmt: skip
        assert answer(home, word)["hits"][0]["kind"] == kind, word


def test_json_has_everything_about_a_hit(home: Path) -> None:
    found = answer(home, "peer")
    assert found.keys() == {
        "hits", "chats", "total", "total_chats", "notes", "corrections", "cursor", "pending", "complete",
    }  # fmt: skip
    assert (found["notes"], found["corrections"], found["cursor"]) == ([], [], None)
    assert (found["total"], found["total_chats"], found["pending"], found["complete"]) == (1, 1, 0, True)
    (machine,) = found["chats"][0].pop("machines")
    assert machine.startswith(platform.node())
    assert found["chats"] == [
        {
            "id": S1,
            "title": "Parser",
            "project": "/home/ada/shop",
            "archived": False,
            "pinned": False,
            "tags": [],
            "found": 1,
        }
    ]
    (hit,) = found["hits"]
    start, end = hit["highlights"][0]
    assert hit["snippet"][start:end] == "peer"
    assert hit.pop("machine")
    assert isinstance(hit.pop("score"), float)
    assert hit["snippet"].startswith("first line second line")
    del hit["snippet"], hit["highlights"]
    assert hit == {
        "chat": S1, "title": "Parser", "project": "/home/ada/shop", "session": S1, "agent": None, "message": "d",
        "message_id": None, "block": 0, "kind": "output", "tool": "Bash", "error": True, "abandoned": False,
        "time": "2026-01-05T10:00:03.000Z",
    }  # fmt: skip


def test_a_misspelt_word_is_corrected_and_said(home: Path) -> None:
    done = run(home, "tokeniser")
    assert done.returncode == 0
    assert 'searching also for tokenizer; to search only for tokeniser, write "tokeniser"' in done.stderr
    found = answer(home, "tokeniser")
    assert found["corrections"] == [{"typed": "tokeniser", "also": ["tokenizer"]}]
    assert found["notes"] == ['searching also for tokenizer; to search only for tokeniser, write "tokeniser"']
    assert run(home, '"tokeniser"').returncode == 3


def test_a_word_that_is_in_no_chat_is_said(home: Path) -> None:
    assert "no chat contains xyzzyq; searching for the other words" in run(home, "xyzzyq tokenizer").stderr
    found = answer(home, "xyzzyq tokenizer")
    assert found["corrections"] == [{"typed": "xyzzyq", "also": []}]
    assert answer(home, "xyzzyq plughq: tokenizer")["notes"] == [
        "no chat contains xyzzyq or plughq; searching for the other words"
    ]


def test_an_option_of_a_command_is_text_and_it_is_said(home: Path) -> None:
    done = run(home, "rm -rf parser")
    assert "searching for -rf as text; write NOT rf to leave it out" in done.stderr


@pytest.mark.parametrize("words", [["--force parser"], ["--", "--force", "parser"], ["--json", "-x parser"]])
def test_words_may_begin_with_dashes(home: Path, words: list[str]) -> None:
    assert run(home, *words).returncode == 0


def test_a_misspelt_option_is_still_an_error(home: Path) -> None:
    assert run(home, "--limitt", "parser").returncode == 2


def test_a_word_that_looks_like_an_option_is_told_how_it_is_searched_for(home: Path) -> None:
    done = run(home, "--no-verify")
    assert done.returncode == 2
    assert "to search for it, put -- before the words: backscroll search -- --no-verify" in done.stderr


def test_a_page_beyond_the_last_chat_is_not_nothing_found(home: Path) -> None:
    done = run(home, "flaky", "--offset", "50")
    assert done.returncode == 3
    assert "no chats after the first 50\n  next: 2 chats found in all" in done.stderr


def test_a_project_that_there_is_not_is_named(home: Path) -> None:
    done = run(home, "flaky", "--project", "zoo")
    assert done.returncode == 3
    assert "no project has zoo in its path" in done.stderr


def test_a_regular_expression_counts_all_chats_whatever_the_limit(home: Path) -> None:
    found = [answer(home, "/flak[y]/", "--limit", limit) for limit in ("1", "5")]
    assert [(one["total"], one["total_chats"], one["complete"]) for one in found] == [(2, 2, True)] * 2
    assert "1 more chat: --offset 1" in run(home, "/flak[y]/", "--limit", "1").stderr


def test_the_lines_around_a_match_of_a_corrected_word_have_it(home: Path) -> None:
    assert "│ connection reset by peer" in run(home, "conection tool:Bash", "-C", "0").stdout


def test_a_list_with_a_limit_says_how_many_are_left(home: Path) -> None:
    done = run(home, "--limit", "1", command="list")
    assert "1 more chat: --limit" in done.stderr
    assert json.loads(run(home, "--limit", "1", "--json", command="list").stdout)["total"] == 2


def test_nothing_found_is_exit_code_3_with_a_suggestion(home: Path) -> None:
    done = run(home, "xyzzy")
    assert (done.returncode, done.stdout) == (3, "")
    assert "nothing found for xyzzy" in done.stderr
    assert "next: try fewer or other words" in done.stderr
    assert answer(home, "xyzzy", exit_code=3)["hits"] == []
    assert run(home).returncode == 2
    assert run(home, "  ").returncode == 2


def test_lines_around_a_match_can_be_shown(home: Path) -> None:
    text = run(home, "peer", "--context", "1").stdout
    assert "│ second line\n  │ connection reset by peer\n  │ fourth line\n" in text
    assert "│ first line" not in text
    assert answer(home, "peer", "-C", "0")["hits"][0]["context"] == "connection reset by peer"
    assert "context" not in answer(home, "peer")["hits"][0]


def test_searches_are_saved_asked_again_and_added_to(home: Path) -> None:
    run(home, "--save", "mine", "flaky", "--project", "shop")
    assert chats(home, "--saved", "mine") == [S1]
    assert chats(home, "--saved", "mine", "role:prompt") == [S1]
    assert run(home, "--saved", "mine", "role:thinking").returncode == 3
    done = run(home, "--saved", "other")
    assert done.returncode == 3
    assert "the saved searches are: mine" in done.stderr


def test_a_search_that_is_refused_is_not_saved(home: Path) -> None:
    assert run(home, "--save", "bad", "proejct:x").returncode == 2
    assert run(home, command="saved").returncode == 3


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (["flaky", "--project", "my blog"], 'flaky project:"my blog"'),
        (["flaky", "--branch", "draft"], "flaky branch:draft"),
        (["flaky", "--model", "opus"], "flaky model:opus"),
        (["flaky", "--title", "Parser"], "flaky title:Parser"),
        (["--tool", "Bash"], "tool:Bash"),
        (["flaky", "--role", "prompt"], "flaky role:prompt"),
        (["flaky", "--since", "2026-01-20"], "flaky since:2026-01-20"),
        (["flaky", "--before", "2026-01-20"], "flaky before:2026-01-20"),
        (["flaky", "--before", "2026-01-20", "--role", "user"], "flaky before:2026-01-20 role:user"),
    ],
)
def test_an_option_is_the_same_as_its_field(home: Path, options: list[str], query: str) -> None:
    by_option, by_field = answer(home, *options), answer(home, query)
    assert by_option["hits"]
    assert by_option == by_field


def test_the_value_of_an_option_is_never_taken_for_a_query(home: Path) -> None:
    for value in ("shop OR blog", 'x" OR "', "(", "-shop", "is:error"):
        assert run(home, "flaky", "--project", value).returncode == 3, value


def test_quotes_ask_for_a_phrase_and_words_for_each(home: Path) -> None:
    assert chats(home, '"connection reset"') == [S1]
    assert set(chats(home, "connection", "reset")) == {S1, S2}


def test_the_order_can_be_chosen(home: Path) -> None:
    assert chats(home, "flaky", "--sort", "newest") == [S2, S1]
    assert chats(home, "flaky", "--sort", "oldest") == [S1, S2]


def test_pages_follow_one_another(home: Path) -> None:
    first = run(home, "flaky", "--limit", "1", "--sort", "newest")
    assert S2[:8] in first.stdout
    assert "1 more chat: --offset 1" in first.stderr
    assert chats(home, "flaky", "-n", "1", "--offset", "1", "--sort", "newest") == [S1]


def test_a_bad_query_is_shown_with_the_place(home: Path) -> None:
    done = run(home, "flaky", "proejct:x")
    assert done.returncode == 2
    assert "    flaky proejct:x\n          ^\n" in done.stderr


def test_the_fields_are_listed_without_a_home(tmp_path: Path) -> None:
    assert "project" in run(tmp_path, "--fields").stdout


def in_terminal(home: Path, *arguments: str, **environment: str) -> str:
    """What `script`, which gives the program a terminal, sees of it."""
    command = f'{sys.executable} -m backscroll search {" ".join(arguments)} --home "{home}"'
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, env=os.environ | environment,
    )  # fmt: skip
    return done.stdout


def test_colours_and_links_only_where_they_are_wanted(home: Path) -> None:
    assert "\x1b" not in run(home, "flaky").stdout
    shown = in_terminal(home, "flaky")
    assert "\x1b[33m\x1b[1mflaky\x1b[0m" in shown
    assert "\x1b]8;;file://" in shown
    assert "\x1b" not in in_terminal(home, "flaky", NO_COLOR="1")
    assert "\x1b" not in in_terminal(home, "flaky", "--no-color")


def test_nothing_that_is_found_commands_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202e\r"
    rows = draw(PARSER)
    rows[0]["message"]["content"] = f"fix the {evil} flaky {evil}"
    rows[0]["cwd"] = f"/home/{evil}"
    rows[2]["message"]["content"][0]["name"] = f"Bash{evil}"
    rows[3]["message"]["content"][0]["content"] = f"flaky {evil}\n{evil} flaky"
    rows[-1]["customTitle"] = f"flaky {evil} title"
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(rows)})
    done = run(home, "flaky", "-C", "3", "--hits", "9")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 3
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
    shown = re.sub(
        r"\x1b\[[0-9;]*m|\x1b\]8;;file://[\w/%.-]*\x1b\\|\x1b\]8;;\x1b\\|\r\n", "", in_terminal(home, "flaky")
    )
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
    assert "owned" not in shown
    done = run(home, f"xyzzy{evil}")
    assert not set(done.stderr) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}


def test_words_that_are_not_indexed_yet_are_reported(home: Path, tmp_path: Path) -> None:
    """`list` indexes only the chats; while another process holds the lock, the words cannot be added."""
    library = tmp_path / "library"
    run(home, "--library", str(library), command="list")
    with (library / "index" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(home, "tokenizer", "--library", str(library))
        assert done.returncode == 3
        assert "passages not yet indexed (" in done.stderr
        assert "run backscroll update" in done.stderr
        assert answer(home, "tokenizer", "--library", str(library), exit_code=3)["pending"] > 3
        assert "not yet indexed" not in run(home, "tokenizer", "--library", str(library), "--quiet").stderr
    done = run(home, "tokenizer", "--library", str(library))
    assert (done.returncode, done.stderr) == (0, "")
