"""Write so that it is on the disk when we say so."""

import os
from pathlib import Path


def append(path: Path, data: bytes, at: int) -> None:
    """Write the data at this offset of a file, and flush it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
    """Flush the names in a folder: of files that were made, renamed or removed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
