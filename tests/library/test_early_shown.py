"""What one sees of conversations from before session files, how they come back, and how they are forgotten."""

import errno
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.merge import merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.errors import NothingFound
from backscroll.files.homes import Home
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.archives import archive_folder
from backscroll.library.chats.resume import resume_of
from backscroll.library.homes import open_homes
from backscroll.library.keeping.forget import forget, forget_everywhere
from backscroll.library.keeping.kept_versions import find_kept
from backscroll.library.keeping.restore import put_back
from backscroll.library.opened_chat import holders_of
from backscroll.settings import load_settings
from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.early import early_uuid, log_of, talk, write_database
from tests.web.shown import Viewer

ZEBRAS: Final = talk("z", "about zebras", "they are striped")
LIONS: Final = talk("l", "about lions", "they sleep")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    write_database(shelf.home / "__store.db", [*ZEBRAS, *LIONS])
    shelf.update()
    return shelf


def link(database: Path, child: str, parent: str) -> None:
    """Let a session go on from another, as a resume does."""
    with closing(sqlite3.connect(database)) as stored, stored:
        stored.execute("UPDATE base_messages SET parent_uuid = ? WHERE uuid = ?", (parent, child))


def test_a_chat_says_that_it_is_from_a_database(shelf: Shelf) -> None:
    with shelf.open() as library:
        assert holders_of(library.open(early_uuid("z")).chat) == ["__store.db"]
    shown = run_command("show", early_uuid("z"), "--home", shelf.home, "--library", shelf.folder)
    assert "from __store.db" in shown.stderr
    assert "they are striped" in shown.stdout


def test_doctor_and_inspect_say_what_is_in_it(shelf: Shelf) -> None:
    doctor = run_command("doctor", "--json", "--home", shelf.home, "--library", shelf.folder)
    (home,) = json.loads(doctor.stdout)["homes"]
    assert home["early_sessions"] == {"__store.db": 2}
    assert home["unreadable"] == []
    inspect = run_command("inspect", "--json", shelf.home / "__store.db", "--library", shelf.folder)
    assert json.loads(inspect.stdout)["types"] == {"user": 2, "assistant": 2}


def test_resume_says_that_it_cannot_and_what_to_do(shelf: Shelf) -> None:
    with (
        shelf.open() as library,
        pytest.raises(NothingFound, match="cannot resume it") as refused,
    ):
        resume_of(library, library.find(early_uuid("z")))
    assert "backscroll resume" in (refused.value.hint or "")
    assert "backscroll show" in (refused.value.hint or "")


def test_a_restored_chat_is_a_session_file_with_all_that_it_continues(shelf: Shelf) -> None:
    link(shelf.home / "__store.db", early_uuid("l 2"), early_uuid("z 1"))
    write_database(shelf.home / "__store.db", talk("l", "and why"), begin=4)
    shelf.update()
    with shelf.open() as library:
        (restored,) = put_back(library, early_uuid("l"), None)
        assert restored.outcome == "restored"
        assert restored.target == shelf.home / "projects/-home-ada-shop" / f"{early_uuid('l')}.jsonl"
        assert [one.outcome for one in put_back(library, early_uuid("l"), None)] == ["already there"]
    rows = [json.loads(line) for line in restored.target.read_text().splitlines()]
    assert [row["uuid"] for row in rows] == [early_uuid(name) for name in ("z 0", "z 1", "l 2", "l 3", "l 4")]
    assert {row["sessionId"] for row in rows} == {early_uuid("l")}
    before = shelf.rows("SELECT sum(input_tokens), count(*) FROM v_usage")
    shelf.update()
    assert shelf.rows("SELECT sum(input_tokens), count(*) FROM v_usage") == before
    with shelf.open() as library:
        (chat,) = library.chats()
        assert resume_of(library, chat).session == early_uuid("l")


