"""The demo's own folder: a home, a library and settings that are not the user's, removed when the demo ends.

A folder is held by a lock that the system releases when its process ends, however it ends. So a demo that begins can
tell which folders were left behind by one that was killed, and removes them.
"""

import os
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Final

from backscroll import system
from backscroll.demo.sample import PACKED, Sample, unpack
from backscroll.errors import storage_error
from backscroll.library.homes import open_homes
from backscroll.library.keeping.keep import keep
from backscroll.settings import load_settings

PREFIX: Final = "backscroll-demo-"
"""Prefix of the names of demo folders."""
ATTEMPTS: Final = 5


@dataclass(frozen=True)
class Sandbox:
    """The folder of a demo that is ready."""

    folder: Path
    sample: Sample

    @property
    def home(self) -> Path:
        """Path of the Claude Code home with the sample conversations."""
        return self.folder / "home"

    @property
    def script(self) -> Path:
        """Path of the session that is played live, which is not in the home yet."""
        return self.folder / "live.jsonl"

    @property
    def live(self) -> Path:
        """Path in the home at which the live session will be."""
        return self.home / self.sample.live

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that lead this process, and those that it starts, to the demo instead of the user's own files."""
        return {
            "CLAUDE_CONFIG_DIR": str(self.home),
            "BACKSCROLL_LIBRARY": str(self.folder / "library"),
            "BACKSCROLL_SETTINGS": str(self.folder / "settings.toml"),
        }


@contextmanager
def open_sandbox(now: datetime, packed: Path = PACKED) -> Iterator[Sandbox]:
    """Yield the sample in a private folder, and the environment leading there, until the end of the block.

    The folder is removed whatever ends the block; meanwhile SIGTERM and SIGHUP end the program as Ctrl-C does.
    """
    with _ended_by_signals():
        try:
            folder, lock = _new_folder()
        except OSError as error:
            raise storage_error(error, "no folder for the demo could be made") from error
        try:
            room = Sandbox(folder, unpack(packed, folder / "home", folder / "live.jsonl", now))
            with _environment(room.environment):
                _delete_as_claude_code_would(room)
                yield room
        finally:
            with _uninterrupted():
                _remove(folder)
                os.close(lock)


def _delete_as_claude_code_would(room: Sandbox) -> None:
    """Keep everything, and then delete the files that only the archive is to have; the second keep records that they
    are gone."""
    settings = load_settings()
    homes = open_homes(settings)
    keep(settings, homes)
    for relative in room.sample.deleted:
        (room.home / relative).unlink()
    keep(settings, homes)


def _new_folder() -> tuple[Path, int]:
    """Return a folder for this process, with the descriptor that holds its lock."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    while True:
        folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)))
        try:
            descriptor = os.open(folder, os.O_RDONLY | system.FOLDER | system.CLOSE_ON_EXEC)
        except FileNotFoundError:
            continue  # another demo that began just now took it for an abandoned one
        system.lock(descriptor, wait=True)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders of demos whose process is gone. Folders that cannot be examined or removed stay."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or not system.is_own(status):
                continue
            descriptor = os.open(folder, os.O_RDONLY | system.FOLDER | system.NO_LINK | system.CLOSE_ON_EXEC)
            try:
                if system.lock(descriptor, wait=False):
                    _remove(folder)
            finally:
                os.close(descriptor)


def _remove(folder: Path) -> None:
    """Remove a folder, also while a thread that has not ended yet writes a last file there."""
    for _ in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End the process through an exception on a signal, so that blocks are left in order."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only there can signals be handled
        return

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in system.ENDING_SIGNALS}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:  # one that is ignored, as under nohup, stays so
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore signals in here: a second Ctrl-C would leave half of a folder behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *system.ENDING_SIGNALS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
