"""Pages that open as a dialog on a chat's page; without scripts, each is a page of its own."""

from backscroll.library import StoredChat
from backscroll.render.html.element import Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.outline import first_words
from backscroll.web.addresses import chat_address
from backscroll.web.layout import document
from backscroll.web.requests import PageRequest


def dialog_page(request: PageRequest, stored: StoredChat, title: str, content: Html) -> Html:
    """Return the page; with `fragment` in the address, only the contents of the dialog."""
    chat = stored.overview
    if request.get("fragment") == "1":
        about = el("p", first_words(chat.title, 90), class_="muted dialog-about")
        return join([el("h2", title), about, content])
    back = el("a", icon("arrow-left"), first_words(chat.title, 80), href=chat_address(chat.id))
    main = el("div", el("p", back, class_="back"), el("h1", title), content, class_="sheet card")
    return document(title, main, here="/chats", styles=("dialogs.css",))
