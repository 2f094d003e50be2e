"""The homes of Claude's desktop app: found without settings, read only after a yes, and not any more after a no."""

import json
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command, run_in_terminal
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

OWN = "a <- - user: fix the parser\nb <- a assistant: done"
COWORK = "{0}c <- - user: sort my receipts\n{0}d <- {0}c assistant: sorted"


class Desk:
    """A user with a home, the desktop app, and a library."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "CLAUDE_CONFIG_DIR"},
            "HOME": str(root),
            "XDG_CONFIG_HOME": str(root / ".config"),
            "XDG_DATA_HOME": str(root / "data"),
            "XDG_CACHE_HOME": str(root / "cache"),
            "BACKSCROLL_SETTINGS": str(root / "settings.toml"),
        }
        self.app = root / ".config" / "Claude"
        self.settings = root / "settings.toml"
        write_home(root / ".claude", {session_path("S1"): jsonl(draw(OWN, session="S1", cwd="/home/ada/shop"))})
        self.session("1", "S2")

    def session(self, number: str, name: str) -> Path:
        """Write a session of Cowork; return its home."""
        home = self.app / "local-agent-mode-sessions" / "org" / "account" / f"local_{number}" / ".claude"
        rows = draw(COWORK.format(name), session=name, cwd="/sessions/keen-owl")
        return write_home(home, {session_path(name, "projects/-sessions-keen-owl"): jsonl(rows)})

    def run(self, *arguments: str) -> CompletedProcess[str]:
        return run_command(*arguments, environment=self.environment, cwd=self.root)

    def type(self, typed: str, *arguments: str) -> str:
        done = run_in_terminal(*arguments, cwd=self.root, environment=self.environment, typed=typed)
        assert done.returncode == 0, done.stdout
        return done.stdout.decode()

    def ask(self, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def chats(self) -> set[str]:
        return {chat["id"] for chat in self.ask("list")["chats"]}


S1, S2, S3 = map(session_uuid, ("S1", "S2", "S3"))


class Ear:
    """Hears every file that this process opens below a folder while it listens."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.opened: list[str] = []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.folder is not None and str(arguments[0]).startswith(self.folder):
            self.opened.append(str(arguments[0]))


EAR = Ear()
sys.addaudithook(EAR.hear)  # once: a hook cannot be taken away again


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def opened(desk: Desk) -> Iterator[list[str]]:
    """What is opened in the app's folder."""
    EAR.folder, EAR.opened = str(desk.app), []
    yield EAR.opened
    EAR.folder = None


def test_nothing_is_read_before_the_user_agreed(desk: Desk, opened: list[str]) -> None:
    for command in (["doctor"], ["update"], ["keep"], ["list"], ["search", "receipts"], ["doctor", "--json"]):
        desk.run(*command)
    assert opened == []
    assert desk.chats() == {S1}
    assert not desk.settings.exists()
    desk.run("doctor", "--apps", "read")
    assert desk.chats() == {S1, S2}
    assert opened


def test_doctor_says_where_it_looked_what_it_found_and_how_to_agree(desk: Desk) -> None:
    said = desk.run("doctor").stdout
    assert f"app       {desk.app} (1 home of Cowork, not read)" in said
    assert f"app       {desk.app}-3p (not there)" in said
    assert "to read them: backscroll doctor --apps read" in said
    (place, other) = desk.ask("doctor")["apps"]
    home = str(desk.app / "local-agent-mode-sessions" / "org" / "account" / "local_1" / ".claude")
    assert place == {"path": str(desk.app), "exists": True, "homes": [home], "read": False}
    assert (other["exists"], other["homes"], other["read"]) == (False, [], False)


def test_on_a_terminal_it_asks_and_the_answer_is_a_setting(desk: Desk) -> None:
    desk.settings.write_text("pager = false\n\n[web]\nrequire_key = 'auto'\n")
    said = desk.type("y\n", "doctor")
    assert "Read them? [y/N]" in said
    assert "(1 home of Cowork, read)" in said
    assert "local_1: 1 session" in said
    assert tomllib.loads(desk.settings.read_text()) == {
        "apps": [str(desk.app)],
        "pager": False,
        "web": {"require_key": "auto"},
    }
    assert "Read them?" not in desk.type("", "doctor")
    assert desk.chats() == {S1, S2}


def test_a_no_is_remembered_and_can_be_changed(desk: Desk) -> None:
    desk.type("n\n", "doctor")
    assert tomllib.loads(desk.settings.read_text()) == {"apps": []}
    assert "Read them?" not in desk.type("", "doctor")
    assert desk.chats() == {S1}
    desk.run("doctor", "--apps", "read")
    assert desk.chats() == {S1, S2}


def test_the_agreement_holds_for_later_sessions_and_can_be_taken_back(desk: Desk, opened: list[str]) -> None:
    desk.run("doctor", "--apps", "read")
    desk.session("2", "S3")
    assert desk.chats() == {S1, S2, S3}
    done = desk.run("doctor", "--apps", "ignore")
    assert "not read; backscroll doctor --apps read changes it" in done.stderr
    opened.clear()
    assert desk.chats() == {S1}
    assert opened == []
    assert (desk.settings.read_text().count("apps ="), "[]" in desk.settings.read_text()) == (1, True)


def test_a_request_for_other_homes_is_not_about_the_app(desk: Desk) -> None:
    desk.run("doctor", "--apps", "read")
    named = desk.ask("list", "--home", str(desk.root / ".claude"), "--library", str(desk.root / "other"))
    assert {chat["id"] for chat in named["chats"]} == {S1}
    desk.environment["CLAUDE_CONFIG_DIR"] = str(desk.root / ".claude")
    assert desk.chats() == {S1}
    assert desk.run("doctor", "--apps", "read", "--home", str(desk.root / ".claude")).returncode == 2


def test_hooks_are_not_installed_into_homes_of_the_app(desk: Desk) -> None:
    desk.run("doctor", "--apps", "read")
    shown = desk.ask("install", "hooks", "--yes")
    assert str(desk.app) not in json.dumps(shown)


def test_who_has_only_the_app_is_told_of_it(desk: Desk) -> None:
    (desk.root / ".claude").rename(desk.root / "away")
    done = desk.run("update")
    assert done.returncode == 3
    assert "backscroll doctor asks about the homes of Claude's desktop app" in done.stderr
    desk.run("doctor", "--apps", "read")
    assert desk.chats() == {S2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "apps = ['/elsewhere']\r\npager = false\r\n",
        "# mine\nhomes = [\n  '~/.claude',\n]\n[sync]\nforget = 'ask'\n",
    ],
)
def test_the_rest_of_the_settings_stays_as_it_is(desk: Desk, text: str) -> None:
    desk.settings.write_bytes(text.encode())
    assert desk.run("doctor", "--apps", "read").returncode == 0
    after = desk.settings.read_bytes().decode()
    assert tomllib.loads(after) == {**tomllib.loads(text), "apps": [str(desk.app)]}
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith("apps")]
    assert [line for line in after.splitlines(keepends=True) if line in kept] == kept


def test_a_setting_that_cannot_be_changed_where_it_stands_is_left_alone(desk: Desk) -> None:
    text = "apps = [\n  '/elsewhere',\n]\n"
    desk.settings.write_text(text)
    done = desk.run("doctor", "--apps", "read")
    assert done.returncode == 2
    assert f'write apps = ["{desk.app}"] yourself' in done.stderr
    assert desk.settings.read_text() == text
