"""The chats that the user marked."""

from typing import NamedTuple

from backscroll.errors import BackscrollError
from backscroll.library.library import Library
from backscroll.library.marks import Mark
from backscroll.store.reader import StoredChat


class MarkedChat(NamedTuple):
    """A chat and its marks."""

    id: str
    chat: StoredChat | None
    """None if this library has no chat with such a session, or no longer has it."""
    mark: Mark


def sessions_of(stored: StoredChat) -> list[str]:
    """Return the session ids that may carry a chat's marks; without any marks, the first is used."""
    return list(dict.fromkeys([stored.overview.id, *stored.overview.sessions]))


def marked_chat(library: Library, stored: StoredChat) -> MarkedChat:
    """Return the marks of one chat."""
    return MarkedChat(stored.overview.id, stored, library.marks.of(sessions_of(stored)))


def marked_chats(library: Library) -> list[MarkedChat]:
    """Return every marked chat, in the order of `list`, followed by marks without a chat in this library."""
    by_key: dict[int, StoredChat] = {}
    lost = []
    for session, mark in library.marks.chats.items():
        try:
            stored = library.find(session)
        except BackscrollError:
            lost.append(MarkedChat(session, None, mark))
        else:
            by_key[stored.key] = stored
    order = sorted(by_key.values(), key=_age)
    return [*(marked_chat(library, stored) for stored in order), *lost]


def _age(stored: StoredChat) -> float:
    last_active = stored.overview.last_active
    return -last_active.timestamp() if last_active else 0.0
