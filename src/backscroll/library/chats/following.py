"""Follow one chat as it is written: its last messages, and then each one that is new or changed.

Some clients write a resumed session, or the part after a compaction, into a new file: it is the same chat. After
`/clear` or `/resume`, Claude Code continues with another chat in the same program; that chat is followed then.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from backscroll.conversation.messages import Message
from backscroll.errors import NothingFound
from backscroll.files.layout import FileKind, LeftOut, place_of
from backscroll.files.source_key import SourceKey
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.homes import live_sessions
from backscroll.library.indexing.follow import observe
from backscroll.library.library import Library
from backscroll.records.sidecars import LiveSession
from backscroll.store.reader import StoredChat


class NewMessages(NamedTuple):
    """Messages that are new or changed, and their chat."""

    chat: StoredChat
    messages: list[Message]


def chat_to_follow(library: Library, name: str | None) -> tuple[StoredChat, bool]:
    """Return the chat with this id, else the running one, else the latest; and whether Claude Code has it open."""
    if name is not None:
        chat = library.find(name)
    else:
        chats = library.chats("is:live", limit=1) or library.chats("", limit=1)
        if not chats:
            raise NothingFound("there is no chat to follow", "start Claude Code, or choose a home with --home")
        chat = chats[0]
    return chat, any(session.lower() in library.live for session in chat.overview.sessions)


def follow_chat(
    library: Library, stored: StoredChat, last: int, stop: threading.Event | None = None
) -> Iterator[NewMessages]:
    """Yield the last messages of the active branch, then every message that is new or changed, until `stop` is set.

    Reads the session itself, not the index, which is updated only when the chat may continue in another file.
    """
    followed = _FollowedChat(library, stored)
    yield NewMessages(stored, followed.messages(followed.keys[max(0, len(followed.keys) - last) :]))
    for change in observe(library, stop or threading.Event()):
        if messages := followed.take(change.sources):
            yield NewMessages(followed.stored, messages)
        chat = followed.continuation(change.sources)
        if chat is not None:
            seen, followed = set(followed.keys), _FollowedChat(library, chat)
            keys = [key for key in followed.keys if key not in seen]
            yield NewMessages(chat, followed.messages(keys[-SHOWN_OF_NEXT:]))


class _FollowedChat:
    """A chat that is followed, and its possible continuations."""

    def __init__(self, library: Library, stored: StoredChat) -> None:
        self.stored = stored
        self._library = library
        self._sessions = {session.lower() for session in stored.overview.sessions}
        self._own = {file.source for file in library.reader.files_of(stored.key)}
        self._of_others: set[str] = set()
        self._programs: set[int] = set()
        self._reader = ChatReader(library, stored)
        self._reader.catch_up(library)
        self._cursor = self._reader.cursor
        self._live()

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the messages of the active branch."""
        return self._reader.branch_messages().keys

    def messages(self, keys: Sequence[str]) -> list[Message]:
        """Return the messages with these keys."""
        return self._reader.messages(self._library, self._reader.branch_messages(), keys, is_live=True)

    def take(self, sources: Sequence[str]) -> list[Message]:
        """Read additions to the chat's files; return the messages that are new or changed."""
        changed = [source for source in sources if source in self._own]
        if not changed or not self._reader.take(self._library, changed):
            return []
        self._live()
        news = self._reader.changes(self._library, 1, self._cursor, is_live=True)
        self._cursor = news.cursor
        if news.is_reset:  # a rewind, or the file was rewritten: the messages after the prompt are another branch now
            return self.messages(self.keys[-1:])
        return [message for message, _ in news.messages]

    def continuation(self, sources: Sequence[str]) -> StoredChat | None:
        """Return the chat to continue with after a change of these files, if it is another, or in another file."""
        changed = {
            source: session for source in sources if source not in self._own and (session := _session_of(source))
        }
        return (self._of_program() or self._with_file_of(changed)) if changed else None

    def _of_program(self) -> StoredChat | None:
        """Return the chat that is now open in the program that had this chat open."""
        for session, open_session in self._live().items():
            if open_session.pid in self._programs and session not in self._sessions:
                return self._find(session)
        return None

    def _live(self) -> dict[str, LiveSession]:
        """Return the open sessions, and remember the programs that have this chat."""
        live = live_sessions(self._library.homes)
        self._programs |= {open_session.pid for session, open_session in live.items() if session in self._sessions}
        return live

    def _with_file_of(self, changed: Mapping[str, str]) -> StoredChat | None:
        """Return this chat, reloaded, once one of these files proves to be a part of it."""
        for source, session in changed.items():
            if source in self._of_others:
                continue
            chat = self._find(session)
            if chat is not None and not self._sessions.isdisjoint(map(str.lower, chat.overview.sessions)):
                return chat
            if chat is not None and chat.overview.messages:
                self._of_others.add(source)
        return None

    def _find(self, session: str) -> StoredChat | None:
        self._library.refresh(with_text=False)
        self._library.renew()
        try:
            return self._library.find(session)
        except NothingFound:
            return None  # nothing is written yet


def _session_of(source: str) -> str | None:
    """Return the session whose transcript a file is."""
    place = place_of(SourceKey.parse(source).path.split("/"))
    return place.session_id if not isinstance(place, LeftOut) and place.kind is FileKind.SESSION else None


SHOWN_OF_NEXT: Final = 10
"""Number of messages shown of a chat that replaces the followed one; a chat that just began has no more."""
