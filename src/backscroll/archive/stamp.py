"""Whether there is an archive in a folder, and whether it has changed, without opening it."""

from pathlib import Path
from typing import Final

CATALOGUE: Final = "catalogue.jsonl"
END_NOTE: Final = "catalogue.end"


def has_catalogue(folder: Path) -> bool:
    """Whether anything was ever kept there."""
    return (folder / CATALOGUE).exists()


def stamp_of(folder: Path) -> str:
    """A text that changes whenever something is kept; empty if nothing is. It can be stored."""
    try:
        status = (folder / CATALOGUE).stat()
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"


def disk_state(folder: Path) -> tuple[tuple[int, ...], ...]:
    """A value that changes when an archive is written or replaced. Valid only within one process."""
    return tuple(_status(folder / name) for name in (CATALOGUE, END_NOTE))


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
