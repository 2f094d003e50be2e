"""On a machine without Claude Code history: README's first command answers, and every command says what to do."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.demo.support import DemoMachine
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

LIBRARY = ".local/share/backscroll"


@pytest.fixture(scope="module")
def word(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A word that is said in the sample."""
    chats = DemoMachine(tmp_path_factory.mktemp("machine")).answer("--demo", "list")["chats"]
    words: list[str] = re.findall("[a-z]+", " ".join(chat["title"] for chat in chats))
    return max(words, key=len)


def only_an_empty_library(machine: DemoMachine) -> bool:
    """Whether the user's home has nothing but a library, and that has nothing of the demo."""
    is_elsewhere = [name for name in machine.files if not Path(name).is_relative_to(machine.home / LIBRARY)]
    has_sample = [name for name, content in machine.files.items() if b"/home/ada" in content]
    return not is_elsewhere and not has_sample and machine.run("list").returncode == 3


def make_empty_home(machine: DemoMachine) -> None:
    (machine.home / ".claude" / "projects").mkdir(parents=True)


@pytest.mark.parametrize("has_home", [False, True])
def test_a_search_is_answered_from_the_sample_and_says_so_in_one_line(
    machine: DemoMachine, word: str, has_home: bool
) -> None:
    if has_home:
        make_empty_home(machine)
    done = machine.run("search", word)
    assert done.returncode == 0, done.stderr
    assert word in done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert str(machine.home / ".claude") in done.stderr
    assert "sample conversations" in done.stderr
    assert "--home" in done.stderr
    assert not list(machine.temporary.iterdir())
    assert only_an_empty_library(machine)


def test_a_search_that_the_sample_cannot_answer_says_that_there_is_no_history(machine: DemoMachine) -> None:
    done = machine.run("search", "zebrafish")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("backscroll: no Claude Code home at")
    assert not list(machine.temporary.iterdir())


@pytest.mark.parametrize("option", ["--json", "--quiet", "--save=x"])
def test_a_program_never_gets_the_sample(machine: DemoMachine, word: str, option: str) -> None:
    done = machine.run("search", word, option)
    assert done.returncode == 3
    assert word not in done.stdout
    assert "no Claude Code home at" in done.stderr


def test_a_home_that_was_named_is_the_one_that_is_meant(machine: DemoMachine, word: str, tmp_path: Path) -> None:
    (tmp_path / "other" / "projects").mkdir(parents=True)
    done = machine.run("search", word, "--home", tmp_path / "other")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"no sessions yet in {tmp_path / 'other'}" in done.stderr


def test_with_history_of_ones_own_nothing_comes_from_the_sample(machine: DemoMachine, word: str) -> None:
    write_home(machine.home / ".claude", {session_path("S1"): jsonl(draw("a <- - user: hello there"))})
    assert "hello there" in machine.run("search", "hello").stdout
    done = machine.run("search", word)
    assert (done.returncode, done.stdout) == (3, "")
    assert "sample" not in done.stderr


def test_history_that_only_the_archive_has_counts(machine: DemoMachine, word: str) -> None:
    home = write_home(machine.home / ".claude", {session_path("S1"): jsonl(draw("a <- - user: hello there"))})
    assert machine.run("keep").returncode == 0
    (home / session_path("S1")).unlink()
    assert "hello there" in machine.run("search", "hello").stdout
    done = machine.run("search", word)
    assert (done.returncode, done.stdout) == (3, "")
    assert "demo" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("list", 3),
        ("show 4f8c", 3),
        ("tree 4f8c", 3),
        ("export 4f8c", 3),
        ("resume 4f8c", 3),
        ("pin 4f8c", 3),
        ("recall words", 3),
        ("blame app.py", 3),
        ("file app.py", 3),
        ("doctor", 3),
        ("keep", 3),
        ("update", 3),
        ("archive status", 3),
        ("archive verify", 3),
        ("install hooks --yes", 3),
        ("stats usage", 0),
        ("sql 'select 1'", 0),
        ("inspect", 3),
    ],
)
def test_every_command_says_where_it_looked_and_how_to_try_the_demo(
    machine: DemoMachine, arguments: str, code: int
) -> None:
    done = machine.run(*shlex.split(arguments))
    assert done.returncode == code, done.stderr
    assert f"no Claude Code home at {machine.home / '.claude'}" in done.stderr
    for word in ("--home", "CLAUDE_CONFIG_DIR", "settings", "backscroll --demo list", "backscroll demo"):
        assert word in done.stderr
    assert done.stderr.count("backscroll --demo list") == 1
    assert "fewer filters" not in done.stderr


def test_an_empty_home_is_distinguished_from_a_missing_one(machine: DemoMachine) -> None:
    make_empty_home(machine)
    done = machine.run("list")
    assert done.returncode == 3
    assert f"no sessions yet in {machine.home / '.claude'}" in done.stderr


def test_a_missing_named_home_is_reported_with_a_hint_to_the_demo(machine: DemoMachine, tmp_path: Path) -> None:
    done = machine.run("list", "--home", tmp_path / "nowhere")
    assert done.returncode == 3
    assert f"no Claude Code home at {tmp_path / 'nowhere'}" in done.stderr
    assert "backscroll demo" in done.stderr


def test_filters_that_match_nothing_are_still_reported_as_such(machine: DemoMachine) -> None:
    write_home(machine.home / ".claude", {session_path("S1"): jsonl(draw("a <- - user: hello there"))})
    done = machine.run("list", "--project", "elsewhere")
    assert done.returncode == 3
    assert "use fewer filters" in done.stderr


def test_errors_for_programs_are_json(machine: DemoMachine, word: str) -> None:
    for arguments in (("list",), ("search", word)):
        done = machine.run(*arguments, "--json")
        error = json.loads(done.stderr)["error"]
        assert (error["kind"], error["exit_code"], done.returncode) == ("nothing-found", 3, 3)
        assert "backscroll demo" in error["hint"]


def test_commands_that_need_no_history_do_not_mention_it(machine: DemoMachine) -> None:
    for arguments in (("prices",), ("saved",), ("search", "--fields"), ("--help",), ("statusline",)):
        assert "no Claude Code home" not in machine.run(*arguments).stderr
