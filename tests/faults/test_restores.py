"""A chat is put back into a home, or a backup into a library, and the disk fails, or the process is killed."""

import errno
import os
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.restore import restore
from backscroll.disk import LEFT_SECONDS, UNFINISHED
from backscroll.errors import BackscrollError
from backscroll.library.archives import archive_folder, restore_sign
from backscroll.library.keeping.backup import back_up, restore_backup
from backscroll.settings import Settings
from tests.archive.support import KeptHome, contents
from tests.faults.disk import ERRORS, PowerCut, failing_disk
from tests.support.command import run_command
from tests.support.samples import numbers

ONE = b'{"a":1}\n' * 50
TWO = b'{"b":2}\n' * 70


def deleted(root: Path) -> KeptHome:
    """Two sessions that Claude Code has deleted."""
    kept = KeptHome(root)
    kept.write(a=ONE, b=TWO).capture()
    for name in "ab":
        kept.session(name).unlink()
    kept.capture()
    return kept


def put_back(kept: KeptHome) -> set[str]:
    archive = kept.archive
    return {done.outcome for done in restore(archive, archive.files.values(), kept.home, fresh=True)}


def check_home(kept: KeptHome) -> None:
    """Each session is there as a whole, or not at all."""
    for name, data in (("a", ONE), ("b", TWO)):
        assert not kept.session(name).exists() or kept.session(name).read_bytes() == data


def test_a_chat_that_is_put_back_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    for points in numbers():
        kept = deleted(tmp_path / str(points))
        with failing_disk(kept.home, points, PowerCut) as disk:
            try:
                put_back(kept)
                break
            except PowerCut:
                pass
        check_home(kept)
        assert put_back(kept) <= {"restored", "already there"}
        assert {kept.session(name).read_bytes() for name in "ab"} == {ONE, TWO}
    assert {"open", "fsync", "link"} <= set(disk.calls)


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_while_a_chat_is_put_back_is_said_and_leaves_nothing(tmp_path: Path, error: str) -> None:
    for points in numbers(list(ERRORS).index(error)):
        kept = deleted(tmp_path / str(points))
        with failing_disk(kept.home, points, lambda: OSError(ERRORS[error], error)) as disk:
            try:
                put_back(kept)
            except OSError as failure:
                assert failure.errno == ERRORS[error]
            else:
                assert len(disk.calls) < points or disk.calls[points - 1] == "mkdir"
        check_home(kept)
        if len(disk.calls) < points:
            break
        if disk.calls[points - 1] != "unlink":
            assert not list(kept.home.rglob(f"{UNFINISHED}*"))
        put_back(kept)
        assert {kept.session(name).read_bytes() for name in "ab"} == {ONE, TWO}


def test_what_a_killed_restore_has_left_is_removed_by_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = deleted(tmp_path)
    left = kept.session("a").with_name(f"{UNFINISHED}left")
    left.write_bytes(ONE[:20])
    put_back(kept)
    assert left.exists(), "another process may be writing it right now"
    kept.session("a").unlink()
    changed = left.lstat().st_ctime
    monkeypatch.setattr("backscroll.disk.time.time", lambda: changed + LEFT_SECONDS + 1)
    put_back(kept)
    assert not left.exists()


def test_a_disk_without_links_has_restored_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAT, for example."""

    def link(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    kept = deleted(tmp_path)
    monkeypatch.setattr(os, "link", link)
    assert put_back(kept) == {"restored"}
    assert {kept.session(name).read_bytes() for name in "ab"} == {ONE, TWO}
    assert not list(kept.home.rglob(f"{UNFINISHED}*"))
    kept.session("a").write_bytes(b"newer\n")
    assert put_back(kept) == {"already there", "another file is there"}
    assert kept.session("a").read_bytes() == b"newer\n"


def library(root: Path, name: str) -> Settings:
    return Settings(homes=(), library=root / name, file=root / "settings.toml")


@pytest.mark.parametrize("loses", [False, True], ids=["all written", "only the flushed written"])
def test_a_backup_that_was_restored_in_part_is_said_and_continued(tmp_path: Path, loses: bool) -> None:
    old = library(tmp_path, "old")
    kept = KeptHome(tmp_path)
    kept.folder = archive_folder(old)
    kept.write(a=ONE, b=TWO).capture()
    (old.library / "marks.json").write_text('{"chats": {}}')
    back_up(old, tmp_path / "backup")
    parts = 0
    for points in numbers(loses):
        new = library(tmp_path, f"new {points}")
        new.library.mkdir()
        with failing_disk(new.library, points, PowerCut) as disk:
            try:
                restore_backup(new, tmp_path / "backup")
                break
            except PowerCut:
                pass
        if loses:
            disk.lose_what_was_not_flushed()
        is_part = restore_sign(new).exists()
        if is_part:
            parts += 1
            said = run_command("archive", "status", "--library", new.library, "--home", kept.home).stderr
            assert "only in part: run backscroll archive restore-backup DIR again" in said
            (new.library / "marks.json").write_text('{"chats": {"mine": {}}}')
        check_restored(new, tmp_path / "backup")
        assert ("mine" in (new.library / "marks.json").read_text()) == is_part, "what the user said since is kept"
    assert parts > 1
    assert {"open", "write", "fsync", "unlink"} <= set(disk.calls)
    assert not restore_sign(new).exists()


def check_restored(new: Settings, backup: Path) -> None:
    """The next attempt makes it whole, unless it was whole before."""
    try:
        restore_backup(new, backup)
    except BackscrollError as error:
        assert "already has an archive" in error.message
    archive = Archive(archive_folder(new))
    assert sorted(data for file in archive.files.values() for data in contents(archive, file)) == sorted([ONE, TWO])
    assert not restore_sign(new).exists()
    assert (new.library / "marks.json").exists()
