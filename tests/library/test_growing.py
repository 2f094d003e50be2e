"""Which sessions are live: those that a client has open, and those whose files were written a moment ago."""

import os
import time
from pathlib import Path

import pytest

from backscroll.library.growing import LIVE_SECONDS
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path
from tests.web.shown import Viewer


def shelf_with(tmp_path: Path, seconds_ago: dict[str, float]) -> Shelf:
    """A library of one session for each name, written so many seconds ago."""
    shelf = Shelf(tmp_path)
    for name, ago in seconds_ago.items():
        shelf.write(session_file(name, f"{name}-a <- - user: hello\n{name}-b <- {name}-a assistant({name}-m): hello"))
        when = time.time() - ago
        os.utime(shelf.home / session_path(name), (when, when))
    shelf.update()
    return shelf


def live(shelf: Shelf) -> set[str]:
    with shelf.open() as library:
        return {chat.overview.id for chat in library.chats("is:live")}


def test_a_file_that_was_written_a_moment_ago_is_live(tmp_path: Path) -> None:
    shelf = shelf_with(tmp_path, {"now": 1, "old": LIVE_SECONDS + 60, "future": -86_400})
    assert live(shelf) == {session_uuid("now")}


def test_a_session_whose_agent_writes_is_live(tmp_path: Path) -> None:
    shelf = shelf_with(tmp_path, {"one": 3600, "two": 3600})
    agent = shelf.home / session_path("one").removesuffix(".jsonl") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(b"")
    assert live(shelf) == {session_uuid("one")}


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_no_link_is_followed(tmp_path: Path) -> None:
    shelf = shelf_with(tmp_path, {"old": 3600})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{session_uuid('old')}.jsonl").write_bytes(b"")
    (shelf.home / "projects" / "linked").symlink_to(elsewhere)
    assert live(shelf) == set()


def test_the_viewer_and_a_command_agree_on_what_was_written_before_the_viewer_started(tmp_path: Path) -> None:
    shelf = shelf_with(tmp_path, {"now": 1, "old": LIVE_SECONDS + 60})
    page = Viewer(shelf).get("/chats?q=is:live")
    assert page.hrefs("/chats/") == [f"/chats/{one}" for one in live(shelf)]
    assert page.hrefs("/chats/") == [f"/chats/{session_uuid('now')}"]
