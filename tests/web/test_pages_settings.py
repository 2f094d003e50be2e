"""Settings and health: what is read, kept and wrong."""

import os
import time
from pathlib import Path

from backscroll import __version__
from tests.library.support import Shelf
from tests.support.homes import EVERYTHING, FAMILIES, session_file, session_path
from tests.web.shown import Viewer

CHAT = "a <- - user: hello\nb <- a assistant(m): hello"


def test_homes_library_archive_and_version_are_shown(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("one", CHAT))
    shelf.update()
    page = Viewer(shelf).get("/settings")
    for told in (str(shelf.home), str(shelf.folder), __version__, "1, with 2 messages", "1 file, 1 session",
                 "Last verified never", "USD per million tokens", "claude-opus-4-5"):  # fmt: skip
        assert told in page.text, told


def test_before_anything_is_read_it_is_a_page_too(tmp_path: Path) -> None:
    text = Viewer(Shelf(tmp_path)).get("/settings").text
    assert "none yet: the first update creates it" in text
    assert "nothing is kept yet" in text


def test_sessions_are_read_only_when_asked_for(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    viewer = Viewer(shelf)
    page = viewer.get("/settings")
    assert "Unknown to this version" not in page.text
    checked = viewer.get(page.link("Check now"))
    for told in ("Claude Code deletes a session", "Problems", "Unknown to this version", "nothing is lost"):
        assert told in checked.text, told


def test_a_healthy_home_is_said_to_be(tmp_path: Path) -> None:
    text = Viewer(Shelf(tmp_path).write(FAMILIES["compacted"])).get("/settings?check=1").text
    assert "This version knows everything in them." in text
    assert "Problems none" in text


def test_what_will_be_deleted_is_listed(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**session_file("one", CHAT), "settings.json": '{"cleanupPeriodDays": 10}'})
    days_ago = time.time() - 8 * 86_400
    os.utime(shelf.home / session_path("one"), (days_ago, days_ago))
    shelf.update()
    page = Viewer(shelf).get("/settings?check=1")
    assert "1 session expiring within 7 days" in page.text
    assert "10 days after its last change (cleanupPeriodDays in settings.json)" in page.text
