"""Before the first chats can be shown: what is happening, and that it need not be waited for."""

from backscroll.library import Library
from backscroll.render.html.element import Html, el, join
from backscroll.web.layout import document


def is_first_run(library: Library) -> bool:
    """Whether there is no chat because everything was never read to the end yet: an update notes when it was."""
    return not library.is_indexed or (not library.has_finished_update and not library.chats("", limit=1))


def notice() -> Html:
    """What is happening; the page then says how far it has come."""
    lines = join([
        el("p", el("strong", "Reading your Claude Code sessions for the first time.")),
        el("p", "Each is kept byte for byte and made findable, on this machine only. Chats appear here as they are",
           " read; you need not wait for the end.", class_="muted"),
        el("p", el("a", "Look again", href="", class_="button")),
    ])  # fmt: skip
    return el("div", lines, id="progress", class_="progress card", role="status")


def no_chats() -> Html:
    """What a list says where there are no chats at all."""
    return el(
        "p", "No chats yet. Start Claude Code in a project: what you say there appears here by itself. To see what",
        " backscroll does first, try it on sample conversations: ", el("code", "backscroll demo"), class_="empty",
    )  # fmt: skip


def page(title: str, here: str) -> Html:
    """A page that will show something soon."""
    main = join([el("h1", title), notice()])
    return document(title, main, here=here, scripts=("home.js",), styles=("pages.css",))
