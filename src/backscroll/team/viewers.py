"""What each person sees in the viewer: their own library, and chats that others shared with them.

Each has libraries, open chats and an event feed of its own, so that nothing is ever handed from one person to another.
"""

import asyncio
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from starlette.types import Scope

from backscroll.errors import BackscrollError, NothingFound
from backscroll.httpd.connections import Connections
from backscroll.library.pool import LibraryOpener
from backscroll.settings import Settings
from backscroll.team.context import OWNER, TeamContext
from backscroll.team.libraries import Libraries
from backscroll.team.people import Person, teammates
from backscroll.team.prompts import TeamPrompts
from backscroll.team.shares import Share, note_access, shared_with
from backscroll.web.events import FEED, ChangeFeed
from backscroll.web.state import PROMPTS, VIEWER, ViewerState

MAX_OPEN: Final = 128
"""Viewers that stay open, of all people. One that waits for its reader has no connection to the database."""
MAX_ROWS: Final = 5_000
"""How many rows of chats each of them holds in memory; the last chat is held whatever its size."""
CHAT: Final = re.compile(r"/(?:api/v1/)?chats/(?P<chat>[^/]+)(?P<rest>/.*)?")
NEWEST: Final = 20
ANEW: Final = "anew"
"""What a notice says of a library from which texts were removed."""
SEARCHES: Final = frozenset({"/search", "/palette", "/api/v1/search"})
LISTS: Final = frozenset({"/chats", "/api/v1/chats"})


class PersonViewer(NamedTuple):
    """The viewer of a person for one owner's chats, most often their own."""

    state: ViewerState
    feed: ChangeFeed


class Viewers:
    """The open viewers."""

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
        """The viewer of a person's own chats."""
        found = self._libraries
        return self._find((handle, handle), lambda: _state(found.settings(handle), found.opener(handle)))

    def shared(self, reader: str, owner: str, *chats: str) -> PersonViewer:
        """The viewer of some chats of an owner, for a reader with whom they were shared."""

        def made() -> ViewerState:
            opener = self._libraries.opener_of_shared(owner, chats)
            return _state(self._libraries.settings_of_reader(reader, owner), opener)

        return self._find((reader, owner, *sorted(chats)), made)

    def everyone(self, reader: str, teammates: frozenset[str], shared: Sequence[Share]) -> PersonViewer:
        """The viewer of a person's own chats together with all that others share with them now."""
        by_owner: dict[str, set[str]] = {}
        for one in shared:
            by_owner.setdefault(one.owner, set()).add(one.chat)
        found = self._libraries

        def made() -> ViewerState:
            return _state(found.settings(reader), found.opener_of_all(reader, teammates, by_owner))

        key = (f"{owner} {chat}" for owner, chats in sorted(by_owner.items()) for chat in sorted(chats))
        return self._find((reader, reader, " ".join(sorted(teammates)), *key), made)

    def told(self, notice: str) -> None:
        """A worker says whose library has changed, and perhaps that it was made anew: then nothing of it is reused."""
        handle, _, how = notice.partition(" ")
        if how == ANEW:
            with self._lock:
                found = [viewer for key, viewer in self._open.items() if key[1] == handle]
            for viewer in found:
                self._drop(viewer)
        self.changed(handle)

    def changed(self, handle: str) -> None:
        """The library of a person has changed: open chats catch up when they are asked for, and open pages are told."""
        with self._lock:
            found = [viewer for key, viewer in self._open.items() if key[1] == handle]
        for viewer in found:
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
            for key in [key for key, one in self._open.items() if one is viewer]:
                del self._open[key]
        viewer.feed.end()
        viewer.state.close()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            found, self._open = list(self._open.values()), OrderedDict()
        for viewer in found:
            viewer.feed.end()
            viewer.state.close()

    def _find(self, key: tuple[str, ...], make: Callable[[], ViewerState]) -> PersonViewer:
        closed = None
        with self._lock:
            found = self._open.get(key)
            if found is None:
                found = self._open[key] = PersonViewer(make(), ChangeFeed(self._connections))
                if self._loop is not None:
                    found.feed.attach(self._loop)
            self._open.move_to_end(key)
            if len(self._open) > MAX_OPEN:
                unread = (one for one, viewer in self._open.items() if one != key and not viewer.feed.streams)
                closed = self._open.pop(next(unread, next(iter(self._open))))
        if closed is not None:
            closed.feed.end()
            closed.state.close()
        return found


class RightsOfAsker:
    """Gives each request the libraries that its asker may read, and nothing else."""

    def __init__(self, context: TeamContext, viewers: Viewers) -> None:
        self._context, self._viewers = context, viewers

    def __call__(self, scope: Scope, person: Person) -> None:
        """Called for every request of a person, before any route."""
        viewer = self._viewers.own(person.handle)
        if self._is_about_others(scope):
            viewer = self._everyone(person) or viewer
        match = CHAT.fullmatch(scope["path"])
        if match and not _has(viewer.state, match["chat"]):
            with self._context.database.transaction(person.org) as connection:
                found = _shared(shared_with(connection, person), match["chat"])
                if found is not None:
                    viewer = self._viewers.shared(person.handle, found.owner, found.chat)
                    scope[OWNER] = found.owner
                    note_access(connection, person, found)
        scope[VIEWER] = viewer.state
        scope[PROMPTS] = TeamPrompts(self._context.database, person)
        scope[FEED] = viewer.feed

    def _is_about_others(self, scope: Scope) -> bool:
        """Whether a list may show chats of others: a search does unless it says otherwise, a list if it says so."""
        path = scope["path"]
        return path in SEARCHES or (path in LISTS and b"owner" in scope.get("query_string", b"").lower())

    def _everyone(self, person: Person) -> PersonViewer | None:
        with self._context.database.transaction(person.org) as connection:
            shared = shared_with(connection, person)
            mates = teammates(connection, person) if shared else frozenset()
        return self._viewers.everyone(person.handle, mates, shared) if shared else None


def _state(settings: Settings, opener: LibraryOpener) -> ViewerState:
    return ViewerState(settings, [], opener, max_rows=MAX_ROWS, closes_idle=True)


def _has(state: ViewerState, chat: str) -> bool:
    try:
        with state.library() as library:
            library.find(chat)
    except NothingFound:
        return False
    except BackscrollError:
        return True  # an ambiguous name: the page says so
    return True


def _shared(found: list[Share], name: str) -> Share | None:
    """The shared chat with this id. A prefix is not enough: it would tell that there is a chat."""
    return next((one for one in found if one.chat == name), None)
