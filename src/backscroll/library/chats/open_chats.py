"""The chats that are open, shared by all threads: each is opened once, and nobody waits for another's."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from backscroll.store import StoredChat

MOST_ROWS: Final = 50_000
"""How many rows are held in memory, of all chats together; the chat that was opened last is held whatever its size."""


class Opening:
    """A chat that is being opened."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads = 0
        """How many want it."""


class OpenChats:
    """The chats that are open, those that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Held only to look up and note which chats are open, never while one is read."""
        self._opening: dict[str, Opening] = {}
        self._open: OrderedDict[str, ChatReader] = OrderedDict()

    def open(self, library: Library, name: str) -> ChatReader:
        """A chat by its id, or that of a session, message or agent in it."""
        stored = library.find(name)
        if (found := self._opened(stored)) is not None:
            return found
        with self._alone(stored.overview.id):  # two who want the same chat at once would each read all of it
            if (found := self._opened(stored)) is not None:
                return found
            opened = ChatReader(library, stored)
            with self._lock:
                self._open[stored.overview.id] = opened
                self._make_room()
            opened.catch_up(library)  # whoever told of a change meanwhile did not know of it
            return opened

    def _make_room(self) -> None:
        """Let go of the chats that were asked for longest ago, while there are too many rows."""
        while len(self._open) > 1 and sum(one.rows for one in self._open.values()) > MOST_ROWS:
            self._open.popitem(last=False)

    def has(self, chat: StoredChat) -> bool:
        """Whether a chat is open already."""
        return self._opened(chat) is not None

    def _opened(self, chat: StoredChat) -> ChatReader | None:
        with self._lock:
            found = self._open.get(chat.overview.id)
            if found is None or found.stored.key != chat.key:
                return None
            self._open.move_to_end(chat.overview.id)
            found.stored = chat
            return found

    @contextmanager
    def _alone(self, chat: str) -> Iterator[None]:
        """Wait for others that open this chat, and for nobody else."""
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
        """Let open chats go on with what was added to files; the ids of all chats that the files are part of."""
        names = library.store.chats_at(sources)
        for chat in set(names.values()):
            with self._lock:
                opened = self._open.get(chat)
            if opened is not None:
                try:
                    opened.take(library, [source for source, name in names.items() if name == chat])
                except BackscrollError:
                    with self._lock:
                        self._open.pop(chat, None)
        with self._lock:
            self._make_room()  # chats that are open grow, too
        return sorted(set(names.values()))

    def catch_up(self, library: Library) -> list[str]:
        """Let every open chat go on with what was added to its files while nothing was followed; their ids."""
        with self._lock:
            names = list(self._open)
        sources: list[str] = []
        for name in names:
            try:
                stored = library.find(name)
            except BackscrollError:
                with self._lock:
                    self._open.pop(name, None)
            else:
                sources += library.store.sources(stored.key)
        return self.take(library, sources)
