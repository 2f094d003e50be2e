"""Locks, owners and processes as this system has them, and what is left of them on one that has none."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll import system


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT, 0o600) for _ in range(2))
    assert system.lock(first, wait=False)
    assert not system.lock(second, wait=False)
    os.close(first)
    assert system.lock(second, wait=True)
    os.close(second)


def test_a_process_is_there_until_it_ends() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert system.process_exists(child.pid)
    child.communicate(b"\n")
    assert not system.process_exists(child.pid)
    assert not system.process_exists(2**40)


def test_a_file_is_ours_and_private(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(mode=0o644)
    file.chmod(0o644)
    assert system.is_own(file.stat())
    assert system.is_open_to_others(file.stat())
    descriptor = os.open(file, os.O_RDONLY)
    system.set_mode(descriptor, 0o600)
    os.close(descriptor)
    assert not system.is_open_to_others(file.stat())


def test_on_windows_it_loads_and_permissions_are_the_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform is a fake: this shows only that nothing of POSIX is touched."""
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("fcntl", "pwd", "resource"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "msvcrt", sys)
    for name in ("geteuid", "fchmod", "statvfs"):
        monkeypatch.delattr(os, name)
    try:
        faked = importlib.reload(system)
        file = tmp_path / "file"
        file.touch(mode=0o644)
        assert faked.is_own(file.stat())
        assert not faked.is_open_to_others(file.stat())
        faked.set_mode(0, 0o600)
        faked.sync_folder(tmp_path)
        assert (faked.user_id(), faked.free_files(tmp_path), faked.room_for_files([64]), list(faked.accounts())) == (
            -1, None, None, [],
        )  # fmt: skip
    finally:
        monkeypatch.undo()
        importlib.reload(system)
