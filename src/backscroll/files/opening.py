"""Open files that other programs wrote, safely.

A link is not followed, and what is not a regular file (a FIFO would block us for ever) is refused.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from backscroll.system import FOLDER


def open_regular(path: Path, *, folder: int | None = None) -> int:
    """A read-only descriptor of a regular file; OSError for anything else. `folder` is what the path is relative to."""
    descriptor = os.open(path, FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"not a regular file: {path}")
    return descriptor


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A descriptor of a folder that is no link; OSError for anything else."""
    descriptor = os.open(path, FLAGS | FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_small(path: Path, limit: int = 1024 * 1024) -> bytes:
    """The whole of a small file; OSError if it is longer than `limit`."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"longer than {limit} bytes: {path}")
    return data


# O_NONBLOCK: opening a FIFO must not wait for a writer. Not every system has all of these.
FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)
