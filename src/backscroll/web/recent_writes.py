"""Which sessions are being written, as the thread that follows the homes reports them: no request scans files."""

import threading
import time
from collections.abc import Sequence

from backscroll.library.growing import LIVE_SECONDS, is_recent
from backscroll.library.library import Library


class RecentWrites:
    """The sessions whose files were written a moment ago, as the thread that follows the homes reports them."""

    def __init__(self) -> None:
        self._written: dict[str, float] = {}
        self._lock = threading.Lock()

    def note(self, library: Library, sources: Sequence[str]) -> None:
        """Some files changed. One that was deleted, or was copied here with its old time, is not being written."""
        now = time.time_ns()
        found = (library.source(name) for name in sources)
        files = (file for file in found if file and not file.is_kept and is_recent(file.modified_ns, now))
        sessions = [file.place.session_id.lower() for file in files if file.place.session_id]
        with self._lock:
            self._written |= dict.fromkeys(sessions, time.monotonic())

    def sessions(self) -> frozenset[str]:
        """Those that are live by now."""
        oldest = time.monotonic() - LIVE_SECONDS
        with self._lock:
            self._written = {name: when for name, when in self._written.items() if when > oldest}
            return frozenset(self._written)
