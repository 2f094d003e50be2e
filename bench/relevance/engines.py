"""The search engines: backscroll as its commands use it, and peers."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.memory.recall import recall
from backscroll.render.recall import recalled_text
from backscroll.settings import load_settings
from bench import peers
from bench.relevance.asked import AskedQuestion

SHOWN: Final = 20
"""As many chats as `backscroll search` shows."""
PEER_ROWS: Final = 100
"""What peers are asked for: some list messages, and ten chats have to be among them."""
OURS: Final = "backscroll"

Search = Callable[[str], list[str]]
"""From a query to the sessions of the chats that were found, the best chat first."""


@contextmanager
def our_library(home: Path, folder: Path) -> Iterator[Library]:
    """A library of this home, up to date."""
    with local_library(load_settings([home], folder), [Home(home)]) as library:
        library.refresh(with_text=True)
        yield library


def our_search(library: Library, sessions: Mapping[str, set[str]]) -> Search:
    """The results of `backscroll search`; each chat is named by the session that the queries use."""
    names = {session: min(group) for group in sessions.values() for session in group}

    def search(text: str) -> list[str]:
        try:
            found = library.search(text, limit=SHOWN)
        except BackscrollError:
            return []  # a syntax error: a user who types this finds nothing
        chats = [chat.chat.overview.sessions for chat in found.chats]
        return [next((names[name] for name in chat if name in names), chat[0] if chat else "") for chat in chats]

    return search


def our_answer(library: Library, question: AskedQuestion) -> tuple[bool, bool]:
    """Whether `backscroll recall` answers at all, and whether the answer has the fact."""
    found = recall(library, question.text)
    text = plain(recalled_text(found))
    return bool(found.passages), any(plain(fact) in text for fact in question.facts)


def plain(text: str) -> str:
    """A text without the marks of quotations and Markdown, in one line of small letters."""
    return " ".join(MARKS.sub("", QUOTED.sub("", text)).split()).casefold()


def peer_search(search: peers.Search) -> Search:
    """The results of a peer for the unchanged query."""

    def asked(text: str) -> list[str]:
        try:
            return search(peers.PeerQuery("word", (text,), limit=PEER_ROWS))
        except peers.UnableError:
            return []

    return asked


QUOTED: Final = re.compile(r"^> ?", re.MULTILINE)
MARKS: Final = re.compile(r"[`*]")
