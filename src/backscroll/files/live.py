"""Whether a process that a home speaks of is still the one that runs."""

import os
from pathlib import Path


def is_running(pid: int, process_start: str | None) -> bool:
    """Whether the process is there and, where the system tells, began when it is said to have begun."""
    if os.name == "nt":
        return True  # there, signal 0 is no question but Ctrl-C
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass  # somebody else's, and so alive
    except (OSError, OverflowError):
        return False
    started = _start_of(pid)
    return started is None or process_start is None or started == process_start


def _start_of(pid: int) -> str | None:
    """When the process began, in clock ticks since the system started. Only Linux tells it like this."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The second field is the program's name in parentheses, which may itself hold blanks and parentheses.
    fields = status[status.rfind(b")") + 2 :].split()
    return fields[19].decode() if len(fields) > 19 else None
