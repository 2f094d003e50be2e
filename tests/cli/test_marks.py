"""pin, tag, note and saved, as a user runs them."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import place_options, run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

OLDEST = """
@ session=S1
a <- - user: fix the parser
b <- a assistant: done
"""
MIDDLE = """
@ session=S2 time=2026-01-06T10:00:00.000Z
c <- b user: and the lexer
d <- c assistant: done too
"""
LATEST = """
@ session=S3 time=2026-01-07T10:00:00.000Z
e <- d user: now the printer
f <- e assistant: all done
"""
S1, S2, S3 = map(session_uuid, ("S1", "S2", "S3"))


def run(home: Path, *arguments: str, stdin: str = "") -> CompletedProcess[str]:
    return run_command(*arguments, *place_options(arguments, home), given=stdin)


def answer(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two chats; the session between them is missing yet."""
    files = {session_path("S1"): jsonl(draw(OLDEST)), session_path("S3"): jsonl(draw(LATEST))}
    return write_home(tmp_path / "claude", files)


def test_a_pinned_chat_is_listed_and_found(home: Path) -> None:
    assert run(home, "pin").returncode == 3
    assert run(home, "pin", S1[:8]).stdout == f"pinned: {S1[:8]}  fix the parser\n"
    assert run(home, "pin", S1).stdout.startswith("is already pinned")
    assert [chat["id"] for chat in answer(home, "pin")["chats"]] == [S1]
    assert [chat["id"] for chat in answer(home, "list", "is:pinned")["chats"]] == [S1]
    assert {hit["chat"] for hit in answer(home, "search", "done is:pinned")["hits"]} == {S1}
    assert answer(home, "pin", S1, "--undo")["changed"] is True
    assert answer(home, "pin", S1, "--undo")["changed"] is False
    assert run(home, "list", "is:pinned").returncode == 3


def test_tags_are_given_listed_found_and_taken(home: Path) -> None:
    assert answer(home, "tag", S1, "review", "Parser")["chat"]["tags"] == ["review", "Parser"]
    assert run(home, "tag", S1, "REVIEW").stdout.startswith("already has these tags")
    assert "tag:review, tag:Parser" in run(home, "tag").stdout
    assert [chat["id"] for chat in answer(home, "list", "tag:parser")["chats"]] == [S1]
    assert answer(home, "tag", S1, "parser", "--remove")["chat"]["tags"] == ["review"]
    assert run(home, "tag", S1, "parser", "--remove").returncode == 3
    assert run(home, "tag", S3).returncode == 3
    assert run(home, "tag", S1, "--remove").returncode == 2
    assert run(home, "tag", S1, " ").returncode == 2


def test_notes_are_made_listed_and_removed(home: Path) -> None:
    run(home, "note", S1, "the", "first")
    assert run(home, "note", S1, "-", stdin="two\nlines\n").returncode == 0
    text = run(home, "note", S1).stdout
    assert "  1  " in text
    assert "the first" in text
    (chat,) = answer(home, "note")["chats"]
    assert [note["text"] for note in chat["notes"]] == ["the first", "two\nlines"]
    assert [note["text"] for note in answer(home, "note", S1, "--remove", "1")["chat"]["notes"]] == ["two\nlines"]
    assert run(home, "note", S1, "--remove", "2").returncode == 3
    assert run(home, "note", S1, "").returncode == 2
    assert run(home, "note", "--remove", "1").returncode == 2


def test_two_marked_chats_that_become_one_keep_everything(home: Path) -> None:
    assert len(answer(home, "list")["chats"]) == 2
    run(home, "pin", S3)
    run(home, "tag", S1, "old")
    run(home, "tag", S3, "new")
    run(home, "note", S1, "one")
    run(home, "note", S3, "two")
    write_home(home, {session_path("S2"): jsonl(draw(MIDDLE))})
    assert len(answer(home, "list")["chats"]) == 1
    (chat,) = answer(home, "pin")["chats"]
    assert (chat["id"], chat["tags"]) == (S1, ["old", "new"])
    assert sorted(note["text"] for note in chat["notes"]) == ["one", "two"]
    assert len(answer(home, "list", "tag:new tag:old is:pinned")["chats"]) == 1
    assert answer(home, "pin", S1, "--undo")["chat"]["pinned"] is False


def test_marks_of_a_chat_in_another_library_are_still_listed(home: Path, tmp_path: Path) -> None:
    run(home, "pin", S1)
    other = write_home(tmp_path / "other", {session_path("S4"): jsonl(draw("x <- - user: hi", session="S4"))})
    (chat,) = answer(other, "pin")["chats"]
    assert (chat["id"], chat["known"], chat["title"]) == (S1, False, None)
    assert "not in this library" in run(other, "pin").stdout


def test_a_damaged_file_is_named_and_left_alone(home: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    run(home, "pin", S1, "--library", str(library))
    file = library / "marks.json"
    file.write_text(file.read_text()[:-9])
    before = file.read_bytes()
    for arguments in (["pin", S1], ["tag", S1, "x"], ["note", S1, "x"], ["saved"]):
        done = run(home, *arguments, "--library", str(library))
        assert done.returncode == 1
        assert str(file) in done.stderr
        assert "next: repair the file" in done.stderr
    assert file.read_bytes() == before


def test_saved_searches_are_listed_and_forgotten(home: Path) -> None:
    assert run(home, "saved").returncode == 3
    run(home, "search", "--save", "mine", "parser since:2026-01-01")
    assert run(home, "saved").stdout == "mine  parser since:2026-01-01\n"
    assert answer(home, "saved") == {"searches": [{"name": "mine", "query": "parser since:2026-01-01"}]}
    assert run(home, "saved", "--remove", "other").returncode == 3
    assert run(home, "saved", "--remove", "mine").returncode == 0
    assert run(home, "saved").returncode == 3


def test_nothing_in_a_mark_commands_the_terminal(home: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    rows = draw(OLDEST)
    rows[0]["message"]["content"] = f"title {evil}"
    write_home(home, {session_path("S1"): jsonl(rows)})
    run(home, "search", "--save", f"x{evil}", f"done {evil}")
    for arguments in (
        ["pin", S1],
        ["tag", S1, f"t{evil}"],
        ["note", S1, f"n{evil}"],
        ["pin"],
        ["tag"],
        ["note"],
        ["saved"],
    ):
        done = run(home, *arguments)
        assert done.returncode == 0, done.stderr
        assert not set(done.stdout) & {"\x1b", "\x07", "\u202e"}
