"""Write files that only their owner can read, that are on the disk when we say so, and lock them."""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from backscroll import system
from backscroll.errors import Busy

POLL_SECONDS: Final = 0.02


def private_folder(folder: Path) -> Path:
    """Create a folder and its parents with access for the owner only; fix the permissions of an existing one."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if system.is_open_to_others(status) and system.is_own(status):
        folder.chmod(0o700)
    return folder


def open_private(path: Path, flags: int) -> int:
    """Open a file for the owner only, never through a link; fix the permissions of an existing one."""
    descriptor = os.open(path, flags | system.CLOSE_ON_EXEC | system.NO_LINK, 0o600)
    status = os.fstat(descriptor)
    if system.is_open_to_others(status) and system.is_own(status):
        system.set_mode(descriptor, 0o600)
    return descriptor


def write_private(path: Path, data: bytes) -> None:
    """Replace a file as a whole: readers see the old content or the new one, also after a crash."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(path)
    sync_folder(path.parent)


def append(path: Path, data: bytes, at: int) -> None:
    """Write the data at this offset of a file, and flush it."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.lseek(descriptor, at, os.SEEK_SET)
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however often the system takes only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that created, renamed and removed names survive a crash."""
    system.sync_folder(folder)


class FileLock:
    """A lock that one process holds at a time, and that the system releases when the process ends."""

    def __init__(self, path: Path, message: str, hint: str, *, wait: float = 0.0) -> None:
        """Take the lock, or raise Busy with this message after `wait` seconds."""
        self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        deadline = time.monotonic() + wait
        try:
            while not self._try():
                if time.monotonic() >= deadline:
                    raise Busy(message, hint)
                time.sleep(POLL_SECONDS)
        except BaseException:
            self.release()
            raise

    def _try(self) -> bool:
        return system.lock(self._descriptor, wait=False)

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.release()
