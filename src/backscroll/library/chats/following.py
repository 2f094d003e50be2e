"""Follow one chat as it is written: its last messages, and then each one that comes or changes."""

import threading
from collections.abc import Iterator

from backscroll.conversation.messages import Message
from backscroll.errors import NothingFound
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.indexing.follow import observe
from backscroll.library.library import Library
from backscroll.store.reader import StoredChat


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
) -> Iterator[list[Message]]:
    """The last messages of the active branch, then every message that is new or changed, until `stop` is set.

    Reads the session itself, not the index: it needs no other process, and changes nothing.
    """
    reader = ChatReader(library, stored)
    reader.catch_up(library)
    cursor = reader.cursor
    branch = reader.branch_messages()
    keys = branch.keys
    yield reader.messages(library, branch, keys[max(0, len(keys) - last) :], is_live=True)
    own = {file.source for file in library.reader.files_of(stored.key)}
    for followed in observe(library, stop or threading.Event()):
        changed = [source for source in followed.sources if source in own]
        if not changed or not reader.take(library, changed):
            continue
        found = reader.changes(library, 1, cursor, is_live=True)
        cursor = found.cursor
        if found.is_reset:  # a rewind, or the file was rewritten: what follows the prompt is another branch now
            branch = reader.branch_messages()
            yield reader.messages(library, branch, branch.keys[-1:], is_live=True)
        else:
            yield [message for message, _ in found.messages]
