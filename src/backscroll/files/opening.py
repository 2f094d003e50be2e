"""Open files that other programs wrote, safely.

A link is not followed, and anything but a regular file (a FIFO would block us for ever) is refused.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from backscroll.disk import read_at
from backscroll.system import FOLDER


def open_regular(path: Path, *, folder: int | None = None) -> int:
    """Return a read-only descriptor of a regular file; OSError for anything else. `path` is relative to `folder`."""
    descriptor = os.open(path, FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"not a regular file: {path}")
    return descriptor


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """Open a descriptor of a folder that is no link; OSError for anything else."""
    descriptor = os.open(path, FLAGS | FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_small(path: Path, limit: int = 1024 * 1024) -> bytes:
    """Return the whole of a small file; OSError if it is longer than `limit`."""
    descriptor = open_regular(path)
    try:
        data = read_at(descriptor, 0, limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(f"longer than {limit} bytes: {path}")
    return data


# O_NONBLOCK: opening a FIFO must not wait for a writer. Not every system has all of these.
FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)
