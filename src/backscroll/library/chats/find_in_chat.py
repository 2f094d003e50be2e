"""Find something inside one chat, among all of its messages, loaded or not."""

from typing import Final

from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from backscroll.query.tree import All, Field, Query, Regex, leaves

MAX_HITS: Final = 5000


def find_in(library: Library, reader: ChatReader, branch_messages: BranchMessages, text: str) -> list[str]:
    """The messages of a branch that match a query, in reading order."""
    asked = library.parse(text)
    if asked.is_empty:
        return []
    # The whole id, so that no other chat matches.
    within = Field("chat", "=", reader.stored.overview.id)
    query = Query(asked.text, All((*asked.root.parts, within)))
    if any(isinstance(part, Regex) for part in leaves(query.root)):
        hits = [passage.hit for chat in library.search(query, hits=MAX_HITS).chats for passage in chat.passages]
    else:
        answer = library.reader.search(query, sort="relevance", limit=1, offset=0, hits=MAX_HITS)
        hits = [hit for chat in answer.chats for hit in chat.hits]
    keys = {branch_messages.message_with(hit.uuid or "") for hit in hits}
    return sorted((key for key in keys if key is not None), key=branch_messages.at.__getitem__)
