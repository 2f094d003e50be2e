import errno
import os
import shutil
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from backscroll.disk import (
    FileLock,
    UnusableFileError,
    open_own,
    open_private,
    private_folder,
    read_own,
    temporary_folder,
    write_private,
)
from backscroll.errors import Busy, DiskFull, NoPermission, StorageError, TooManyOpenFiles, storage_error

HOLD = (
    "import sys, fcntl; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    folder.mkdir(mode=0o755)
    private_folder(folder)
    assert mode(folder) == 0o700
    assert mode(private_folder(tmp_path / "a" / "b")) == 0o700


def test_a_file_is_replaced_as_a_whole_and_private(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    write_private(file, b"one")
    write_private(file, b"two")
    assert file.read_bytes() == b"two"
    assert mode(file) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    (tmp_path / "lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic"):
        open_private(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    (tmp_path / "file.new").symlink_to(target)
    write_private(tmp_path / "file", b"new")
    assert target.read_bytes() == b"precious"


def test_what_is_no_file_is_neither_waited_for_nor_read_without_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("fifo", "device"):
        with pytest.raises(UnusableFileError, match="not a regular file"):
            open_own(tmp_path / name)
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(UnusableFileError, match="not a regular file"):
            open_private(tmp_path / "fifo", flags)


def test_a_lock_that_another_process_holds_is_given_up_after_its_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Busy, match="taken"):
            FileLock(path, "taken", "wait")
        with pytest.raises(Busy, match="taken"):
            FileLock(path, "taken", "wait", wait=0.1)
        holder.communicate()
    with FileLock(path, "taken", "wait"):
        assert mode(path) == 0o600


@pytest.mark.parametrize(
    ("name", "kind"),
    [("ENOSPC", DiskFull), ("EMFILE", TooManyOpenFiles), ("EROFS", NoPermission), ("EIO", StorageError)],
)
def test_system_errors_are_distinguished(name: str, kind: type[StorageError]) -> None:
    number = getattr(__import__("errno"), name)
    found = storage_error(OSError(number, os.strerror(number), "/x"), "cannot write the backup")
    assert type(found) is kind
    assert found.message.startswith("cannot write the backup: ")
    assert found.hint


def test_reading_a_small_file_asks_for_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    file.write_bytes(b"one")
    tracemalloc.start()
    try:
        assert read_own(file) == b"one"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    with pytest.raises(UnusableFileError, match="larger than 2 bytes"):
        read_own(file, largest=2)
    assert read_own(file, largest=3) == b"one"


def test_a_temporary_folder_that_may_not_be_looked_at_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **_named: object) -> None:
        raise PermissionError(errno.EACCES, "refused")

    with pytest.raises(PermissionError), temporary_folder() as folder:
        (folder / "file").write_text("x", encoding="utf-8")
        monkeypatch.setattr(os, "lstat", refuse)
        monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.undo()
    assert folder.exists()
    shutil.rmtree(folder)
    with temporary_folder() as folder:
        (folder / "file").write_text("x", encoding="utf-8")
    assert not folder.exists()
