"""Compare a session file with what a person has of the same session.

Machines mask secrets each in its own way, so two copies of a line may differ in their masks: these are not compared.
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.archive.kept_file import KeptFile

MASK: Final = re.compile(rb"\[redacted(?:: [^\]]*)?\]\**")


class CopyState(StrEnum):
    """The standing of an imported file against the existing copy."""

    NEW = "new"
    """The person has nothing of this session."""
    EQUAL = "equal"
    """The person has all of the file, perhaps with more after it."""
    LONGER = "longer"
    """The file continues after the end of the existing copy."""
    CONFLICT = "conflict"
    """The existing copy has other lines."""
    FORGOTTEN = "forgotten"
    """The session was forgotten or has expired, and does not come back."""


def compared(data: bytes, existing: bytes, leaving: Callable[[bytes], bytes | None] = lambda line: line) -> CopyState:
    """Compare a file with another one of its session. `leaving` masks a line as it will be sent.

    An unfinished last line does not count.
    """
    if existing.startswith(data):
        return CopyState.EQUAL
    for line, other in zip_longest(_lines(data), _lines(existing)):
        if line is None:
            return CopyState.EQUAL
        if other is None:
            return CopyState.LONGER
        if line != other and _unmarked(leaving(line) or b"") != _unmarked(other):
            return CopyState.CONFLICT
    return CopyState.EQUAL


class KeptSessions:
    """The session files in an archive."""

    def __init__(self, archive: "Archive | None") -> None:
        self._archive = archive
        self._files: dict[str, list[KeptFile]] = {}
        for file in archive.files.values() if archive else ():
            self._files.setdefault(_name(file.path), []).append(file)

    def standing(
        self, home: str, path: str, machine: str, data: bytes, leaving: Callable[[bytes], bytes | None]
    ) -> CopyState:
        """Compare the file of a machine with its nearest copy in the archive."""
        if self._archive is None:
            return CopyState.NEW
        if self._archive.is_forgotten(home, path, machine):
            return CopyState.FORGOTTEN
        standings = {compared(data, there, leaving) for there in self._contents(path)}
        order = (CopyState.EQUAL, CopyState.LONGER, CopyState.CONFLICT)
        return next((standing for standing in order if standing in standings), CopyState.NEW)

    def _contents(self, path: str) -> Iterable[bytes]:
        for file in self._files.get(_name(path), ()):
            for version in file.shown_versions:
                if self._archive is not None and version.is_whole:
                    yield b"".join(self._archive.content(version))


def _name(path: str) -> str:
    """Return the name of a session file, which is the same in any project."""
    return "/".join(PurePosixPath(path).parts[2:])


def _lines(data: bytes) -> Iterable[bytes]:
    return data.split(b"\n")[:-1]


def _unmarked(line: bytes) -> bytes:
    return MASK.sub(b"[redacted]", line).rstrip()
