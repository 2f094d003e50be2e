"""Other processes, as Linux tells of them, and waiting until something is so."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

PATIENCE: Final = 120
"""Seconds: the machine may be busy with something else."""


def until(is_so: Callable[[], object], again: Callable[[], object] = lambda: None) -> None:
    """Wait until something is so, and fail rather than wait for ever; `again` is done each time that it is not."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it never came to that"
        again()
        time.sleep(0.01)


def sql_workers_of(parent: int) -> list[int]:
    """The processes that run statements for this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and is_alive(pid := int(entry.name)) and parent_of(pid) == parent:
            try:
                is_worker = b"sql_worker" in (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if is_worker:
                found.append(pid)
    return found


def parent_of(pid: int) -> int:
    return int((_fields(pid) or ["", "0"])[1])


def is_alive(pid: int) -> bool:
    return (_fields(pid) or ["Z"])[0] != "Z"


def seconds_of(pid: int) -> float:
    """How long it has worked."""
    user, system = (_fields(pid) or ["0"] * 13)[11:13]
    return (int(user) + int(system)) / float(os.sysconf("SC_CLK_TCK"))


def _fields(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
