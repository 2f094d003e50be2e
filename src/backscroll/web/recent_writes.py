"""Sessions that are being written: files are looked at once, then the thread that follows the homes reports them."""

import threading
import time
from collections.abc import Sequence

from backscroll.library import Home
from backscroll.library.growing import has_ended, is_recent, recent_writes
from backscroll.library.library import Library


class RecentWrites:
    """Times of the last writes to sessions, as `library/growing` counts them: no request has to look at all files."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self._homes = homes
        self._written: dict[str, int] | None = None
        self._lock = threading.Lock()

    def note(self, library: Library, sources: Sequence[str]) -> None:
        """Record changed files. A file that was deleted, or was copied here with its old time, is not being written."""
        files = [file for name in sources if (file := library.source(name)) and not file.is_kept]
        with self._lock:
            self._written = self._recent()
            for file in files:
                session = (file.place.session_id or "").lower()
                if has_ended(file.path, file.kind):
                    self._written.pop(session, None)
                elif session:
                    self._written[session] = max(file.modified_ns, self._written.get(session, 0))

    def sessions(self) -> frozenset[str]:
        """Return the sessions that are live now."""
        with self._lock:
            self._written = self._recent()
            return frozenset(self._written)

    def _recent(self) -> dict[str, int]:
        if self._written is None:  # a session that was written before the viewer started counts too
            return recent_writes(self._homes)
        now = time.time_ns()
        return {name: written for name, written in self._written.items() if is_recent(written, now)}
