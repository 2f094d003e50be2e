"""Follow one chat as it is written: its last messages, and then each one that comes or changes.

Some clients write a resumed session, or what follows a compaction, into a new file: it is the same chat. After `/clear`
or `/resume`, Claude Code goes on with another chat in the same program; that one is followed then.
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
    """Messages that are new or changed, and the chat that they are in."""

    chat: StoredChat
    messages: list[Message]


def chat_to_follow(library: Library, name: str | None) -> tuple[StoredChat, bool]:
    """The chat of this id, else the one that runs now, else the latest; and whether Claude Code has it open."""
    if name is not None:
        chat = library.find(name)
    else:
        found = library.chats("is:live", limit=1) or library.chats("", limit=1)
        if not found:
            raise NothingFound("there is no chat to follow", "start Claude Code, or choose a home with --home")
        chat = found[0]
    return chat, any(session.lower() in library.live for session in chat.overview.sessions)


def follow_chat(
    library: Library, stored: StoredChat, last: int, stop: threading.Event | None = None
) -> Iterator[NewMessages]:
    """The last messages of the active branch, then every message that is new or changed, until `stop` is set.

    Reads the session itself, not the index; that is brought up to date only when the chat may go on in another file.
    """
    followed = _FollowedChat(library, stored)
    yield NewMessages(stored, followed.messages(followed.keys[max(0, len(followed.keys) - last) :]))
    for change in observe(library, stop or threading.Event()):
        if messages := followed.take(change.sources):
            yield NewMessages(followed.stored, messages)
        chat = followed.continuation(change.sources)
        if chat is not None:
            shown, followed = set(followed.keys), _FollowedChat(library, chat)
            keys = [key for key in followed.keys if key not in shown]
            yield NewMessages(chat, followed.messages(keys[-SHOWN_OF_NEXT:]))


class _FollowedChat:
    """A chat that is followed, and where it may go on."""

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
        """The messages of the active branch."""
        return self._reader.branch_messages().keys

    def messages(self, keys: Sequence[str]) -> list[Message]:
        """These messages."""
        return self._reader.messages(self._library, self._reader.branch_messages(), keys, is_live=True)

    def take(self, sources: Sequence[str]) -> list[Message]:
        """Read what was written to its files; return the messages that are new or changed."""
        changed = [source for source in sources if source in self._own]
        if not changed or not self._reader.take(self._library, changed):
            return []
        self._live()
        found = self._reader.changes(self._library, 1, self._cursor, is_live=True)
        self._cursor = found.cursor
        if found.is_reset:  # a rewind, or the file was rewritten: what follows the prompt is another branch now
            return self.messages(self.keys[-1:])
        return [message for message, _ in found.messages]

    def continuation(self, sources: Sequence[str]) -> StoredChat | None:
        """The chat to go on with after a change of these files, if it is another, or in another file."""
        changed = {
            source: session for source in sources if source not in self._own and (session := _session_of(source))
        }
        return (self._of_program() or self._with_file_of(changed)) if changed else None

    def _of_program(self) -> StoredChat | None:
        """What the program that had this chat open has open now."""
        for session, one in self._live().items():
            if one.pid in self._programs and session not in self._sessions:
                return self._find(session)
        return None

    def _live(self) -> dict[str, LiveSession]:
        """The sessions that are open now; remembers which programs have this chat."""
        live = live_sessions(self._library.homes)
        self._programs |= {one.pid for session, one in live.items() if session in self._sessions}
        return live

    def _with_file_of(self, changed: Mapping[str, str]) -> StoredChat | None:
        """The same chat, once one of these files is found to be a part of it."""
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
    """The session that a file is the transcript of."""
    place = place_of(SourceKey.parse(source).path.split("/"))
    return place.session_id if not isinstance(place, LeftOut) and place.kind is FileKind.SESSION else None


SHOWN_OF_NEXT: Final = 10
"""How many messages of a chat are shown that is followed instead of another; one that was just begun has no more."""
