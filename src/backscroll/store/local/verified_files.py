"""Remember which files of an index were verified, so that they are not read again each time.

The file `checked` in a generation is only a cache: if it is missing or odd, everything is verified again. It identifies
a file by its inode, size and times; damage that changes none of these is found by the next full check, which an update
makes after a week.
"""

import json
import os
import time
import zlib
from pathlib import Path
from typing import Any, Final

from backscroll.disk import open_own, read_at, read_own
from backscroll.store.base import DamagedStoreError
from backscroll.system import CLOSE_ON_EXEC

Look = tuple[int, ...]
PIECE: Final = 1024 * 1024
FULL_CHECK_SECONDS: Final = 7 * 24 * 3600.0
FOOTER_MAGIC: Final = 1337
LONGEST_FOOTER: Final = 10_000


def look_of(path: Path) -> Look:
    """Return the inode, size and times that identify the state of a file."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class VerifiedFiles:
    """The verified files of one generation."""

    def __init__(self, generation: Path) -> None:
        self._file = generation / "checked"
        self._looks: dict[str, Look] = {}
        self._at = 0.0
        try:
            cached: Any = json.loads(read_own(self._file))
            self._looks = {str(name): tuple(map(int, look)) for name, look in cached["looks"].items()}
            self._at = float(cached["at"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            pass

    @property
    def is_old(self) -> bool:
        """Whether the last full check is long ago."""
        return not 0 <= time.time() - self._at < FULL_CHECK_SECONDS

    def has(self, path: Path) -> bool:
        """Whether this file is unchanged since it was verified."""
        return self._looks.get(path.name) == look_of(path)

    def add(self, path: Path) -> None:
        """Remember a file as verified: it was checked, or just written."""
        self._looks[path.name] = look_of(path)

    def knows(self, path: Path) -> bool:
        """Whether a file of this name was ever verified."""
        return path.name in self._looks

    def forget(self, *, but: set[str]) -> None:
        """Forget files that no longer exist."""
        self._looks = {name: look for name, look in self._looks.items() if name in but}

    def begin(self) -> None:
        """Record a full check; also for a new index."""
        self._at = time.time()

    def save(self) -> None:
        """Save the cache. Losing it only costs a check, so it is not flushed."""
        fresh = self._file.with_name("checked.new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | CLOSE_ON_EXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps({"at": self._at, "looks": self._looks}).encode())
        fresh.replace(self._file)


def check_sum(path: Path) -> None:
    """Read a file of the text index and compare it with the checksum at its end, as the engine wrote it."""
    size = path.stat().st_size
    with open_own(path) as file:
        end = read_at(file.fileno(), max(0, size - LONGEST_FOOTER), LONGEST_FOOTER)
        length, magic = (int.from_bytes(end[at : at + 4 or None], "little") for at in (-8, -4))
        if len(end) < 8 or magic != FOOTER_MAGIC or length + 8 > len(end):
            raise DamagedStoreError(f"{path.name} of the text index has no checksum")
        try:
            expected = json.loads(end[-8 - length : -8])["crc"]
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedStoreError(f"the checksum of {path.name} of the text index cannot be read") from error
        rest = size - 8 - length
        checksum = at = 0
        while at < rest and (piece := read_at(file.fileno(), at, min(PIECE, rest - at))):
            checksum = zlib.crc32(piece, checksum)
            at += len(piece)
    if at != rest or checksum != expected:
        raise DamagedStoreError(f"{path.name} of the text index is not what was written")
