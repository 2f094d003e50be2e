"""Check whether a process recorded in a home is still running."""

from pathlib import Path

from backscroll.system import process_exists


def is_running(pid: int, process_start: str | None) -> bool:
    """Whether the process exists and, if the system can tell, started at the recorded time."""
    if pid <= 0:
        return False  # such a number means many processes
    if not process_exists(pid):
        return False
    state, started = _status_of(pid)
    if state == "Z":
        return False  # a zombie: it has ended, but its parent has not collected it
    return started is None or process_start is None or started == process_start


def _status_of(pid: int) -> tuple[str | None, str | None]:
    """Return the state of the process, and its start time in clock ticks since boot. Linux only."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None, None
    # The second field is the program's name in parentheses, which may itself hold blanks and parentheses.
    fields = status[status.rfind(b")") + 2 :].split()
    return (fields[0].decode(), fields[19].decode()) if len(fields) > 19 else (None, None)