def test_a_forgotten_session_leaves_no_byte_and_does_not_come_back(shelf: Shelf) -> None:
    with shelf.open() as library:
        archive = Archive(archive_folder(shelf.settings))
        forget_everywhere(library, find_kept(library, archive, early_uuid("z")))
    archive = Archive(archive_folder(shelf.settings))
    (file,) = archive.files.values()
    kept = b"".join(data for version in file.versions for data in archive.content(version))
    assert b"zebras" not in kept
    assert b"lions" in kept
    write_database(shelf.home / "__store.db", talk("t", "about tigers"), begin=80)
    shelf.update()
    with shelf.open() as library:
        assert sorted(chat.overview.title for chat in library.chats()) == ["about lions", "about tigers"]
    archive = Archive(archive_folder(shelf.settings))
    kept = b"".join(
        data for file in archive.files.values() for version in file.versions for data in archive.content(version)
    )
    assert b"zebras" not in kept
    assert b"tigers" in kept


def test_a_backup_forgets_a_session_inside_a_database_too(shelf: Shelf, tmp_path: Path) -> None:
    for forgets in (False, True):
        with shelf.open() as library:
            archive = Archive(archive_folder(shelf.settings))
            if forgets:
                forget_everywhere(library, find_kept(library, archive, early_uuid("z")))
        with Writer(tmp_path / "backup") as backup:
            merge(Archive(archive_folder(shelf.settings)), backup)
        copy = Archive(tmp_path / "backup")
        (file,) = copy.files.values()
        kept = b"".join(data for version in file.versions for data in copy.content(version))
        assert b"lions" in kept
        assert (b"zebras" in kept) is not forgets


def test_a_forgetting_that_is_cut_off_loses_nothing_and_can_be_repeated(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with shelf.open() as library:
        chat = find_kept(library, Archive(archive_folder(shelf.settings)), early_uuid("z"))
        with monkeypatch.context() as broken:
            broken.setattr("backscroll.archive.rewriting.append", full)
            with pytest.raises(OSError, match="no space"):
                forget(library.settings, chat)
        archive = Archive(archive_folder(shelf.settings))
        assert not verify(archive).damages
        (file,) = archive.files.values()
        kept = b"".join(data for version in file.versions for data in archive.content(version))
        assert b"zebras" in kept
        assert b"lions" in kept
        chat = find_kept(library, archive, early_uuid("z"))
        forget_everywhere(library, chat)
    archive = Archive(archive_folder(shelf.settings))
    (file,) = archive.files.values()
    kept = b"".join(data for version in file.versions for data in archive.content(version))
    assert b"zebras" not in kept
    assert b"lions" in kept


def test_a_setting_names_cache_folders(tmp_path: Path) -> None:
    (tmp_path / "home" / "projects").mkdir(parents=True)
    log = tmp_path / "old" / "-home-ada-shop" / "messages" / "a.json"
    log.parent.mkdir(parents=True)
    log.write_bytes(log_of("m", "about bees", "they hum"))
    file = tmp_path / "settings.toml"
    file.write_text(f"homes = ['{tmp_path / 'home'}']\ncaches = ['{tmp_path / 'old'}', '{tmp_path / 'none'}']\n")
    settings = load_settings(environment={"BACKSCROLL_SETTINGS": str(file)})
    assert open_homes(settings) == [Home(tmp_path / "home"), Home(tmp_path / "old")]
    assert open_homes(settings, with_caches=False) == [Home(tmp_path / "home")]
    doctor = run_command(
        "doctor", "--library", tmp_path / "library", environment={**os.environ, "BACKSCROLL_SETTINGS": str(file)}
    )
    assert f"{tmp_path / 'old'} (logs of the first clients)" in doctor.stdout
    assert f"{tmp_path / 'none'} (no logs of the first clients)" in doctor.stdout
    assert "1  session in -home-ada-shop/messages/a.json, from before session files" in doctor.stdout


def test_what_a_client_says_an_answer_cost_is_its_reported_cost(shelf: Shelf) -> None:
    with shelf.open() as library:
        reported = usage(library, ReportRequest(), by="model").facts["reported"]
    assert isinstance(reported, dict)
    assert (reported["messages"], reported["reported_cost_microdollars"]) == (2, 500_000)


def test_the_page_of_a_chat_says_where_it_is_from(shelf: Shelf) -> None:
    page = Viewer(shelf).get(f"/chats/{early_uuid('z')}")
    assert "from __store.db" in page.text
    assert "they are striped" in page.text
