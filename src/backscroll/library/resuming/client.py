"""The installed Claude Code: its version and abilities."""

import re
import shutil
import subprocess
from typing import Final

ANYWHERE: Final = (2, 1, 223)
"""The first version whose `--resume ID` finds the session of any project; earlier ones look in the current one only."""
SECONDS: Final = 20.0
"""Time limit for the client to print its version."""


def client_version(program: str = "claude") -> tuple[int, ...] | None:
    """Return the version of Claude Code on the PATH; None if it is not installed, or does not print one."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the user's own client
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.match(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", done.stdout.strip())
    return tuple(map(int, version.groups())) if version and not done.returncode else None


def resumes_anywhere(version: tuple[int, ...] | None) -> bool:
    """Whether this version resumes a session in any folder; an unknown one may not."""
    return version is not None and version >= ANYWHERE
