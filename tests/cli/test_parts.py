"""Where a part of a conversation begins, every way to read it says why, and none hides what is above."""

import json
from pathlib import Path
from typing import Final

from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, write_home

DRAWING: Final = """
    a <- - user: paint the door
    b <- a assistant: the door is purple
    c <- - user: This session is being continued from a previous conversation that ran out of context.
    d <- c assistant: the frame is purple
    e <- - user: Implement the following plan: the roof
    f <- e assistant: the roof is purple
"""


def test_each_format_shows_all_parts_with_what_is_between_them(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home", session_file("S1", DRAWING))
    place = ("--home", home, "--library", tmp_path / "library")
    chat = json.loads(run_command("list", "--json", *place).stdout)["chats"][0]
    assert chat["branches"] == 1
    found = run_command("search", "purple", *place).stdout
    assert found.count("purple") == 3
    assert "rewound" not in found
    run_command("export", chat["id"], "--out", tmp_path / "chat.html", *place)
    for text in (
        run_command("show", chat["id"], *place).stdout,
        run_command("show", chat["id"], *place, columns=100).stdout,
        (tmp_path / "chat.html").read_text().partition("<main")[2],
    ):
        at = [text.lower().find(words) for words in ("purple", "compacted", "plan accepted", "the roof is purple")]
        assert at == sorted(at), text
        assert at[0] >= 0
    whole = json.loads(run_command("show", chat["id"], "--json", *place).stdout)
    starts = {message["uuids"][0]: message.get("starts_part") for message in whole["messages"]}
    assert starts == {"a": None, "b": None, "c": "compacted", "d": None, "e": "plan accepted", "f": None}


SESSION: Final = """
    a <- - user: paint the door
    b <- a assistant: in which colour?
    c <- b user: red
    d <- c assistant: it is red
"""
FORK: Final = """
    a <- - user: paint the door
    b <- a assistant: in which colour?
    @ time=2026-01-05T11:00:00.000Z
    e <- b user: blue
    f <- e assistant: it is blue
"""


def test_the_id_of_a_session_opens_its_branch_and_a_branch_is_shown_whole(tmp_path: Path) -> None:
    other = FORK.replace("e <-", "g <-").replace("f <- e", "h <- g").replace("blue", "green").replace("T11", "T12")
    drawings = {"S1": SESSION, "S2": FORK, "S3": other}
    home = tmp_path / "home"
    for name, drawing in drawings.items():
        write_home(home, session_file(name, drawing))
    place = ("--home", home, "--library", tmp_path / "library")
    chat = json.loads(run_command("list", "--json", *place).stdout)["chats"][0]
    for session in chat["sessions"][1:]:
        colour = "blue" if session == session_uuid("S2") else "green"
        shown = run_command("show", session, *place).stdout
        assert shown.count("paint the door") == 3, shown  # the title twice, and the prompt
        assert f"it is {colour}" in shown
        assert not {"red", "blue", "green"} - {colour} & {*shown.split()}
    numbers = {}
    for branch in chat_branches(chat["id"], *place):
        only = json.loads(run_command("show", chat["id"], "--branch", branch, "--json", *place).stdout)
        assert [one["number"] for one in only["branches"]] == [branch]
        assert [message["text"] for message in only["messages"]][:2] == ["paint the door", "in which colour?"]
        numbers[only["messages"][2]["text"]] = branch
    assert sorted(numbers) == ["blue", "green", "red"]


def chat_branches(chat: str, *place: object) -> list[int]:
    tree = json.loads(run_command("tree", chat, "--json", *place).stdout)
    return [branch["number"] for branch in tree["branches"]]
