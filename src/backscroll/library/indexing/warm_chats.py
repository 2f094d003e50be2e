"""Chats that stay in memory from one append to the next, in a process that updates many libraries.

An append continues a chat, and loading the chat costs more the longer it is. A chat in memory is valid only while no
other process changes the library: the archive must have the same stamp, and the store our name as the holder.
"""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.recent_texts import RecentTexts
from backscroll.store.base import Store

MAX_ROWS: Final = 100_000
"""Largest number of rows of all libraries together: about 240 MB under load (docs/why/team-load.md)."""
MAX_ROWS_OF_ONE: Final = 20_000
HOLDER: Final = "chats in memory of"
"""The store's entry that names the holder of its chats; a rebuilt store has no entry."""


class _Kept(NamedTuple):
    ingest: Ingest
    stamp: str
    """The stamp of the archive."""


class WarmChats:
    """The chats of the libraries that were updated last."""

    def __init__(self, most_rows: int = MAX_ROWS) -> None:
        self._most_rows = most_rows
        self._name = uuid4().hex
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, _Kept] = OrderedDict()

    def take(self, folder: Path, store: Store, stamp: str, recent: RecentTexts) -> Ingest:
        """Return the ingest for the library in this folder: with its chats, if they are in memory and current."""
        with self._lock:
            kept = self._kept.pop(folder, None)
        if kept is None or kept.stamp != stamp or store.noted(HOLDER) != self._name:
            return Ingest(store, recent=recent)
        kept.ingest.go_on(store, recent)
        return kept.ingest

    def keep(self, folder: Path, store: Store, stamp: str, ingest: Ingest) -> None:
        """Keep the chats for the next append, unless there are too many."""
        if ingest.rows > MAX_ROWS_OF_ONE:
            return
        store.note(HOLDER, self._name)
        with self._lock:
            self._kept[folder] = _Kept(ingest, stamp)
            rows = sum(kept.ingest.rows for kept in self._kept.values())
            while rows > self._most_rows:
                _, dropped = self._kept.popitem(last=False)
                rows -= dropped.ingest.rows
