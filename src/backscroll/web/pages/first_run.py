"""Notices and empty pages while the library is built for the first time."""

from backscroll.library.library import Library
from backscroll.render.html.element import Html, el, join
from backscroll.web.asker import ASKER
from backscroll.web.layout import document, empty_state


def is_first_run(library: Library) -> bool:
    """Whether there are no chats because no update has finished yet."""
    return not library.is_indexed or (not library.has_finished_update and not library.chats("", limit=1))


def notice() -> Html:
    """Return a notice that the library is being built; a script adds the progress."""
    if ASKER.get():
        lines = join([
            el("p", el("strong", "The server is indexing what your machines sent.")),
            el("p", "Chats appear here as they are read; you do not have to wait until it is done.", class_="muted"),
            el("p", el("a", "Reload", href="", class_="button")),
        ])  # fmt: skip
        return el("div", lines, class_="progress card", role="status")
    lines = join([
        el("p", el("strong", "Reading your Claude Code sessions for the first time.")),
        el("p", "Each one is archived byte for byte and indexed, on this machine only. Chats appear here as they are",
           " read; you do not have to wait until it is done.", class_="muted"),
        el("p", el("a", "Reload", href="", class_="button")),
    ])  # fmt: skip
    return el("div", lines, id="progress", class_="progress card", role="status")


def no_chats() -> Html:
    """Return the text of an empty list of chats."""
    if ASKER.get():
        return empty_state(
            "chat", "You have no chats here yet.", "Connect a machine on ", el("a", "Devices", href="/devices"),
            ", and its chats appear here. What others share with you is in ",
            el("a", "Shared chats", href="/shared"), ".",
        )  # fmt: skip
    return empty_state(
        "chat", "No chats yet.", "Start Claude Code in a project, and the chat appears here. To try backscroll on",
        " sample conversations, run ", el("code", "backscroll demo"),
    )  # fmt: skip


def page(title: str, here: str) -> Html:
    """Return a page that has nothing to show yet."""
    main = join([el("h1", title), notice()])
    return document(title, main, here=here, scripts=("home.js",), styles=("pages.css",))
