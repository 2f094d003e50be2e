"""Open viewers: for each person one of their own library, and others for chats that were shared with them.

Each viewer has libraries, open chats and an event feed of its own, so that nothing of one person gets to another.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from backscroll.errors import BackscrollError
from backscroll.httpd.connections import Connections
from backscroll.library.pool import LibraryOpener
from backscroll.settings import Settings
from backscroll.team.arrival.libraries import REBUILT, Libraries
from backscroll.team.reading.shared_library import opener_of_all, opener_of_shared, settings_of_reader
from backscroll.team.reading.shares import Share
from backscroll.web.events import ChangeFeed
from backscroll.web.state import ViewerState

MAX_OPEN: Final = 128
"""Viewers that stay open, of all people. An idle one has no connection to the database."""
MAX_ROWS: Final = 5_000
"""Rows of chats that each viewer holds in memory; the last chat is held whatever its size."""
NEWEST: Final = 20


class PersonViewer(NamedTuple):
    """The viewer of a person for the chats of one owner, most often their own."""

    state: ViewerState
    feed: ChangeFeed


class ViewerPool:
    """The viewers that are open in this process."""

    def __init__(self, libraries: Libraries, connections: Connections | None = None) -> None:
        self._libraries = self.libraries = libraries
        self._connections = connections or Connections()
        self._open: OrderedDict[tuple[str, ...], PersonViewer] = OrderedDict()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake open pages in this event loop."""
        self._loop = loop

    def own(self, handle: str) -> PersonViewer:
        """Return the viewer of a person's own chats."""
        libraries = self._libraries
        return self._find((handle, handle), lambda: _state(libraries.settings(handle), libraries.opener(handle)))

    def shared(self, reader: str, owner: str, *chats: str) -> PersonViewer:
        """Return the viewer of some chats of an owner, for a reader with whom they were shared."""

        def open_state() -> ViewerState:
            opener = opener_of_shared(self._libraries, owner, chats)
            return _state(settings_of_reader(self._libraries, reader, owner), opener)

        return self._find((reader, owner, *sorted(chats)), open_state)

    def everyone(self, reader: str, teammates: frozenset[str], shared: Sequence[Share]) -> PersonViewer:
        """Return the viewer of a person's own chats together with all that others share with them now."""
        by_owner: dict[str, set[str]] = {}
        for share in shared:
            by_owner.setdefault(share.owner, set()).add(share.chat)
        libraries = self._libraries

        def open_state() -> ViewerState:
            return _state(libraries.settings(reader), opener_of_all(libraries, reader, teammates, by_owner))

        key = (f"{owner} {chat}" for owner, chats in sorted(by_owner.items()) for chat in sorted(chats))
        return self._find((reader, reader, " ".join(sorted(teammates)), *key), open_state)

    def on_notice(self, notice: str) -> None:
        """Handle the notice of a worker that a library has changed. If it was rebuilt, close its viewers first."""
        handle, _, how = notice.partition(" ")
        if how == REBUILT:
            with self._lock:
                viewers = [viewer for key, viewer in self._open.items() if key[1] == handle]
            for viewer in viewers:
                self._drop(viewer)
        self.changed(handle)

    def changed(self, handle: str) -> None:
        """Tell open pages that a library has changed. Open chats catch up at the next request."""
        with self._lock:
            viewers = [viewer for key, viewer in self._open.items() if key[1] == handle]
        for viewer in viewers:
            chats = viewer.state.open_chats.have_grown()
            if not viewer.feed.streams:
                viewer.feed.tell_nothing()
                continue
            try:
                with viewer.state.library() as library:
                    newest = [chat.overview.id for chat in library.chats(limit=NEWEST)]
            except BackscrollError:
                continue
            viewer.feed.tell([*chats, *newest])

    def _drop(self, viewer: PersonViewer) -> None:
        with self._lock:
            for key in [key for key, other in self._open.items() if other is viewer]:
                del self._open[key]
        viewer.feed.end()
        viewer.state.close()

    def close(self) -> None:
        """Close all viewers."""
        with self._lock:
            viewers, self._open = list(self._open.values()), OrderedDict()
        for viewer in viewers:
            viewer.feed.end()
            viewer.state.close()

    def _find(self, key: tuple[str, ...], make: Callable[[], ViewerState]) -> PersonViewer:
        closed = None
        with self._lock:
            opened = self._open.get(key)
            if opened is None:
                opened = self._open[key] = PersonViewer(make(), ChangeFeed(self._connections))
                if self._loop is not None:
                    opened.feed.attach(self._loop)
            self._open.move_to_end(key)
            if len(self._open) > MAX_OPEN:
                unread = (other for other, viewer in self._open.items() if other != key and not viewer.feed.streams)
                closed = self._open.pop(next(unread, next(iter(self._open))))
        if closed is not None:
            closed.feed.end()
            closed.state.close()
        return opened


def _state(settings: Settings, opener: LibraryOpener) -> ViewerState:
    return ViewerState(settings, [], opener, max_rows=MAX_ROWS, closes_idle=True)
