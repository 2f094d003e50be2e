"""Find the chat with the start of an id."""

from backscroll.errors import NoSuchChat, UsageError
from backscroll.store.reader import StoredChat, StoreReader


def chat_by_id(reader: StoreReader, prefix: str) -> StoredChat:
    """Return the chat whose id (or a session, message or agent id in it) starts with `prefix`; its ids come first."""
    matches = reader.find(prefix.lower()) or reader.find(prefix)
    names = {chat.key: [own.lower() for own in (chat.overview.id, *chat.overview.sessions)] for chat in matches}
    exact = [chat for chat in matches if prefix.lower() in names[chat.key]]
    own = [chat for chat in matches if any(own_id.startswith(prefix.lower()) for own_id in names[chat.key])]
    matches = exact if len(exact) == 1 else own or matches
    if not matches:
        raise NoSuchChat(f"no chat, session, message or agent id starts with {prefix}", "see backscroll list")
    if len(matches) > 1:
        some = ", ".join(f"{chat.overview.id[:13]} ({chat.overview.title[:30]})" for chat in matches[:4])
        problem = "chats start with" if own else "chats have an id that starts with"
        raise UsageError(f"{len(matches)} {problem} {prefix}: {some}", "give a longer prefix")
    return matches[0]
