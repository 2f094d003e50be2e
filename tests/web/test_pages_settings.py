"""Settings and health: what is read, kept and wrong."""

import os
import time
from pathlib import Path

from backscroll import __version__
from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import session_key
from backscroll.library.archives import archive_folder
from backscroll.library.forget_requests import ForgetRequests
from backscroll.library.syncing.remote_settings import RemoteSettings, find_remote, write_remote
from backscroll.library.syncing.sync import sync
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import EVERYTHING, FAMILIES, session_file, session_path
from tests.support.processes import until
from tests.web.shown import Viewer

PATIENCE = 120.0
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


def synced(tmp_path: Path) -> Shelf:
    """A shelf with a remote to which it has sent everything."""
    shelf = Shelf(tmp_path).write(session_file("one", CHAT))
    shelf.update()
    write_remote(shelf.settings, RemoteSettings(name="nas", url=str(tmp_path / "nas")))
    sync(shelf.settings, find_remote(shelf.settings, "nas"))
    return shelf


def test_without_a_remote_the_page_says_how_to_add_one(tmp_path: Path) -> None:
    assert "backscroll sync add nas" in Viewer(Shelf(tmp_path)).get("/settings").text


def test_remotes_machines_and_what_waits_are_shown(tmp_path: Path) -> None:
    shelf = synced(tmp_path)
    viewer = Viewer(shelf)
    text = viewer.get("/settings").text
    for told in (str(tmp_path / "nas"), shelf.machine.id, "this machine", "Waiting nothing", "sync verify nas"):
        assert told in text, told
    shelf.write(session_file("two", CHAT))
    shelf.update()
    assert "to be sent" in viewer.get("/settings/sync").text


def test_a_remote_is_paused_and_resumed(tmp_path: Path) -> None:
    shelf = synced(tmp_path)
    viewer = Viewer(shelf)
    viewer.post("/settings/sync", 303, action="pause", remote="nas")
    assert find_remote(shelf.settings, "nas").is_paused
    page = viewer.get("/settings/sync")
    assert "paused" in page.text
    assert "Sync now" not in page.text
    viewer.post("/settings/sync", 303, action="resume", remote="nas")
    assert not find_remote(shelf.settings, "nas").is_paused
    viewer.post("/settings/sync", 404, action="pause", remote="other")
    viewer.post("/settings/sync", 400, action="explode")


def test_a_sync_is_started_and_its_problem_is_shown(tmp_path: Path) -> None:
    shelf = synced(tmp_path)
    viewer = Viewer(shelf)
    (tmp_path / "nas").rename(tmp_path / "away")
    assert viewer.post("/settings/sync", 303, action="sync") == "/settings?started=1#sync"
    until(lambda: "is not there" in viewer.get("/settings/sync").text)
    (tmp_path / "away").rename(tmp_path / "nas")
    until(
        lambda: "is not there" not in viewer.get("/settings/sync").text,
        again=lambda: viewer.post("/settings/sync", 303, action="sync"),
    )


def asked(tmp_path: Path) -> Shelf:
    """A shelf of which another machine asks to forget two of three chats."""
    shelf = synced(tmp_path).write(session_file("two", "x <- - user: about zirconium"))
    shelf.write(session_file("three", "y <- - user: about <b>hafnium</b>")).update()
    keys = [session_key(session_uuid(name)) for name in ("two", "three")]
    ForgetRequests(shelf.settings).add("desktop", "desk<b>top", "", keys)
    shelf.update()
    return shelf


def test_what_another_machine_asks_to_forget_is_listed_and_kept(tmp_path: Path) -> None:
    shelf = asked(tmp_path)
    viewer = Viewer(shelf)
    assert "desk<b>top asks to forget 2 chats, hidden until you answer" in viewer.get("/chats").text
    assert "zirconium" not in viewer.get("/chats").text
    viewer.get(f"/chats/{session_uuid('two')}", 404)
    text = viewer.get("/settings").text
    for told in ("desk<b>top asks to forget 2 chats", "about zirconium", "about <b>hafnium</b>", "Forget for good"):
        assert told in text, told
    viewer.post("/settings/forgets", 400, chat=session_uuid("two"), answer="perhaps")
    viewer.post("/settings/forgets", 404, chat="other", answer="refuse")
    viewer.post("/settings/forgets", 303, chat=session_uuid("two"), answer="refuse")
    assert "zirconium" not in viewer.get("/settings").text
    shelf.update()
    assert "zirconium" in Viewer(shelf).get("/chats").text


def test_what_another_machine_asks_to_forget_is_forgotten(tmp_path: Path) -> None:
    shelf = asked(tmp_path)
    viewer = Viewer(shelf)
    viewer.post("/settings/forgets", 303, chat="all", answer="agree")
    assert "asks to forget" not in viewer.get("/settings").text
    folder = archive_folder(shelf.settings)
    until(lambda: len([file for file in Archive(folder).files.values() if file.type == "session"]) == 1)
    assert "asks to forget" not in viewer.get("/chats").text
