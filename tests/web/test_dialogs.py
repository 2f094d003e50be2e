"""The resume and share pages without scripts, and who may open a terminal."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backscroll.files.homes import Home
from backscroll.settings import Settings
from backscroll.web.app import make_app
from backscroll.web.state import ViewerState
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.shown import Viewer

TOKEN = "ghp_" + "a1B2" * 9
FORKED = f"""
@ session=S1 cwd=$FOLDER time=2026-01-05T10:00
a <- - user: Draw a logo with {TOKEN}
b <- a assistant(m1): Here is a circle.
c <- b user: Make it blue
d <- c assistant(m2): It is blue.
@ time=2026-01-05T11:00
e <- b user: Make it red
f <- e assistant(m3): It is red.
custom-title: The logo
"""
ADDRESS = f"/chats/{session_uuid('S1')}"


class OwnViewer(Viewer):
    """A viewer whose user has a terminal, and a client."""

    def __init__(self, shelf: Shelf, settings: Settings) -> None:
        super().__init__(shelf)
        self._app = make_app(ViewerState(settings, [Home(shelf.home)]))


@pytest.fixture
def viewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnViewer:
    for name in ("claude", "terminal"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/$(basename $0).said\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(FORKED.replace("$FOLDER", str(tmp_path))))})
    shelf.update()
    return OwnViewer(shelf, replace(shelf.settings, terminal=(str(tmp_path / "terminal"), "-e")))


def test_resume_has_the_command_the_folder_and_a_terminal(viewer: OwnViewer, tmp_path: Path) -> None:
    page = viewer.get(f"{ADDRESS}/resume")
    copied = [button["data-copy"] for button in page.all("button") if "data-copy" in button]
    home = f"CLAUDE_CONFIG_DIR={tmp_path / 'home'}"
    assert copied == [f"cd {tmp_path} && {home} claude --resume {session_uuid('S1')}", str(tmp_path)]
    assert "Open a terminal" in page.text
    assert "was rewound" not in page.text


def test_of_a_rewound_branch_it_is_said_where_the_session_goes_on(viewer: OwnViewer) -> None:
    text = viewer.get(f"{ADDRESS}/resume?branch=2").text
    assert "Branch 2 was rewound. Claude Code resumes this session on branch 1" in text


def test_what_cannot_be_resumed_has_a_next_step(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(FORKED.replace("$FOLDER", "/gone")))})
    shelf.update()
    assert "the folder /gone is gone" in Viewer(shelf).get(f"{ADDRESS}/resume").text
    (shelf.home / session_path("S1")).unlink()
    shelf.update()
    assert "backscroll resume 8f006c6f restores it" in Viewer(shelf).get(f"{ADDRESS}/resume").text


def test_a_terminal_opens_for_our_own_page(viewer: OwnViewer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "terminal.said")
    viewer.post(f"{ADDRESS}/terminal", 204, branch="1")
    said = (tmp_path / "terminal.said").read_text()  # waits for the terminal
    assert said.startswith(f"-e {sys.executable} -P -m backscroll resume {session_uuid('S1')} --run --library ")


@pytest.mark.parametrize(
    ("headers", "client", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, "127.0.0.1", 403),
        ({"origin": "http://evil.example"}, "127.0.0.1", 403),
        ({}, "192.168.1.7", 400),
        ({}, "", 400),
    ],
)
def test_nobody_else_opens_a_terminal(
    viewer: OwnViewer, tmp_path: Path, headers: dict[str, str], client: str, status: int
) -> None:
    assert viewer.ask("POST", f"{ADDRESS}/terminal", b"branch=1", headers=headers, client=client).status == status
    assert not (tmp_path / "terminal.said").exists()
    assert viewer.ask("GET", f"{ADDRESS}/terminal").status == 405


def test_from_another_machine_no_terminal_is_offered(viewer: OwnViewer) -> None:
    assert "Open a terminal" not in viewer.ask("GET", f"{ADDRESS}/resume", client="192.168.1.7").text


def test_share_says_what_is_masked_and_what_the_file_is_called(viewer: OwnViewer) -> None:
    page = viewer.get(f"{ADDRESS}/share?branch=2")
    assert "2026-01-05 the-logo.html" in page.text
    assert "1 secret will be masked : github-token 1" in page.text
    assert TOKEN not in page.text
    assert [one["value"] for one in page.all("input") if "checked" in one] == ["html"]
    assert f"{ADDRESS}/export" in [form.get("action") for form in page.all("form")]


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("format=md", "2026-01-05 the-logo.md"),
        ("format=jsonl", "1 secret will be masked : github-token 1"),
        ("unmasked=1", "1 secret will be readable : github-token 1"),
    ],
)
def test_what_is_masked_follows_the_choice(viewer: OwnViewer, choice: str, told: str) -> None:
    assert told in viewer.get(f"{ADDRESS}/share/masks?{choice}").text


def test_a_dialog_gets_its_contents_only(viewer: OwnViewer) -> None:
    for name in ("resume", "share"):
        shown = viewer.ask("GET", f"{ADDRESS}/{name}?fragment=1").text
        assert shown.startswith("<h2>")
        assert "<main" not in shown
