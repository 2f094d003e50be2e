"""The turns of real chats, and what precedes the first prompt, add up to what their chat cost."""

import pytest

from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.chats.outline import outline_of
from backscroll.library.library import Library


@pytest.mark.slow
def test_the_turns_of_every_real_chat_add_up_to_its_cost(corpus_library: Library) -> None:
    open_chats = OpenChats()
    wrong = {}
    for stored in corpus_library.chats():
        reader = open_chats.open(corpus_library, stored)
        turns: dict[str, int] = {}
        for branch in reader.chat.branches:
            headings = outline_of(corpus_library, reader, reader.branch_messages(branch.number))
            turns |= {heading.key: heading.cost or 0 for heading in headings}
        if sum(turns.values()) != (stored.cost or 0):
            wrong[stored.overview.id] = (sum(turns.values()), stored.cost)
    assert wrong == {}
