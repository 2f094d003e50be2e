"""What a search found: chats, and the passages in them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Self

from backscroll.api.chats import Chat, chat_of
from backscroll.api.rows import Item, Items

if TYPE_CHECKING:
    from backscroll.api.library import Library
    from backscroll.library import Hit
    from backscroll.library.memory.citations import RecalledPassage
    from backscroll.library.searching.search import FoundPassage, SearchResults


class InChat(Item):
    """Something of a chat, with what one wants to know of the chat itself."""

    __slots__ = ()
    chat: Chat

    @property
    def title(self) -> str:
        """Of the chat."""
        return self.chat.title

    @property
    def project(self) -> str | None:
        """Of the chat."""
        return self.chat.project


@dataclass(frozen=True, slots=True)
class Recalled(Item):
    """A passage that answers a question, with its source."""

    COLUMNS: ClassVar = (
        "chat", "title", "project", "message", "time", "role", "agent", "text", "is_cut", "score",
    )  # fmt: skip
    SHOWN: ClassVar = ("chat", "title", "time", "role", "text")

    chat: str
    """The id of the chat."""
    title: str
    project: str | None
    message: str
    """The uuid of its row."""
    time: datetime | None
    role: str
    agent: str | None
    text: str
    is_cut: bool
    """Whether there was no room for all of it."""
    score: float

    @classmethod
    def of(cls, passage: "RecalledPassage") -> Self:
        """The values of a passage."""
        source = passage.source
        return cls(
            source.chat, source.title, source.project, source.message, source.when, source.role, source.agent,
            passage.text, passage.is_cut, passage.score,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage(InChat):
    """A passage that was found: a prompt, a part of an answer, a call, an output, a title."""

    COLUMNS: ClassVar = (
        "chat", "title", "project", "session", "agent", "message", "message_id", "kind", "tool", "is_error",
        "is_abandoned", "time", "snippet", "highlights", "score",
    )  # fmt: skip
    SHOWN: ClassVar = ("chat", "title", "kind", "tool", "time", "snippet")

    chat: Chat
    kind: str
    """What the query calls `role:`: `title`, `prompt`, `answer`, `thinking`, `input`, `output` or `other`."""
    time: datetime | None
    snippet: str
    """The piece of it that shows why it was found."""
    highlights: tuple[tuple[int, int], ...]
    """Where in the snippet the words are: start and end."""
    session: str | None
    agent: str | None
    """The agent that it belongs to; None for the chat itself."""
    message: str | None
    """The uuid of its row."""
    message_id: str | None
    """The API's id of the answer."""
    tool: str | None
    is_error: bool
    is_abandoned: bool
    """Whether it is on a branch that is no longer the active one."""
    score: float
    """To be compared within one answer only."""
    _library: "Library" = field(repr=False, compare=False)
    _hit: "Hit" = field(repr=False, compare=False)

    def text(self) -> str:
        """The full text, read from its source."""
        return self._library._require_open().text(self._hit)

    def _html(self, name: str) -> str:
        from backscroll.api.html import highlight_html

        return highlight_html(self.snippet, self.highlights) if name == "snippet" else Item._html(self, name)


@dataclass(frozen=True, slots=True)
class Result(InChat):
    """A chat that was found, with its best passages."""

    COLUMNS: ClassVar = ("chat", "title", "project", "last_active", "found", "score")
    SHOWN: ClassVar = ("chat", "title", "project", "last_active", "found")

    chat: Chat
    found: int
    """How many passages of it answer the query."""
    passages: Items[Passage]
    """The best of them."""
    score: float

    @property
    def last_active(self) -> datetime | None:
        """Of the chat."""
        return self.chat.last_active


class Results(Items[Passage]):
    """One page of what was found: a sequence of passages, chat by chat."""

    def __init__(
        self, chats: Iterable[Result], *, total: int, total_chats: int, pending: int, is_complete: bool
    ) -> None:
        self.chats = Items(Result, chats)
        """The chats that the passages are in, the best first."""
        super().__init__(Passage, (passage for result in self.chats for passage in result.passages))
        self.total = total
        """How many passages there are, also beyond this page."""
        self.total_chats = total_chats
        self.pending = pending
        """How many passages cannot be found yet: `update` makes them so."""
        self.is_complete = is_complete
        """False where a regular expression was looked for only as long as time allowed: the totals are lower bounds."""


def results_of(library: "Library", found: "SearchResults") -> Results:
    """All of it from what the library found."""
    results = []
    for entry in found.chats:
        chat = chat_of(library, entry.chat)
        passages = Items(Passage, [_passage(library, chat, passage) for passage in entry.passages])
        results.append(Result(chat, entry.found, passages, entry.score))
    return Results(
        results,
        total=found.total,
        total_chats=found.total_chats,
        pending=found.pending,
        is_complete=found.is_whole,
    )


def _passage(library: "Library", chat: Chat, found: "FoundPassage") -> Passage:
    from backscroll.render.search_results import moment_of

    hit = found.hit
    return Passage(
        chat=chat,
        kind=str(hit.role),
        time=moment_of(hit.time),
        snippet=found.snippet.text,
        highlights=tuple(found.snippet.highlights),
        session=hit.session,
        agent=hit.agent,
        message=hit.uuid,
        message_id=hit.message,
        tool=hit.tool,
        is_error=hit.is_error,
        is_abandoned=hit.is_abandoned,
        score=hit.score,
        _library=library,
        _hit=hit,
    )
