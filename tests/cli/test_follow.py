"""`follow` shows a session as it is written; `status` says what is now."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

SHOP = """
@ cwd=/home/ada/shop version=2.1.42
a <- - user: fix the parser
b <- a assistant: the parser is done
ai-title: Parser
"""
MORE = """
@ cwd=/home/ada/shop version=2.1.42
a <- - user: fix the parser
b <- a assistant: the parser is done
c <- b user: now the lexer
d <- c assistant: the lexer is done too
"""
PATIENCE = 120


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(SHOP))})


def session_of(home: Path) -> Path:
    return home / session_path("S1")


def append(home: Path) -> None:
    rows = jsonl(draw(MORE)).splitlines(keepends=True)
    with session_of(home).open("ab") as file:
        file.writelines(rows[2:])


class FollowCommand:
    """A running `backscroll follow`, whose output is waited for."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.text = ""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.text += line
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        self._reader.join()

    def wait_for(self, text: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.text, PATIENCE), self.text

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextmanager
def following(home: Path, *arguments: str) -> Iterator[FollowCommand]:
    command = [sys.executable, "-m", "backscroll", "follow", "--home", str(home), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        follow = FollowCommand(process)
        try:
            yield follow
        finally:
            process.kill()
            follow.end()


def test_a_session_is_shown_as_it_is_written_until_ctrl_c(shop: Path) -> None:
    with following(shop) as follow:
        follow.wait_for("the parser is done")
        assert "lexer" not in follow.text
        append(shop)
        follow.wait_for("the lexer is done too")
        assert follow.interrupt() == 130
        assert follow.process.stderr is not None
        assert "Traceback" not in follow.process.stderr.read()
        assert follow.text.count("the parser is done") == 1
        assert follow.text.index("now the lexer") < follow.text.index("the lexer is done too")


def test_only_what_is_new_is_shown_if_so_wanted(shop: Path) -> None:
    with following(shop, "-n", "1") as follow:
        follow.wait_for("the parser is done")
        append(shop)
        follow.wait_for("the lexer is done too")
        assert "fix the parser" not in follow.text


def test_programs_get_one_message_per_line(shop: Path) -> None:
    with following(shop, "--json") as follow:
        follow.wait_for("the parser is done")
        append(shop)
        follow.wait_for("the lexer is done too")
        messages = [json.loads(line) for line in follow.text.splitlines()]
        assert [message["kind"] for message in messages] == ["prompt", "answer", "prompt", "answer"]


RESUMED = """
@ cwd=/home/ada/shop version=1.0.17
a <- - user: fix the parser
b <- a assistant: the parser is done
c <- b user: go on in another file
d <- c assistant: here I am
"""
ELSEWHERE = """
@ cwd=/home/ada/shop version=2.1.42
p <- - user: in another terminal
q <- p assistant: yes
"""
CLEARED = """
@ cwd=/home/ada/shop version=2.1.42
x <- - user: about something else
y <- x assistant: certainly
"""


def test_a_chat_that_goes_on_in_another_file_is_followed_there(shop: Path) -> None:
    """Some clients copy the history of a resumed session into a new file, and go on in that one."""
    with following(shop) as follow:
        follow.wait_for("the parser is done")
        write_home(shop, {session_path("S2"): jsonl(draw(RESUMED, session="S2"))})
        follow.wait_for("here I am")
        assert follow.text.count("fix the parser") == 1
        rows = jsonl(draw(RESUMED + "e <- d user: one more", session="S2")).splitlines(keepends=True)
        with (shop / session_path("S2")).open("ab") as file:
            file.write(rows[-1])
        follow.wait_for("one more")


def test_after_a_clear_the_next_chat_of_the_program_is_followed(shop: Path) -> None:
    running(shop, session_path("S1").rpartition("/")[2].removesuffix(".jsonl"))
    with following(shop) as follow:
        follow.wait_for("the parser is done")
        append(shop)
        follow.wait_for("the lexer is done too")
        write_home(shop, {session_path("S3"): jsonl(draw(ELSEWHERE, session="S3"))})
        running(shop, session_path("S2").rpartition("/")[2].removesuffix(".jsonl"))
        write_home(shop, {session_path("S2"): jsonl(draw(CLEARED, session="S2"))})
        follow.wait_for("certainly")
        assert "about something else" in follow.text
        assert "in another terminal" not in follow.text


def test_there_is_nothing_to_follow_without_chats(tmp_path: Path) -> None:
    done = run_command("follow", "--home", tmp_path / "claude")
    assert done.returncode == 3
    assert str(tmp_path / "claude") in done.stderr


def running(home: Path, session: str) -> None:
    """Say, as Claude Code does, that this process has a session open."""
    folder = home / "sessions"
    folder.mkdir(exist_ok=True)
    (folder / f"{os.getpid()}.json").write_text(
        json.dumps({"pid": os.getpid(), "sessionId": session, "cwd": "/home/ada/shop", "status": "busy"})
    )


def test_status_says_what_runs_and_what_today_cost(shop: Path) -> None:
    session = session_of(shop).stem
    running(shop, session)
    found = json.loads(run_command("status", "--home", shop, "--json").stdout)
    (one,) = found["running"]
    assert (one["session"], one["title"], one["status"], one["process"]) == (session, "Parser", "busy", os.getpid())
    assert found["today"]["messages"] == 0
    assert found["archive"]["sessions"] == 1
    printed = run_command("status", "--home", shop).stdout.splitlines()
    assert [line.split()[0] for line in printed if not line.startswith(" ")] == [
        "Running",
        "Today",
        "Expiring",
        "Archive",
        "Capture",
    ]
    assert printed[1].split()[0] == session[:8]


def test_status_warns_of_what_expires(shop: Path) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
    os.utime(session_of(shop), (old, old))
    done = run_command("status", "--home", shop)
    assert "Expiring  1 session overdue: all archived" in done.stdout
