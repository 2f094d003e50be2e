"""What the command palette offers besides commands: chats, and a search for the typed text."""

from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import StoredChat
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.web.addresses import chat_address, search_address
from backscroll.web.pages.chat_rows import project_name, title_of, when
from backscroll.web.requests import PageRequest

MOST: Final = 8


def show(request: PageRequest) -> Html:
    """The options, as a fragment."""
    text = request.get("q").strip()
    chats = [_option(stored) for stored in _chats(request, text)]
    search = el("a", f"Search everything for “{text}”", href=search_address(text), role="option") if text else NOTHING
    return join([*chats, search])


def _chats(request: PageRequest, text: str) -> list[StoredChat]:
    try:
        return request.library.chats(text, limit=MOST)
    except BackscrollError:
        return []  # an unfinished query, or nothing is indexed yet


def _option(stored: StoredChat) -> Html:
    chat = stored.overview
    about = el("span", project_name(chat.project), " · ", when(chat.last_active), class_="muted")
    return el("a", el("span", title_of(chat)), about, href=chat_address(chat.id), role="option")
