"""Write files under names that machines gave them, also those that the disk of the operator does not allow.

A bundle may have names that no disk takes: too long, or one file where another has a folder.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from backscroll.disk import private_folder, write_private

LONGEST_PART: Final = 250
"""Bytes of a name in a folder: usual disks take 255, and a file is written as `NAME.new` first."""
KEPT: Final = 160
"""Bytes that are kept of a longer name."""
ODD: Final = "odd-names"
"""The folder for files that cannot lie at their place."""


def write_below(folder: Path, names: Sequence[str], data: bytes) -> Path:
    """Write a file below a folder, at its path or, where that is impossible, at a similar one; return the path."""
    target = folder.joinpath(*map(possible_name, names))
    try:
        private_folder(target.parent)
        if target.is_dir():
            raise IsADirectoryError
        write_private(target, data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        target = folder / ODD / _short(names[-1], "/".join(names))
        private_folder(target.parent)
        write_private(target, data)
    return target


def possible_name(name: str) -> str:
    """Return a possible name for a file or folder: the name itself, or a similar one that no other name becomes."""
    if name in ("", ".", ".."):
        return name.replace(".", "%2E") or "%"
    return name if len(name.encode("utf-8", "surrogateescape")) <= LONGEST_PART else _short(name, name)


def _short(name: str, whole: str) -> str:
    suffix = Path(name).suffix if len(Path(name).suffix) < LONGEST_PART - KEPT - 20 else ""
    begin = name.encode("utf-8", "surrogateescape")[:KEPT].decode("utf-8", "ignore")
    number = hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{begin}~{number}{suffix}"
