"""Options of the command palette besides commands: chats by title, matching passages, and a full search."""

from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import StoredChat
from backscroll.library.searching.search import FoundChat
from backscroll.query.as_you_type import while_typing
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.projects import project_name
from backscroll.web.addresses import agent_address, chat_address, search_address
from backscroll.web.pages.chat_rows import title_of, when
from backscroll.web.pages.search import highlighted_snippet
from backscroll.web.requests import PageRequest

MAX_TITLES: Final = 5
MAX_MATCHES: Final = 6
WIDTH: Final = 110


def show(request: PageRequest) -> Html:
    """Return the options, as a fragment."""
    text = request.get("q").strip()
    titles = _titles(request, text)
    listed = {stored.overview.id for stored in titles}
    matches = [_match(match) for match in _matches(request, text) if match.chat.overview.id not in listed]
    search = el("a", f"Search everything for “{text}”", href=search_address(text), role="option") if text else NOTHING
    return join([*map(_title, titles), *matches, search])


def _titles(request: PageRequest, text: str) -> list[StoredChat]:
    try:
        return request.library.chats(text, limit=MAX_TITLES if text else MAX_TITLES + MAX_MATCHES)
    except BackscrollError:
        return []  # an unfinished query, or nothing is indexed yet


def _matches(request: PageRequest, text: str) -> list[FoundChat]:
    """Return the best passage of each of the best chats."""
    try:
        query = while_typing(request.library.parse(text))
        results = request.library.search(query, limit=MAX_MATCHES, hits=1, width=WIDTH) if not query.is_empty else None
    except BackscrollError:
        return []
    return [chat for chat in results.chats if chat.passages] if results else []


def _title(stored: StoredChat) -> Html:
    chat = stored.overview
    return el("a", el("span", title_of(chat)), _about(stored), href=chat_address(chat.id), role="option")


def _match(found: FoundChat) -> Html:
    hit, snippet = found.passages[0]
    chat = found.chat.overview
    where = agent_address(chat.id, hit.agent, hit.uuid) if hit.agent else chat_address(chat.id, hit.uuid)
    text = el("span", title_of(chat), el("span", highlighted_snippet(snippet), class_="snippet"))
    return el("a", text, _about(found.chat), href=where, role="option")


def _about(stored: StoredChat) -> Html:
    chat = stored.overview
    return el("span", project_name(chat.project), " · ", when(chat.last_active), class_="muted")
