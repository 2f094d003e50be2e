"""Detect missing pages at the end of a SQLite file.

SQLite reads beyond the end of a file as zeros, and the checksum VFS skips an incomplete page: without this check,
answers from such a file would silently lack rows.
"""

import os
import time
from pathlib import Path
from typing import Final

from backscroll.disk import open_own, read_at

HEAD: Final = 100
LOG_HEAD: Final = 32
FRAME_HEAD: Final = 24
ATTEMPTS: Final = 3
PAUSE: Final = 0.02
"""Seconds between attempts: another process may be writing the log into the file, and then remove it."""


def is_truncated(path: Path) -> bool:
    """Whether the file is shorter than its header says, and the write-ahead log does not have the rest."""
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE if attempt else 0)
        with open_own(path) as file:
            head, size = read_at(file.fileno(), 0, HEAD), os.fstat(file.fileno()).st_size
        page = _number(head[16:18])
        page = 65536 if page == 1 else page
        has_count = (
            head[24:28] == head[92:96]
        )  # otherwise the count is from an old version of SQLite and not maintained
        missing = range(size // page + 1, _number(head[28:32]) + 1) if page and has_count else range(0)
        if not missing or _pages_in_log(path, page).issuperset(missing):
            return False
    return True


def _pages_in_log(path: Path, page: int) -> set[int]:
    """Return the pages of all complete transactions in the log."""
    committed: set[int] = set()
    waiting: set[int] = set()
    try:
        with open_own(Path(f"{path}-wal")) as log:
            salts = read_at(log.fileno(), 0, LOG_HEAD)[16:24]
            at = LOG_HEAD
            while len(head := read_at(log.fileno(), at, FRAME_HEAD)) == FRAME_HEAD and head[8:16] == salts:
                waiting.add(_number(head[:4]))
                if head[4:8] != bytes(4):
                    committed |= waiting
                    waiting.clear()
                at += FRAME_HEAD + page
    except FileNotFoundError:
        pass
    return committed


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
