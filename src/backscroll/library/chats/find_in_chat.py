"""Search inside one chat, among all of its messages, loaded or not."""

from typing import Final, NamedTuple

from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from backscroll.library.searching.search import with_corrections
from backscroll.query.snippets import marked_texts
from backscroll.query.tree import All, Field, Query, Regex, leaves

MAX_HITS: Final = 5000


class FoundInChat(NamedTuple):
    """The result of a search in a branch."""

    messages: list[str]
    """The messages that match, in reading order."""
    texts: list[str]
    """The texts to highlight in them, in lower case."""


def find_in(library: Library, reader: ChatReader, branch_messages: BranchMessages, text: str) -> FoundInChat:
    """Return the messages of a branch that match a query."""
    parsed = library.parse(text)
    if parsed.is_empty:
        return FoundInChat([], [])
    # The whole id, so that no other chat matches.
    within = Field("chat", "=", reader.stored.overview.id)
    query = Query(parsed.text, All((*parsed.root.parts, within)))
    if any(isinstance(part, Regex) for part in leaves(query.root)):
        answer_of_regex = library.search(query, hits=MAX_HITS)
        hits, corrections = (
            [passage.hit for chat in answer_of_regex.chats for passage in chat.passages],
            answer_of_regex.corrections,
        )
    else:
        answer = library.reader.search(query, sort="relevance", limit=1, offset=0, hits=MAX_HITS)
        hits, corrections = [hit for chat in answer.chats for hit in chat.hits], answer.corrections
    keys = {branch_messages.message_with(hit.uuid or "") for hit in hits}
    messages = sorted((key for key in keys if key is not None), key=branch_messages.at.__getitem__)
    return FoundInChat(messages, marked_texts(with_corrections(parsed, corrections)))
