"""Long results go to the pager, and only these, and only on a terminal."""

import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.command import run_command
from tests.support.homes import session_file, write_home

CHATS = 70
CHAT = """
@ cwd=/home/ada/shop version=2.1.42
a{0} <- - user: fix the parser number {0}
b{0} <- a{0} assistant: the parser is fixed, again, in {0}
"""


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    folder = tmp_path_factory.mktemp("paging")
    sessions: dict[str, bytes] = {}
    for number in range(CHATS):
        sessions |= session_file(f"S{number}", CHAT.format(number))
    home = write_home(folder / "claude", sessions)
    options: list[object] = ["--home", home, "--library", folder / "library"]
    assert run_command(*options, "update").returncode == 0
    return options


class Pager:
    """A pager that writes what it is given to a file."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "copy"
        script = folder / "pager"
        script.write_text(f'#!/bin/sh\necho "$LESS" > {folder}/less\ncat > {self.copy}\n')
        script.chmod(0o755)
        self.less = folder / "less"
        self.command = str(script)

    def run(self, *arguments: object, columns: int | None = 100, **more: str) -> CompletedProcess[str]:
        environment = {**os.environ, "TERM": "xterm", "PAGER": self.command, **more}
        environment.pop("LESS", None)
        return run_command(*arguments, environment=environment, columns=columns)

    @property
    def lines(self) -> list[str] | None:
        return self.copy.read_text().splitlines() if self.copy.exists() else None


@pytest.fixture
def pager(tmp_path: Path) -> Pager:
    return Pager(tmp_path)


def test_a_long_list_goes_to_the_pager_newest_first(options: list[object], pager: Pager) -> None:
    done = pager.run(*options, "list")
    assert done.returncode == 0
    assert pager.lines is not None
    assert len(pager.lines) == CHATS + 1
    assert "LAST ACTIVE" in pager.lines[0]
    assert pager.less.read_text() == "FRX\n"
    assert "parser" not in done.stdout


def test_a_search_pages_through_all_results(options: list[object], pager: Pager) -> None:
    assert pager.run(*options, "search", "parser").returncode == 0
    assert pager.lines is not None
    assert sum("matches" in line or "1 match" in line for line in pager.lines) == CHATS


def test_a_page_of_a_search_is_what_the_user_asked_for(options: list[object], pager: Pager) -> None:
    done = pager.run(*options, "search", "parser", "-n", "2")
    assert pager.lines is None
    assert f"{CHATS - 2} more chats: --offset 2" in done.stdout


@pytest.mark.parametrize("arguments", [["list", "--no-pager"], ["list", "-n", "3"], ["--no-pager", "list"]])
def test_there_is_no_pager_where_none_is_wanted_or_needed(
    options: list[object], pager: Pager, arguments: list[str]
) -> None:
    done = pager.run(*options, *arguments)
    assert pager.lines is None
    assert "LAST ACTIVE" in done.stdout


def test_a_pipe_gets_everything_without_a_pager(options: list[object], pager: Pager) -> None:
    done = pager.run(*options, "list", columns=None)
    assert pager.lines is None
    assert len(done.stdout.splitlines()) == CHATS + 1


@pytest.mark.parametrize(("written", "pages"), [("pager = false", False), ('pager = ""', False), ("", True)])
def test_the_settings_turn_the_pager_off(
    options: list[object], pager: Pager, tmp_path: Path, written: str, pages: bool
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(written)
    pager.run(*options, "list", BACKSCROLL_SETTINGS=str(file))
    assert (pager.lines is not None) is pages


def test_a_pager_that_does_not_exist_is_no_failure(options: list[object], pager: Pager) -> None:
    done = pager.run(*options, "list", PAGER="/does/not/exist")
    assert done.returncode == 0
    assert "LAST ACTIVE" in done.stdout


def test_a_pager_that_ends_early_is_no_failure(options: list[object], pager: Pager) -> None:
    done = pager.run(*options, "search", "parser", PAGER="true")
    assert (done.returncode, "Traceback" in done.stdout) == (0, False)
