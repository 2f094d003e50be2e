"""What the user typed in a chat, as text: the prompt behind the id of a message, or the first of a chat."""

from typing import NamedTuple

from backscroll.conversation.kinds import HUMAN
from backscroll.errors import NothingFound, UsageError
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library


class ChatPrompt(NamedTuple):
    """A prompt as it was typed."""

    chat: str
    message: str
    text: str


def typed_prompt_named(library: Library, name: str) -> ChatPrompt:
    """The prompt `CHAT/MESSAGE`, or the message alone, or the first prompt of a chat; prefixes are enough."""
    chat, _, message = name.strip().rpartition("/")
    stored = library.find(chat or message)
    reader = ChatReader(library, stored)
    own = (stored.overview.id, *stored.overview.sessions)
    if not chat and any(one.lower().startswith(message.lower()) for one in own):
        return _first(library, reader)
    found = library.reader.messages_named(stored.key, message)
    if not found:
        raise NothingFound(f"the chat {stored.overview.id[:8]} has no message {message}", "check the id")
    if len(found) > 1:
        raise UsageError(f"several messages start with {message}", "write more of it")
    return typed_prompt(library, reader, found[0].uuid)


def typed_prompt(library: Library, reader: ChatReader, message: str) -> ChatPrompt:
    """A prompt of an open chat."""
    place = reader.locate(message)
    if place is not None:
        branch, key = place
        for read in reader.messages(library, reader.branch_messages(branch), [key]):
            if read.kind in HUMAN and read.text.strip():
                return ChatPrompt(reader.stored.overview.id, read.key, read.text)
    raise NothingFound(f"the message {message} is not a prompt with text", "choose a message that you typed")


def _first(library: Library, reader: ChatReader) -> ChatPrompt:
    for entry in reader.branch_messages().entries:
        if entry.rows[0].kind in HUMAN and entry.rows[0].text.strip():
            return typed_prompt(library, reader, entry.key)
    raise NothingFound(f"the chat {reader.stored.overview.id[:8]} has no prompt", "choose another chat")
