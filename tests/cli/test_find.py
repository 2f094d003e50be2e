"""The picker: what it shows and does, first without a terminal, then in a real one."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeVar

import pytest

from backscroll.cli.picker_queries import LatestAnswer
from backscroll.files.homes import Home
from backscroll.library.chats.around_message import AroundMessage
from backscroll.library.local import local_library
from backscroll.query.as_you_type import while_typing
from backscroll.query.parse import parse
from backscroll.query.tree import Word
from backscroll.render.cells import cells
from backscroll.render.picker import Picker, PickerEntry, draw, layout_of
from backscroll.settings import Settings
from tests.support.cases import for_each
from tests.support.command import run_command
from tests.support.drawings import draw as drawn
from tests.support.drawings import jsonl, session_uuid
from tests.support.homes import session_path, write_home
from tests.support.processes import until

Found = TypeVar("Found")

# What was typed and chosen


def entries(count: int) -> list[PickerEntry]:
    return [PickerEntry(f"id{n}", f"title {n}", "shop", "3 d ago", (("plain", f"snippet {n}"),)) for n in range(count)]


def filled(count: int = 30, **fields: str) -> Picker:
    picker = Picker(**fields)  # type: ignore[arg-type]
    picker.take(entries(count), f"{count} chats", keep=False)
    return picker


def screen(picker: Picker, width: int = 80, height: int = 24) -> list[str]:
    lines, _ = draw(picker, layout_of(width, height))
    return ["".join(text for _, text in line).rstrip() for line in lines]


def test_typing_goes_to_the_cursor() -> None:
    picker = Picker("flaky")
    picker.insert(" ")
    picker.insert("test")
    picker.move_cursor(-4)
    picker.insert("x")
    assert (picker.text, picker.cursor) == ("flaky xtest", 7)
    picker.delete(1)
    picker.delete(-1)
    assert picker.text == "flaky est"
    picker.move_cursor(99)
    picker.delete_word()
    assert (picker.text, picker.cursor) == ("flaky ", 6)
    picker.delete(picker.cursor)
    picker.delete(1)
    picker.delete(-1)
    assert picker.text == ""


def test_what_is_pasted_is_one_clean_line() -> None:
    picker = Picker()
    picker.insert("one\n\x1b[2J two\t")
    assert picker.text == "one two"


def test_the_choice_stays_in_the_list() -> None:
    picker = filled(3)
    picker.move(-1)
    assert picker.chosen == 0
    picker.move(99)
    assert picker.selected == entries(3)[2]
    assert Picker().selected is None


def test_the_chosen_entry_is_always_seen() -> None:
    picker = filled(30)
    for number in (0, 29, 12, 13, 0):
        picker.choose(number)
        assert any(line.startswith(f"▌ title {number} ") for line in screen(picker))


def test_another_question_begins_at_the_top_and_the_same_one_keeps_the_chat() -> None:
    picker = filled(5)
    picker.choose(3)
    picker.take(entries(5)[::-1], "5 chats", keep=True)
    assert (picker.chosen, picker.selected) == (1, entries(5)[3])
    picker.take(entries(5), "5 chats", keep=False)
    assert picker.chosen == 0
    picker.choose(4)
    picker.take(entries(2), "2 chats", keep=True)
    assert picker.chosen == 1


def test_orders_follow_one_another() -> None:
    picker = Picker("x")
    orders = []
    for _ in range(3):
        picker.next_sort()
        orders.append(picker.sort)
    assert orders == ["newest", "oldest", "relevance"]
    assert "newest" in screen(Picker())[0]
    picker = Picker()
    picker.next_sort()
    assert picker.sort == "oldest"


# The screen


def test_every_screen_is_as_high_and_no_wider_than_the_terminal() -> None:
    for_each(product((1, 2, 5, 20, 39, 40, 80, 99, 100, 200), (1, 2, 3, 4, 9, 16, 24, 50)), check_screen)


def check_screen(size: tuple[int, int]) -> None:
    width, height = size
    picker = filled(40, text="日本語 and a query that is rather long for a terminal")
    picker.entries[0] = PickerEntry(
        "x", "日本語のタイトル" * 9, "프로젝트" * 9, "now", (("match", "👍" * 99),), is_pinned=True
    )
    picker.preview, picker.preview_of = [(("plain", "made for another width " * 9),)] * 99, "x"
    for shows_help in (False, True):
        picker.shows_help = shows_help
        lines, cursor = draw(picker, layout_of(width, height))
        assert len(lines) == height
        assert 0 <= cursor < width
        if not shows_help or width > 10:
            assert all(sum(cells(text) for _, text in line) <= width for line in lines)


def test_the_list_is_next_to_or_above_the_preview_or_alone() -> None:
    picker = filled(3)
    picker.preview, picker.preview_of = [(("plain", "what was said"),)], "id0"
    assert any("│ what was said" in line for line in screen(picker, 120, 24))
    assert "what was said" in screen(picker, 80, 24)
    assert "what was said" not in "\n".join(screen(picker, 80, 12))


def test_the_preview_of_another_chat_is_not_shown() -> None:
    picker = filled(3)
    picker.preview, picker.preview_of = [(("plain", "what was said"),)], "id0"
    picker.move(1)
    assert "what was said" not in screen(picker)


def test_the_preview_scrolls_as_far_as_there_is_something() -> None:
    picker = filled(3)
    picker.preview, picker.preview_of = [(("plain", f"line {n}"),) for n in range(30)], "id0"
    picker.scroll(99)
    assert "line 29" in screen(picker)
    picker.scroll(-99)
    assert "line 0" in screen(picker)


def test_a_pinned_chat_has_a_star() -> None:
    picker = filled(1)
    picker.entries = [entries(1)[0]._replace(is_pinned=True)]
    assert screen(picker)[2].startswith("▌ * title 0")


def test_the_last_line_shows_the_keys_or_the_error() -> None:
    picker = filled(1)
    assert screen(picker)[-1].startswith("Enter open  Esc quit  ? help")
    picker.problem = "there is no field x:"
    assert screen(picker)[-1] == "there is no field x:"
    picker.notice = ("match", "pinned")
    assert screen(picker)[-1] == "pinned"


def test_nothing_found_is_said() -> None:
    picker = Picker("x")
    picker.take([], "0 chats", keep=False)
    assert screen(picker)[2] == "  nothing found"


# Asking


@pytest.mark.parametrize(
    ("text", "prefix"),
    [("flaky te", True), ("te", True), ("te ", False), ("t", False), ('"te"', None), ("is:error", None), ("", None),
     ("te*", True), ("te-", False), ("a OR te", None)],
)  # fmt: skip
def test_the_word_being_typed_matches_any_ending(text: str, prefix: bool | None) -> None:
    parts = while_typing(parse(text, datetime(2026, 1, 5, tzinfo=UTC))).root.parts
    last = parts[-1] if parts else None
    assert (last.prefix if isinstance(last, Word) else None) is prefix


def wait_for(answered: Callable[[], Found | None]) -> Found:
    found: list[Found] = []
    until(lambda: found, again=lambda: found.extend(answer for answer in [answered()] if answer is not None))
    return found[0]


def test_only_the_latest_question_is_answered() -> None:
    asked: list[int] = []

    def double(question: int) -> int:
        asked.append(question)
        return 2 * question

    closed: list[bool] = []
    latest: LatestAnswer[int, int] = LatestAnswer(double, lambda: closed.append(True))
    for question in range(1, 6):
        latest.ask(question)
    found = wait_for(latest.answered)
    latest.stop()
    assert (asked, found, closed) == ([5], (5, 10), [True])


def test_a_question_that_fails_is_answered_with_what_went_wrong() -> None:
    latest: LatestAnswer[str, object] = LatestAnswer(
        lambda text: parse(text, datetime(2026, 1, 5, tzinfo=UTC)), lambda: None
    )
    latest.ask("proejct:x")
    found = wait_for(latest.answered)
    latest.stop()
    assert str(found[1]).startswith("there is no field proejct: (did you mean project:?")


def test_who_leaves_does_not_wait_for_an_answer() -> None:
    closed: list[bool] = []

    begun = threading.Event()

    def for_ever(_: int) -> int:
        begun.set()
        while True:
            time.sleep(0.01)

    latest: LatestAnswer[int, int] = LatestAnswer(for_ever, lambda: closed.append(True))
    latest.ask(1)
    assert begun.wait(60)
    latest.stop()
    assert closed == [True]
    assert not latest.is_alive


# In a terminal

PARSER = """
@ session=S1 cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant: mended the tokenizer
custom-title: Parser work
"""
BLOG = """
@ session=S2 cwd=/home/ada/blog time=2026-02-01T10:00:00.000Z
x <- - user: write a post
y <- x assistant: published about gardening
"""


class PickerTerminal:
    """The program with a terminal of its own."""

    def __init__(self, home: Path, *arguments: str, **environment: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "backscroll", "find", *arguments, "--home", str(home), "--quiet"]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=os.environ | {"TERM": "xterm"} | environment
        )
        os.close(slave)
        self.output = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def sees(self, *texts: str) -> bool:
        """Whether all of this comes to stand on the screen; it is drawn anew until it does."""
        for _ in range(200):
            self.press("\x0c")
            shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\([AB0]", "", self._read(0.1))
            if all(text in shown for text in texts):
                return True
        return False

    def end(self) -> int:
        """How it ended."""
        while self.process.poll() is None:
            self._read(0.05)
        self._read(0.05)
        os.close(self._master)
        return self.process.returncode

    def _read(self, wait: float) -> str:
        text = b""
        while select.select([self._master], [], [], wait)[0]:
            try:
                data = os.read(self._master, 65_536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            text += data
        self.output += text.decode(errors="replace")
        return text.decode(errors="replace")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        session_path("S1"): jsonl(drawn(PARSER)),
        session_path("S2").replace("shop", "blog"): jsonl(drawn(BLOG)),
    }
    return write_home(tmp_path / "claude", files)


@pytest.fixture
def terminals() -> Iterator[list[PickerTerminal]]:
    started: list[PickerTerminal] = []
    yield started
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()


def run(home: Path, *arguments: str, **environment: str) -> CompletedProcess[str]:
    return run_command(*arguments, "--home", home, environment=os.environ | environment)


def test_a_chat_is_found_while_typing(home: Path, terminals: list[PickerTerminal]) -> None:
    terminal = PickerTerminal(home)
    terminals.append(terminal)
    assert terminal.sees("Parser work", "write a post", "2 chats", "published about gardening")
    terminal.press("token")
    assert terminal.sees("❯ token", "1 chat", "Parser work", "answer: mended the tokenizer")
    terminal.press("\t")
    assert terminal.sees("* Parser work")
    terminal.press(" proejct:x")
    assert terminal.sees("there is no field proejct:", "Parser work")
    terminal.press("\x15")
    assert terminal.sees("2 chats")
    terminal.press("\x1b")
    assert terminal.end() == 0
    pinned = json.loads(run(home, "pin", "--json").stdout)["chats"]
    assert [chat["id"] for chat in pinned] == [session_uuid("S1")]


def test_a_chat_is_read_in_the_pager_and_the_picker_comes_back(home: Path, terminals: list[PickerTerminal]) -> None:
    terminal = PickerTerminal(home, "tokenizer", PAGER="cat")
    terminals.append(terminal)
    assert terminal.sees("1 chat")
    terminal.press("\r")
    # It asks for Enter where the pager did not stay, and what is quick for a pager depends on the machine.
    is_back = "\x1b[?2004h"
    while "press Enter to return" not in terminal.output and terminal.output.count(is_back) < 2:
        terminal._read(0.1)
    assert "mended the tokenizer" in terminal.output
    if "press Enter to return" in terminal.output:
        terminal.press("\n")
    assert terminal.sees("❯ tokenizer", "1 chat")
    terminal.press("\x03")
    assert terminal.end() == 130


def test_the_command_is_copied_and_printed_at_the_end(home: Path, terminals: list[PickerTerminal]) -> None:
    terminal = PickerTerminal(home, "tokenizer")
    terminals.append(terminal)
    assert terminal.sees("1 chat")
    terminal.press("\x12")
    assert terminal.sees("the folder /home/ada/shop is gone")
    terminal.press("\x19")
    assert terminal.sees("copied: cd /home/ada/shop")
    terminal.press("\x1b")
    assert terminal.end() == 0
    assert "\x1b]52;c;" in terminal.output
    printed = "".join(terminal.output.split("\x1b[?1049l")[-1].split())
    assert printed.endswith(f"claude--resume{session_uuid('S1')}")


def test_resume_becomes_the_client(home: Path, tmp_path: Path, terminals: list[PickerTerminal]) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    write_home(home, {session_path("S1"): jsonl(drawn(PARSER.replace("/home/ada/shop", str(folder))))})
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text('#!/bin/sh\necho "started in $PWD" "$@"\n')
    client.chmod(0o755)
    terminal = PickerTerminal(home, "tokenizer", PATH=f"{client.parent}:{os.environ['PATH']}")
    terminals.append(terminal)
    assert terminal.sees("1 chat")
    terminal.press("\x12")
    assert terminal.end() == 0
    assert f"started in {folder} --resume {session_uuid('S1')}" in terminal.output


def test_nothing_in_a_transcript_commands_the_terminal(home: Path, terminals: list[PickerTerminal]) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    rows = drawn(PARSER)
    rows[0]["message"]["content"] = f"prompt {evil} parser"
    rows[0]["cwd"] = f"/home/{evil}"
    rows[1]["message"]["content"][0]["text"] = f"answer {evil} tokenizer"
    rows[-1]["customTitle"] = f"evil title {evil}"
    write_home(home, {session_path("S1"): jsonl(rows)})
    terminal = PickerTerminal(home)
    terminals.append(terminal)
    assert terminal.sees("evil title", "2 chats")
    terminal.press("tokenizer")
    assert terminal.sees("❯ tokenizer", "1 chat", "answer: answer tokenizer")
    terminal.press("\x19")
    assert terminal.sees("copied")
    terminal.press("\x1b")
    assert terminal.end() == 0
    assert "owned" not in terminal.output
    assert "\u202e" not in terminal.output


def test_no_colours_where_none_are_wanted(home: Path, terminals: list[PickerTerminal]) -> None:
    for environment, coloured in (({"NO_COLOR": "1"}, False), ({}, True)):
        terminal = PickerTerminal(home, "tokenizer", **environment)
        terminals.append(terminal)
        assert terminal.sees("1 chat", "Parser work")
        terminal.press("\x1b")
        assert terminal.end() == 0
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", terminal.output)) is coloured


@pytest.mark.parametrize("name", ["dumb", "no-such-terminal", ""])
def test_an_unsuitable_terminal_is_reported(home: Path, name: str, terminals: list[PickerTerminal]) -> None:
    terminal = PickerTerminal(home, TERM=name)
    terminals.append(terminal)
    assert terminal.end() == 1
    assert "backscroll: " in terminal.output
    assert "use backscroll search" in " ".join(terminal.output.split())


def test_without_a_terminal_it_answers_as_search_and_list_do(home: Path) -> None:
    assert run(home, "find", "tokenizer").stdout == run(home, "search", "tokenizer").stdout != ""
    assert run(home, "find").stdout == run(home, "list").stdout != ""
    assert run(home, "find", "--json", "tokenizer").stdout == run(home, "search", "--json", "tokenizer").stdout
    assert run(home, "find", "nothing-like-it").returncode == 3
    assert run(home, "find", "proejct:x").returncode == 2


def test_what_was_found_is_the_first_that_is_shown(home: Path, tmp_path: Path) -> None:
    settings = Settings(homes=(home,), library=tmp_path / "library", file=tmp_path / "settings.toml")
    with local_library(settings, [Home(home)]) as library:
        library.update()
        hit = library.search("tokenizer role:answer").chats[0]
        opened, message = library.open(hit.chat), hit.passages[0].hit.uuid or ""
        part = AroundMessage(opened, message, 20, is_first=True)
        shown = part.messages(part.branches[0])
        assert [row.uuid for row in shown[0].rows] == [message]
        assert part.before > 0
        assert AroundMessage(opened, message, 20).before == 0
