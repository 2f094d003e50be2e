"""Typed prompts of a chat as text: by the id of a message, or the first of a chat."""

from typing import NamedTuple

from backscroll.conversation.kinds import HUMAN
from backscroll.errors import NothingFound, UsageError
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library


class ChatPrompt(NamedTuple):
    """A prompt as the user typed it."""

    chat: str
    message: str
    text: str


def typed_prompt_named(library: Library, name: str) -> ChatPrompt:
    """Return the prompt `CHAT/MESSAGE`, or the message alone, or the first prompt of a chat; prefixes are enough."""
    chat, _, message = name.strip().rpartition("/")
    stored = library.find(chat or message)
    reader = ChatReader(library, stored)
    own = (stored.overview.id, *stored.overview.sessions)
    if not chat and any(own_id.lower().startswith(message.lower()) for own_id in own):
        return _first(library, reader)
    named = library.reader.messages_named(stored.key, message)
    if not named:
        raise NothingFound(f"the chat {stored.overview.id[:8]} has no message {message}", "check the id")
    if len(named) > 1:
        raise UsageError(f"several messages start with {message}", "write more of it")
    return typed_prompt(library, reader, named[0].uuid)


def typed_prompt(library: Library, reader: ChatReader, message: str) -> ChatPrompt:
    """Return a prompt of an open chat."""
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
