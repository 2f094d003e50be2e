"""Which session continues a branch, and the terminal that resumes it: nothing of a transcript is run unchecked."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, UsageError
from backscroll.files.names import project_folder
from backscroll.library.chats.resume import Resume, obstacle, resume_of
from backscroll.library.chats.terminal import MACOS, TERMINALS, find_terminal, open_terminal, words_to_run
from backscroll.settings import Settings, load_settings
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

SESSION = session_uuid("S1")
START = """
a <- - user: Draw a logo
b <- a assistant(m1): Here is a circle.
"""
REWOUND = f"""
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00
{START}
c <- b user: Make it blue
d <- c assistant(m2): It is blue.
@ time=2026-01-05T11:00
e <- b user: Make it red
f <- e assistant(m3): It is red.
"""
FORKED = f"""
@ session=S2 cwd=/home/ada/shop time=2026-01-05T12:00
{START}
g <- b user: Make it green
h <- g assistant(m4): It is green.
"""


def settings(tmp_path: Path, terminal: tuple[str, ...] | None = None) -> Settings:
    return Settings(homes=(), library=tmp_path / "library", file=tmp_path / "settings.toml", terminal=terminal)


def has(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/usr/bin/{name}" if name in names else None


def test_each_branch_is_resumed_by_the_session_that_ends_it(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(REWOUND)), session_path("S2"): jsonl(draw(FORKED))})
    with shelf.open() as library:
        library.update()
        stored = library.find(SESSION)
        branches = library.open(stored).chat.branches
        ends = {
            next(turn.head.row.text for turn in branch.turns[-1:] if turn.head): branch.number for branch in branches
        }
        green, red, blue = (ends[f"Make it {colour}"] for colour in ("green", "red", "blue"))
        there = Resume(SESSION, "/home/ada/shop", red, config=str(shelf.home))
        assert resume_of(library, stored, branch=red) == there
        assert resume_of(library, stored, branch=green) == there._replace(session=session_uuid("S2"), branch=green)
        # It was rewound: no session ends there, and the answer says which branch goes on.
        assert resume_of(library, stored, branch=blue).branch == green
        assert resume_of(library, stored, SESSION).branch == red


def test_a_session_is_resumed_in_the_project_that_its_file_belongs_to(tmp_path: Path) -> None:
    here = tmp_path / "work" / "my-shop"
    here.mkdir(parents=True)
    (tmp_path / "work" / "my" / "other").mkdir(parents=True)
    file = f"projects/{project_folder(str(here))}/{SESSION}.jsonl"
    shelf = Shelf(tmp_path / "shelf").write({file: jsonl(draw(REWOUND))})
    with shelf.open() as library:
        library.update()
        stored = library.find(SESSION)
        assert resume_of(library, stored).folder == str(here)
        (tmp_path / "work" / "my" / "shop").mkdir()  # has the same folder, and is called as the project was
        assert resume_of(library, stored).folder == str(tmp_path / "work" / "my" / "shop")
        shutil.rmtree(tmp_path / "work")
        assert resume_of(library, stored).folder == "/home/ada/shop"  # which is told to be gone


def test_the_line_for_a_shell_is_quoted() -> None:
    assert Resume(SESSION, "/a b/$(rm)").line == f"cd '/a b/$(rm)' && claude --resume {SESSION}"
    other = Resume(SESSION, "/a", is_fork=True, config="/b c")
    assert other.line == f"cd /a && CLAUDE_CONFIG_DIR='/b c' claude --resume {SESSION} --fork-session"


@pytest.mark.parametrize("folder", ["relative", "/no/such/folder", "/tmp\n"])
def test_a_folder_that_is_not_one_is_an_obstacle(folder: str) -> None:
    assert "is gone" in (obstacle(Resume(SESSION, folder)) or "")


def test_the_terminal_of_the_desktop_is_found(tmp_path: Path) -> None:
    own = settings(tmp_path)
    desktop = {"WAYLAND_DISPLAY": "wayland-0"}
    assert find_terminal(own, desktop, "linux", has("konsole", "xterm")) == ("konsole", "-e")
    assert find_terminal(own, {"DISPLAY": ":0"}, "linux", has("xterm")) == ("xterm", "-e")
    assert find_terminal(own, {}, "linux", has("xterm")) is None
    assert find_terminal(own, desktop, "linux", has()) is None
    assert find_terminal(own, {}, "darwin", has("osascript")) == MACOS
    assert find_terminal(own, desktop, "win32", has("xterm")) is None
    assert find_terminal(settings(tmp_path, ("kitty",)), {}, "linux", has("kitty", "xterm")) == ("kitty",)
    assert find_terminal(settings(tmp_path, ()), desktop, "linux", has("xterm")) is None
    assert find_terminal(replace(own, is_demo=True), desktop, "linux", has("xterm")) is None


def test_only_the_id_of_the_session_comes_from_the_transcript(tmp_path: Path) -> None:
    hostile = Resume(SESSION, "/home/ada/$(touch x); rm -rf ~")
    for terminal in (*TERMINALS, MACOS):
        words = words_to_run(terminal, hostile, settings(tmp_path), [tmp_path / "a home"])
        own = shlex.split(words[-1]) if terminal == MACOS else words[len(terminal) :]
        assert own == [
            sys.executable, "-P", "-m", "backscroll", "resume", SESSION, "--run",
            "--library", str(tmp_path / "library"), "--home", str(tmp_path / "a home"),
        ]  # fmt: skip


@pytest.mark.parametrize("session", ["--help", "x; rm -rf ~", "", f"{SESSION}\n", f"{SESSION} "])
def test_an_id_that_is_none_is_refused(tmp_path: Path, session: str) -> None:
    with pytest.raises(UsageError, match="id of this session"):
        words_to_run(("xterm", "-e"), Resume(session, None), settings(tmp_path), [])


def test_a_terminal_is_started_with_every_word_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "terminal"
    lines = ["import json, sys", f"print(json.dumps(sys.argv[1:]), file=open('{tmp_path}/fifo', 'w'))"]
    program.write_text("\n".join([f"#!{sys.executable}", *lines]))
    claude = tmp_path / "claude"
    claude.write_text("#!/bin/sh\n")
    for path in (program, claude):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    os.mkfifo(tmp_path / "fifo")
    own = settings(tmp_path, (str(program), "--title", "a b"))
    open_terminal(Resume(SESSION, str(tmp_path)), own, [])
    with (tmp_path / "fifo").open() as told:  # waits for the terminal
        words = json.loads(told.read())
    assert words[:2] == ["--title", "a b"]
    assert words[2:] == words_to_run((), Resume(SESSION, None), own, [])


def test_where_there_is_none_the_next_step_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no terminal"):
        open_terminal(Resume(SESSION, str(tmp_path)), settings(tmp_path, ()), [])
    with pytest.raises(BackscrollError, match="is gone"):
        open_terminal(Resume(SESSION, "/no/such"), settings(tmp_path, (sys.executable,)), [])


@pytest.mark.parametrize(
    ("written", "terminal"),
    [
        ('terminal = "wezterm start --"', ("wezterm", "start", "--")),
        ('terminal = ["my terminal", "-e"]', ("my terminal", "-e")),
        ('terminal = ""', ()),
        ('require_key = "never"', None),
    ],
)
def test_a_setting_names_the_terminal(tmp_path: Path, written: str, terminal: tuple[str, ...] | None) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"[web]\n{written}\n")
    assert load_settings(environment={"BACKSCROLL_SETTINGS": str(file)}).terminal == terminal


@pytest.mark.parametrize("written", ["terminal = 3", "terminal = [1]", 'terminal = "a \'b"'])
def test_a_setting_that_is_no_command_is_an_error(tmp_path: Path, written: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"[web]\n{written}\n")
    with pytest.raises(UsageError, match="terminal"):
        load_settings(environment={"BACKSCROLL_SETTINGS": str(file)})
