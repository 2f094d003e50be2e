"""The folder of an index, and its generation in use.

    index/
      lock       held by the one process that writes; never removed
      current    the number of the generation in use, with a checksum
      000001/    a generation: rows.sqlite, text/

A rebuild makes a new generation beside the one in use and then replaces `current`, so readers have the old index until
the new one is complete, and no file of one ever meets a file of the other.
"""

import re
import shutil
import stat
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from backscroll.disk import FileLock, UnusableFileError, private_folder, read_own, sync_folder, write_private
from backscroll.errors import storage_error
from backscroll.store.base import DamagedStoreError

ROWS: Final = "rows.sqlite"
TEXT: Final = "text"
CURRENT: Final = "current"
LONGEST_CURRENT: Final = 100


def write_lock(folder: Path) -> FileLock:
    """Take the lock of the one process that writes; Busy if another process has it."""
    hint = "wait for it, or stop it; reading and searching work meanwhile"
    return FileLock(private_folder(folder) / "lock", "another process is updating the library", hint)


def in_use(folder: Path) -> Path | None:
    """Return the generation that readers use; None if there is no index yet."""
    try:
        text = read_own(folder / CURRENT, LONGEST_CURRENT)
    except (FileNotFoundError, NotADirectoryError):
        # Earlier versions had no generations: the files were in the folder itself.
        return folder if (folder / ROWS).exists() else None
    except UnusableFileError:
        text = b""
    except OSError as error:
        raise storage_error(error, f"cannot read {folder / CURRENT}") from error
    match = re.fullmatch(rb"(\d{6,}) ([0-9a-f]{8})\n", text)
    if match is None or int(match[2], 16) != zlib.crc32(match[1]):
        raise DamagedStoreError(f"{folder / CURRENT} does not name an index")
    return folder / match[1].decode()


def has_any(folder: Path) -> bool:
    """Whether there is an index, of any version and in any state."""
    return any(folder.rglob(ROWS))


def size_of(folder: Path) -> int:
    """Return the bytes that an index takes up, with all of its generations."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a rebuild removes what it has replaced
            status = path.lstat()
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def new_generation(folder: Path) -> Path:
    """Create an empty folder for another build."""
    return private_folder(folder / f"{max(map(_number, _all(folder)), default=0) + 1:06}")


def make_current(generation: Path) -> None:
    """Have readers use this generation from now on."""
    sync_folder(generation)
    name = generation.name.encode()
    write_private(generation.parent / CURRENT, b"%s %08x\n" % (name, zlib.crc32(name)))


def remove_unfinished(folder: Path, current: Path | None) -> None:
    """Remove generations after the one in use, which an interrupted rebuild left."""
    last = _number(current) if current else 0
    for generation in _all(folder):
        if _number(generation) > last:
            shutil.rmtree(generation, ignore_errors=True)


def remove_others(folder: Path, current: Path) -> None:
    """Remove everything except the generation in use."""
    for generation in _all(folder):
        if generation != current:
            shutil.rmtree(generation, ignore_errors=True)
    if current != folder:
        shutil.rmtree(folder / TEXT, ignore_errors=True)
        for path in folder.glob(f"{ROWS}*"):
            path.unlink(missing_ok=True)


def identity(generation: Path) -> tuple[int, int] | None:
    """Return the identity of a generation's rows file, to notice if it was replaced."""
    try:
        status = (generation / ROWS).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _all(folder: Path) -> list[Path]:
    return [path for path in folder.glob("[0-9]*") if path.name.isdecimal()]


def _number(generation: Path) -> int:
    return int(generation.name) if generation.name.isdecimal() else 0
