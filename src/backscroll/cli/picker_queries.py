"""The picker's queries, answered in the background: typing never waits, and only the latest request counts."""

import contextlib
import ctypes
import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from backscroll.errors import BackscrollError
from backscroll.render.cells import cut
from backscroll.render.picker import Line, PickerEntry
from backscroll.render.search_results import ago, passage_line
from backscroll.render.terminal import clean_line, plural

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.library import Library
    from backscroll.library.searching.search import FoundPassage
    from backscroll.query.tree import Query

Question = TypeVar("Question")
Answer = TypeVar("Answer")
PATIENCE = 0.04
"""Seconds to wait for the next key before searching."""


class LatestAnswer(Generic[Question, Answer]):
    """A background thread that answers one question at a time, always the latest; older ones are dropped."""

    def __init__(self, answer: Callable[[Question], Answer], close: Callable[[], object]) -> None:
        self._answer = answer
        self._close = close
        self._condition = threading.Condition()
        self._question: Question | None = None
        self._answered: tuple[Question, Answer | str] | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, question: Question) -> None:
        """Replace any earlier question by this one."""
        with self._condition:
            self._question = question
            self._condition.notify()

    def answered(self) -> tuple[Question, Answer | str] | None:
        """Return the newest answer with its question, if there is one; a string is an error message."""
        with self._condition:
            newest, self._answered = self._answered, None
            return newest

    def stop(self) -> None:
        """End the thread, even in the middle of a long query."""
        with self._condition:
            self._is_over = True
            self._condition.notify()
        self._thread.join(0.2)
        if self.is_alive:
            # It must end before the interpreter does: a thread inside the search engine would crash it.
            ending = ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident or 0), ending)
            self._thread.join(5)

    @property
    def is_alive(self) -> bool:
        """Whether the thread can still answer."""
        return self._thread.is_alive()

    def _run(self) -> None:
        with contextlib.suppress(SystemExit):
            self._answer_all()
        self._close()

    def _answer_all(self) -> None:
        while (question := self._next()) is not None:
            answer: Answer | str
            try:
                answer = self._answer(question)
            except BackscrollError as error:
                answer = f"{clean_line(getattr(error, 'problem', error.message))} ({clean_line(error.hint)})"
            except Exception as error:  # nothing above catches it in a thread, and the user must see it
                answer = f"the search failed: {clean_line(str(error))}"
            with self._condition:
                self._answered = (question, answer)

    def _next(self) -> Question | None:
        with self._condition:
            while self._question is None and not self._is_over:
                self._condition.wait()
            # Wait for a pause in typing.
            while not self._is_over and self._condition.wait(PATIENCE):
                pass
            question, self._question = self._question, None
            return None if self._is_over else question


class ListRequest(NamedTuple):
    """The list to load: query, order, and how many chats."""

    text: str
    sort: str
    limit: int
    width: int
    """Width of the list, in columns."""
    round: int
    """Incremented to repeat the same request."""


class ChatList(NamedTuple):
    """The chats of the list."""

    entries: list[PickerEntry]
    amount: str
    chats: "dict[str, StoredChat]"
    messages: dict[str, str]
    """Id of the message of the passage that is shown for a chat, by the chat's id."""


class PreviewRequest(NamedTuple):
    """The preview to load: a chat, the query, and the width of the pane."""

    chat: "StoredChat"
    text: str
    width: int
    round: int


