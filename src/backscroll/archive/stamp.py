"""Detect an archive in a folder, and changes of it, without opening it."""

import os
from pathlib import Path
from typing import Final

CATALOGUE: Final = "catalogue.jsonl"
END_NOTE: Final = "catalogue.end"


def has_catalogue(folder: Path) -> bool:
    """Whether anything was ever kept in the folder."""
    return (folder / CATALOGUE).exists()


def stamp_of(folder: Path) -> str:
    """Return a text that changes with everything that is kept; empty if nothing is. It can be stored."""
    try:
        return text_of((folder / CATALOGUE).stat())
    except OSError:
        return ""


def text_of(status: os.stat_result) -> str:
    """Return the stamp of a catalogue with this status."""
    return f"{status.st_size} {status.st_mtime_ns}"


def disk_state(folder: Path) -> tuple[tuple[int, ...], ...]:
    """Return a value that changes when an archive is written or replaced. Valid only within one process."""
    return tuple(_status(folder / name) for name in (CATALOGUE, END_NOTE))


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
