"""Write files durably, readable for their owner only; read small files, and lock files."""

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from backscroll import system
from backscroll.errors import Busy

POLL_SECONDS: Final = 0.02
LARGEST_OWN: Final = 64 << 20
PIECE: Final = 1 << 18
TO_THE_END: Final = 1 << 62
"""A length beyond that of any file."""
UNFINISHED: Final = ".backscroll-"
"""Prefix of the name of an unfinished file."""
LEFT_SECONDS: Final = 3600
NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def private_folder(folder: Path) -> Path:
    """Create a folder and its parents with access for the owner only; fix the permissions of an existing one."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if system.is_open_to_others(status) and system.is_own(status):
        folder.chmod(0o700)
    return folder


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a private folder, and remove it at the end; OSError if that fails.

    `tempfile.TemporaryDirectory` of Python 3.11 calls itself without end if it is refused to look at a file.
    """
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="backscroll-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def open_private(path: Path, flags: int) -> int:
    """Open a file for the owner only, never through a link; fix the permissions of an existing one.

    UnusableFileError if it is not a regular file: a FIFO or a device in its place is not waited for.
    """
    descriptor = os.open(path, flags | system.CLOSE_ON_EXEC | system.NO_LINK | system.NO_WAIT, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _not_regular(path)
    if system.is_open_to_others(status) and system.is_own(status):
        system.set_mode(descriptor, 0o600)
    return descriptor


def open_own(path: Path) -> BinaryIO:
    """Open a file of ours for reading, perhaps through a link. UnusableFileError if it is not a regular file."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - faster, and called for every chunk that is read
        raise _not_regular(path)
    return path.open("rb")


def _not_regular(path: Path) -> "UnusableFileError":
    return UnusableFileError(errno.EINVAL, "not a regular file", str(path))


def write_private(path: Path, data: bytes, *, is_synced: bool = True) -> None:
    """Replace a file as a whole: readers see the old content or the new one, also after a crash.

    Without `is_synced`, for a file that need not survive a crash of the system, do not wait for the disk.
    """
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        write_all(descriptor, data)
        if is_synced:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(path)
    if is_synced:
        sync_folder(path.parent)


def write_new(path: Path, pieces: Iterable[bytes], modified_ns: int | None = None) -> None:
    """Write a file where there is none; FileExistsError if there is one. It appears as a whole, or not at all."""
    import tempfile

    _remove_unfinished(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if modified_ns is not None:
            os.utime(name, ns=(modified_ns, modified_ns))
        try:
            os.link(name, path)  # fails if a file appeared meanwhile; a rename would replace it
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            Path(name).rename(path)  # FAT, for example, has no links
    finally:
        Path(name).unlink(missing_ok=True)


def _remove_unfinished(folder: Path) -> None:
    """Remove unfinished files that a killed process has left."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            if path.lstat().st_ctime < time.time() - LEFT_SECONDS:
                path.unlink()


def read_own(path: Path, largest: int = LARGEST_OWN) -> bytes:
    """Return the content of a small file of ours or the user's, perhaps through a link.

    UnusableFileError if it is not a regular file, or larger: a FIFO or a device in its place is not waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | system.CLOSE_ON_EXEC | system.NO_WAIT)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_regular(path)
        data = read_at(descriptor, 0, largest + 1)
    finally:
        os.close(descriptor)
    if len(data) > largest:
        raise UnusableFileError(errno.EFBIG, f"larger than {largest:,} bytes", str(path))
    return data


def read_at(descriptor: int, start: int, length: int) -> bytes:
    """Return bytes of a regular file, however often the system returns only a part; fewer only where the file ends.

    OSError if the system returns no more although there are more: a file system may briefly lose the end of a file.
    """
    parts: list[bytes] = []
    end = start + length
    while start < end:
        part = os.pread(descriptor, min(end - start, PIECE), start)
        if not part:
            if start >= os.fstat(descriptor).st_size:
                break
            part = os.pread(descriptor, 1, start)  # it may have grown just now
            if not part:
                raise OSError(errno.EIO, "the file ended early")
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_whole(path: Path) -> bytes:
    """Return all bytes of a regular file, however often the system returns only a part."""
    with open_own(path) as file:
        return read_at(file.fileno(), 0, TO_THE_END)


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
    """Write all bytes, however often the system takes only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that created, renamed and removed names survive a crash."""
    system.sync_folder(folder)


class UnusableFileError(OSError):
    """A FIFO, a device or a far too large file is in the place of a small file."""


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
        """Release the lock and close its file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.release()