class PickerQueries:
    """The picker's queries. Each instance opens its own library: list and preview do not wait for each other."""

    def __init__(self, open_anew: "Callable[[], Library]") -> None:
        self._open = open_anew
        self._library: Library | None = None
        self._round = 0

    def found(self, request: ListRequest) -> ChatList:
        """Return the chats that match the query; for an empty query, all chats by time."""
        from backscroll.query.as_you_type import while_typing

        library = self._fresh(request.round)
        now = datetime.now().astimezone()
        query = while_typing(library.parse(request.text))
        if query.is_empty:
            sort = "oldest" if request.sort == "oldest" else "newest"
            chats = library.chats(limit=request.limit + 1, sort=sort)
            entries = [self._entry(library, chat, _counts(chat), now) for chat in chats[: request.limit]]
            amount = f"{request.limit:,}+ chats" if len(chats) > request.limit else plural(len(chats), "chat")
            return ChatList(entries, amount, {chat.overview.id: chat for chat in chats}, {})
        # The match must be visible, so a narrow list gets short snippets.
        width = max(30, request.width - LABEL_WIDTH)
        results = library.search(query, sort=request.sort, limit=request.limit, hits=1, width=width)
        entries = [
            self._entry(library, item.chat, passage_line(passage.hit, passage.snippet).pieces, now)
            for item in results.chats
            for passage in item.passages[:1]
        ]
        amount = plural(results.total_chats, "chat")
        messages = {item.chat.overview.id: item.passages[0].hit.uuid or "" for item in results.chats if item.passages}
        return ChatList(entries, amount, {item.chat.overview.id: item.chat for item in results.chats}, messages)

    def preview(self, looked: PreviewRequest) -> list[Line]:
        """Return the lines that show a chat."""
        from backscroll.library.marked_chats import marked_chat
        from backscroll.query.as_you_type import while_typing
        from backscroll.query.tree import All, Field, Query
        from backscroll.render.preview import PreviewMessage, preview_of

        library = self._fresh(looked.round)
        here = Field("chat", "=", looked.chat.overview.id)
        query = while_typing(library.parse(looked.text))
        matches = []
        if not query.is_empty:
            inside = Query(query.text, All((here, *query.root.parts)))
            matches = [
                passage_line(item.hit, item.snippet).pieces for item in _passages(library, inside, 6, "relevance")
            ]
        talk = library.parse("role:prompt|answer -is:agent -is:abandoned")
        begun = _passages(library, Query(talk.text, All((here, *talk.root.parts))), 30, "oldest")
        opening = (
            PreviewMessage(str(item.hit.role) == "prompt", library.text(item.hit)[:LONGEST_TEXT]) for item in begun
        )
        mark = marked_chat(library, looked.chat).mark
        marks = (
            ["pinned"] * mark.pinned
            + [f"tag:{tag}" for tag in mark.tags]
            + [f"note: {note.text}" for note in mark.notes]
        )
        marks += ["deleted by Claude Code; kept in the archive"] * looked.chat.archived
        return list(preview_of(looked.chat.overview, marks, matches, opening, looked.width))

    def close(self) -> None:
        """Close the library of these queries."""
        if self._library is not None:
            self._library.close()
            self._library = None

    def _fresh(self, round_: int) -> "Library":
        """Return the library, reopened if pins have changed."""
        if self._library is None or round_ != self._round:
            self.close()
            self._library, self._round = self._open(), round_
        return self._library

    def _entry(self, library: "Library", stored: "StoredChat", snippet: Line, now: datetime) -> PickerEntry:
        from backscroll.library.marked_chats import sessions_of

        chat = stored.overview
        name = clean_line(chat.project or "-").replace("\\", "/").rstrip("/").split("/")[-1] or "/"
        when = ago(chat.last_active, now) if chat.last_active else "-"
        when += " · archived" if stored.archived else ""
        pinned = not library.scope.pinned.isdisjoint(sessions_of(stored))
        return PickerEntry(chat.id, clean_line(chat.title), cut(name, 20), when, snippet, is_pinned=pinned)


def _passages(library: "Library", query: "Query", count: int, sort: str) -> "list[FoundPassage]":
    results = library.search(query, sort=sort, limit=1, hits=count, width=400)
    return results.chats[0].passages if results.chats else []


def _counts(stored: "StoredChat") -> Line:
    chat = stored.overview
    words = [plural(chat.messages, "message"), *chat.git_branches[-1:], *chat.models[-1:]]
    return (("dim", clean_line(" · ".join(words))),)


LABEL_WIDTH = 16
"""Columns taken by the label before a snippet."""
LONGEST_TEXT = 4_000
"""Most characters of a message that are shown."""
