"""Which sessions are being written: a file that grows is live, whether or not a client says that it has it open."""

import threading
import time
from collections.abc import Sequence
from typing import Final

from backscroll.library.library import Library

LIVE_SECONDS: Final = 90
"""A session counts as live for so long after its file grew."""


class RecentWrites:
    """The sessions whose files were written a moment ago, as the thread that follows the homes reports them."""

    def __init__(self) -> None:
        self._written: dict[str, float] = {}
        self._lock = threading.Lock()

    def note(self, library: Library, sources: Sequence[str]) -> None:
        """Some files changed. One that was deleted, or was copied here with its old time, is not being written."""
        oldest = time.time_ns() - LIVE_SECONDS * 1_000_000_000
        found = (library.source(name) for name in sources)
        files = (file for file in found if file and not file.is_kept and file.modified_ns > oldest)
        sessions = [file.place.session_id.lower() for file in files if file.place.session_id]
        with self._lock:
            self._written |= dict.fromkeys(sessions, time.monotonic())

    def sessions(self) -> frozenset[str]:
        """Those that are live by now."""
        oldest = time.monotonic() - LIVE_SECONDS
        with self._lock:
            self._written = {name: when for name, when in self._written.items() if when > oldest}
            return frozenset(self._written)
