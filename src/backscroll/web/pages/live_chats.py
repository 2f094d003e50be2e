"""Live chats: those that a client has open or whose file grows, with the last event in each."""

from dataclasses import dataclass
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.library.searching.search import FoundPassage
from backscroll.query.tree import All, Either, Field, Query
from backscroll.records.sidecars import LiveSession
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.search_results import moment_of
from backscroll.render.terminal import clean_line, plural
from backscroll.web.addresses import chat_address
from backscroll.web.chat_view import WORKING
from backscroll.web.pages.chat_rows import project_link, title_of, when

MAX_LIVE_CHATS: Final = 12
WIDTH: Final = 200


@dataclass(frozen=True)
class LiveChat:
    """A chat that is being written."""

    stored: StoredChat
    last: FoundPassage | None
    """The last passage of the chat; None if nothing is indexed yet."""
    client: LiveSession | None = None
    """State that the chat's client reports."""

    @property
    def is_waiting(self) -> bool:
        """Whether the chat waits for the user: as the client reports, or else judged by what happened last."""
        if self.client and self.client.status:
            return self.client.status not in WORKING
        return self._role == "answer"

    @property
    def state(self) -> str:
        """State of the chat, in words."""
        tool = clean_line(self.last.hit.tool or "a tool") if self.last and self._role == "input" else ""
        if self.client and self.client.waits_for_permission:
            return f"waiting for your permission: {tool}" if tool else "waiting for your permission"
        if self.is_waiting:
            return f"waiting for you: {tool}" if tool else "your turn"
        if not self.last and not (self.client and self.client.status):
            return "live"
        return f"running {tool}" if tool else "working"

    @property
    def _role(self) -> str:
        return str(self.last.hit.role) if self.last else ""


def live_chats(library: Library) -> list[LiveChat]:
    """Return all live chats, the most recently active first."""
    if not library.scope.live:
        return []
    return [
        LiveChat(stored, _last(library, stored), _client(library, stored))
        for stored in library.chats("is:live", limit=MAX_LIVE_CHATS)
    ]


def live_section(chats: list[LiveChat]) -> Html:
    """Return the section of the home page."""
    if not chats:
        return NOTHING
    title = el("h2", "Live now ", el("span", plural(len(chats), "chat"), class_="badge live"), id="live-title")
    return el("section", title, el("ul", [_item(chat) for chat in chats], class_="live"), aria_labelledby="live-title")


def _item(chat: LiveChat) -> Html:
    overview = chat.stored.overview
    last = chat.last
    excerpt = NOTHING
    if last is not None:
        label = clean_line(last.hit.tool or "") or ROLES.get(str(last.hit.role), "")
        excerpt = el("p", el("span", label, class_="role"), " ", clean_line(last.snippet.text) or "…", class_="last")
    return el(
        "li",
        el("div", el("a", title_of(overview), href=chat_address(overview.id), class_="open"), class_="chat-title"),
        excerpt,
        el(
            "div",
            el("span", chat.state, class_="badge" if chat.is_waiting else "badge live busy"),
            el("span", project_link(overview.project)),
            el("span", when(moment_of(last.hit.time) if last and last.hit.time else overview.last_active)),
            class_="meta",
        ),
        class_="card",
        data_chat=overview.id,
    )


def _client(library: Library, stored: StoredChat) -> LiveSession | None:
    names = (name.lower() for name in stored.overview.leaves)
    return next((library.live[name] for name in names if name in library.live), None)


def _last(library: Library, stored: StoredChat) -> FoundPassage | None:
    roles = Either(tuple(Field("role", "=", role) for role in SAID))
    query = Query("", All((Field("chat", "=", stored.overview.id), roles)))
    try:
        results = library.search(query, limit=1, sort="newest", hits=1, width=WIDTH)
    except BackscrollError:
        return None  # not indexed yet
    return next((passage for chat in results.chats for passage in chat.passages), None)


ROLES: Final = {"prompt": "You", "answer": "Claude", "thinking": "Thinking"}
SAID: Final = (*ROLES, "input", "output")
"""Roles of text that the user, the model and its tools wrote; not what the client told the model."""
