"""The open chats, shared by all threads: each is opened once, and opening one never delays another."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.chats.released_rows import release_rows
from backscroll.library.library import Library
from backscroll.store.reader import StoredChat

MAX_ROWS: Final = 20_000
"""Number of rows of all chats held in memory, 2 kB each; the last opened chat is kept whatever its size."""


class Opening:
    """A chat that is being opened."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads = 0
        """Number of threads that wait for the chat."""


class OpenChats:
    """The most recently used open chats."""

    def __init__(self, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._lock = threading.Lock()
        """Held only to look up and record open chats, never while reading one."""
        self._opening: dict[str, Opening] = {}
        self._open: OrderedDict[str, ChatReader] = OrderedDict()
        self._behind: dict[str, int] = {}
        """The open chats that may have grown, each with the number of the change up to which it must be read."""
        self._changes = 0

    def open(self, library: Library, chat: str | StoredChat) -> ChatReader:
        """Open a chat: given itself, its id, or the id of a session, message or agent in it."""
        stored = library.find(chat) if isinstance(chat, str) else chat
        name = stored.overview.id
        if (reader := self._opened(stored)) is not None and name not in self._behind:
            return reader
        with self._alone(name):  # otherwise two threads would each read the whole chat
            if (reader := self._opened(stored)) is not None and self._is_caught_up(library, reader):
                return reader
            opened = ChatReader(library, stored)
            self._release(name)
            with self._lock:
                self._open[name] = opened
            self._make_room()
            opened.catch_up(library)  # a change reported in between did not reach it
            return opened

    def have_grown(self) -> list[str]:
        """Note that any open chat may have grown: each catches up on its next use. Returns the ids of all of them."""
        with self._lock:
            self._changes += 1
            self._behind = dict.fromkeys(self._open, self._changes)
            return list(self._open)

    def _is_caught_up(self, library: Library, opened: ChatReader) -> bool:
        """Read additions to a chat; return whether that worked."""
        name = opened.stored.overview.id
        change = self._behind.get(name)
        if change is None:
            return True
        try:
            opened.catch_up(library)
        except BackscrollError:
            return False
        with self._lock:
            if self._behind.get(name) == change:  # otherwise it has changed again
                del self._behind[name]
        return True

    def _release(self, chat: str) -> None:
        with self._lock:
            rows = self._open.pop(chat).rows if chat in self._open else 0
            self._behind.pop(chat, None)
        release_rows(rows)

    def _make_room(self) -> None:
        """Release the least recently used chats while there are too many rows."""
        released = 0
        with self._lock:
            while len(self._open) > 1 and sum(reader.rows for reader in self._open.values()) > self._max_rows:
                name, oldest = self._open.popitem(last=False)
                self._behind.pop(name, None)
                released += oldest.rows
        release_rows(released)

    def has(self, chat: StoredChat) -> bool:
        """Whether a chat is already open."""
        return self._opened(chat) is not None

    def _opened(self, chat: StoredChat) -> ChatReader | None:
        with self._lock:
            reader = self._open.get(chat.overview.id)
            if reader is None or reader.stored.key != chat.key:
                return None
            self._open.move_to_end(chat.overview.id)
            reader.stored = chat
            return reader

    @contextmanager
    def _alone(self, chat: str) -> Iterator[None]:
        """Wait only for other threads that open this chat."""
        with self._lock:
            opening = self._opening.setdefault(chat, Opening())
            opening.threads += 1
        try:
            with opening.lock:
                yield
        finally:
            with self._lock:
                opening.threads -= 1
                if not opening.threads:
                    del self._opening[chat]

    def take(self, library: Library, sources: Iterable[str]) -> list[str]:
        """Update open chats from files that grew.

        Return the ids of all chats of these files, also of open chats that became part of another.
        """
        names = library.reader.chat_ids(sources)
        chats = set(names.values())
        for chat in chats:
            with self._lock:
                opened = self._open.get(chat)
            if opened is not None:
                try:
                    opened.take(library, [source for source, name in names.items() if name == chat])
                except BackscrollError:
                    self._release(chat)
        with self._lock:
            renamed = [chat for chat, reader in self._open.items() if chat not in chats and reader.has_any_of(names)]
        for chat in renamed:
            self._release(chat)
        self._make_room()  # open chats grow too
        return sorted({*chats, *renamed})

    def catch_up(self, library: Library) -> list[str]:
        """Update every open chat from its files after a time without following; return their ids."""
        with self._lock:
            names = list(self._open)
        sources: list[str] = []
        for name in names:
            try:
                stored = library.find(name)
            except BackscrollError:
                self._release(name)
            else:
                sources += (file.source for file in library.reader.files_of(stored.key))
        return self.take(library, sources)
