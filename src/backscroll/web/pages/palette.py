"""What the palette offers beside its commands: chats, and to search for what was typed."""

from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import StoredChat
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.web.addresses import chat_address, search_address
from backscroll.web.asking import Asked
from backscroll.web.pages.rows import project_name, title_of, when

MOST: Final = 8


def show(asked: Asked) -> Html:
    """The options, as a fragment."""
    text = asked.get("q").strip()
    chats = [_option(stored) for stored in _chats(asked, text)]
    search = el("a", f"Search everything for “{text}”", href=search_address(text), role="option") if text else NOTHING
    return join([*chats, search])


def _chats(asked: Asked, text: str) -> list[StoredChat]:
    try:
        return asked.library.chats(text, limit=MOST)
    except BackscrollError:
        return []  # a query that is not finished, or nothing read yet


def _option(stored: StoredChat) -> Html:
    chat = stored.overview
    about = el("span", project_name(chat.project), " · ", when(chat.last_active), class_="muted")
    return el("a", el("span", title_of(chat)), about, href=chat_address(chat.id), role="option")
