"""The session that asks: it is left out of its own answers, and its project is preferred."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.library.library import Library

SESSION: Final = "CLAUDE_CODE_SESSION_ID"
"""Set by Claude Code since 2.1.154. After `/clear` it is still the previous session's."""
PROJECT: Final = "CLAUDE_PROJECT_DIR"
MAX_PARENTS: Final = 12


class AskingSession(NamedTuple):
    """The sessions and project of the caller."""

    sessions: frozenset[str] = frozenset()
    project: str | None = None

    def is_at(self, project: str | None) -> bool:
        """Whether a chat's project is that of the caller, or a folder in it."""
        if not self.project or not project:
            return False
        return project == self.project or project.startswith(self.project.rstrip("/\\") + "/")


UNKNOWN_SESSION: Final = AskingSession()


def client_that_started_us(library: Library, environment: Mapping[str, str], folder: str) -> AskingSession:
    """Return the client that started this process: from the environment and the open sessions."""
    sessions = set()
    if ID.fullmatch(named := environment.get(SESSION, "")):
        sessions.add(named.lower())
    above = frozenset(parents())
    live = [session for session in library.live.values() if session.pid in above]
    sessions |= {session.session_id.lower() for session in live if session.session_id}
    place = environment.get(PROJECT) or next((session.cwd for session in live if session.cwd), None) or folder
    return AskingSession(frozenset(sessions), place)


def parents() -> Iterable[int]:
    """Yield the process ids of our parents, as far as the system shows them: a shell or a runner may be between."""
    pid = os.getppid()
    for _ in range(MAX_PARENTS):
        if pid <= 1:
            return
        yield pid
        try:
            status = Path(f"/proc/{pid}/stat").read_bytes()
            pid = int(status[status.rfind(b")") + 2 :].split()[1])
        except (OSError, ValueError, IndexError):
            return


ID: Final = re.compile(r"[A-Za-z0-9-]{8,64}")
