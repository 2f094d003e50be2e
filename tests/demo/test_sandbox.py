"""The demo's folder: its contents, and its removal."""

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from backscroll.demo.sandbox import Sandbox, open_sandbox
from backscroll.library.homes import open_homes
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import load_settings

NOW = datetime.now().astimezone()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary files go here, and none is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def open_library() -> Library:
    settings = load_settings()
    return local_library(settings, open_homes(settings))


def newest_day(room: Sandbox) -> date:
    rows = [json.loads(line) for path in room.home.glob("projects/*/*.jsonl") for line in path.read_text().splitlines()]
    return max(datetime.fromisoformat(row["timestamp"]) for row in rows if "timestamp" in row).date()


@pytest.mark.parametrize("today", ["2026-11-15", "2027-03-01", "2028-02-29", "2031-01-01", "2026-01-01"])
def test_the_newest_session_was_yesterday(today: str) -> None:
    now = datetime.fromisoformat(f"{today}T12:00:00Z")
    with open_sandbox(now) as room:
        assert newest_day(room) == now.date() - timedelta(days=1)
        for path in room.home.glob("projects/*/*.jsonl"):
            assert path.stat().st_mtime < now.timestamp()


def test_a_session_is_as_old_as_its_last_row() -> None:
    with open_sandbox(NOW) as room:
        for path in room.home.glob("projects/*/*.jsonl"):
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            last = max(datetime.fromisoformat(row["timestamp"]) for row in rows if "timestamp" in row)
            assert datetime.fromtimestamp(path.stat().st_mtime, UTC) >= last


def test_what_claude_code_deleted_is_found_in_the_archive_only() -> None:
    with open_sandbox(NOW) as room, open_library() as library:
        library.update()
        assert room.sample.deleted
        archived = {session for chat in library.chats() if chat.archived for session in chat.overview.sessions}
        for relative in room.sample.deleted:
            assert not (room.home / relative).exists()
        assert {Path(name).stem for name in room.sample.deleted if name.count("/") == 2} <= archived


def test_the_live_session_is_not_there_yet() -> None:
    with open_sandbox(NOW) as room, open_library() as library:
        library.update()
        assert not room.live.exists()
        assert room.script.stat().st_size > 0
        assert room.live.stem not in {session for chat in library.chats() for session in chat.overview.sessions}


def test_only_the_user_can_enter_and_the_environment_leads_there_and_back() -> None:
    before = dict(os.environ)
    with open_sandbox(NOW) as room:
        assert stat.S_IMODE(room.folder.stat().st_mode) == 0o700
        settings = load_settings()
        assert settings.library == room.folder / "library"
        assert settings.file == room.folder / "settings.toml"
        assert [home.path for home in open_homes(settings)] == [room.home]
    assert dict(os.environ) == before
    assert not room.folder.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError, MemoryError])
def test_it_is_always_removed(error: type[BaseException]) -> None:
    with pytest.raises(error), open_sandbox(NOW):
        raise error


def test_a_sample_that_cannot_be_read_leaves_nothing_behind(temporary: Path) -> None:
    damaged = temporary / "damaged.tar.xz"
    damaged.write_bytes(b"no archive")
    try:
        with pytest.raises(Exception, match="could not be opened"), open_sandbox(NOW, damaged):
            pass
    finally:
        damaged.unlink()


def test_a_folder_that_was_left_behind_is_removed_and_one_in_use_is_not(temporary: Path) -> None:
    left = temporary / "backscroll-demo-left"
    (left / "home").mkdir(parents=True)
    with open_sandbox(NOW) as first, open_sandbox(NOW) as second:
        assert not left.exists()
        assert first.folder.exists()
        assert second.folder.exists()


def test_a_link_in_its_place_is_neither_followed_nor_removed(
    temporary: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").write_text("mine")
    link = temporary / "backscroll-demo-link"
    link.symlink_to(elsewhere)
    with open_sandbox(NOW):
        pass
    assert link.is_symlink()
    assert (elsewhere / "precious").read_text() == "mine"
    link.unlink()
