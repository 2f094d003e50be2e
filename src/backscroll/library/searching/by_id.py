"""The chat that the start of an id means."""

from backscroll.errors import NoSuchChat, UsageError
from backscroll.store.reader import StoredChat, StoreReader


def chat_by_id(reader: StoreReader, prefix: str) -> StoredChat:
    """The chat whose id (or a session, message or agent id in it) starts with `prefix`; its own ids come first."""
    found = reader.find(prefix.lower()) or reader.find(prefix)
    names = {chat.key: [own.lower() for own in (chat.overview.id, *chat.overview.sessions)] for chat in found}
    exact = [chat for chat in found if prefix.lower() in names[chat.key]]
    own = [chat for chat in found if any(one.startswith(prefix.lower()) for one in names[chat.key])]
    found = exact if len(exact) == 1 else own or found
    if not found:
        raise NoSuchChat(f"no chat, session, message or agent id starts with {prefix}", "see backscroll list")
    if len(found) > 1:
        some = ", ".join(f"{chat.overview.id[:13]} ({chat.overview.title[:30]})" for chat in found[:4])
        problem = "chats start with" if own else "chats have an id that starts with"
        raise UsageError(f"{len(found)} {problem} {prefix}: {some}", "give a longer prefix")
    return found[0]
