"""The frame of every page around its contents: the head, the navigation bar, the search box."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Final

from backscroll.errors import BackscrollError, Busy, NoSuchChat, NothingFound, UsageError
from backscroll.query.errors import QueryError
from backscroll.render.html.element import NOTHING, Html, el, join, trusted
from backscroll.render.html.icons import icon, mark

PLACES: Final = (
    ("/", "Home", "home"),
    ("/chats", "Chats", "chat"),
    ("/search", "Search", "search"),
    ("/prompts", "Prompts", "prompt"),
    ("/spend", "Spend", "coin"),
    ("/stats", "Stats", "chart"),
    ("/files", "Files", "file"),
)
"""The pages in the navigation bar, with their icons."""
ASKER_LINKS: ContextVar[Html | None] = ContextVar("asker_links", default=None)
"""Links in the bar for the person who asks: on a team server they replace the settings of this machine."""
TITLES: Final[dict[type[BackscrollError], str]] = {
    NothingFound: "Not found",
    UsageError: "Invalid request",
    Busy: "Busy",
}
"""Titles of the errors that have a name of their own."""


def document(
    title: str,
    main: Html,
    *,
    here: str = "",
    query: str = "",
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    body_class: str = "",
    bar_search: bool = True,
) -> Html:
    """Return a whole page. `here` is its address in the navigation bar; scripts and styles are names in `static`.

    `bar_search` is False if the page has a search box of its own.
    """
    begin, end = page_frame(
        title, here=here, query=query, scripts=scripts, styles=styles, body_class=body_class, bar_search=bar_search
    )
    return join([begin, main, end])


def page_frame(
    title: str,
    *,
    here: str = "",
    query: str = "",
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    body_class: str = "",
    bar_search: bool = True,
) -> tuple[Html, Html]:
    """Return the HTML before and after the contents of a page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        # Other sites get no referrer; our own forms need one, or the guard takes them for another site's.
        el("meta", name="referrer", content="same-origin"),
        el("title", f"{title} · backscroll" if title else "backscroll"),
        el("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        [el("link", rel="stylesheet", href=f"/static/{name}") for name in ("base.css", *styles)],
        el("script", src="/static/theme.js"),  # before the first paint, or a dark page flashes white
        [el("script", type="module", src=f"/static/{name}") for name in ("base.js", *scripts)],
    )
    body = el(
        "body",
        el("a", "Skip to content", class_="skip", href="#main"),
        _bar(here, query, with_search=bar_search),
        el("main", id="main", tabindex=-1),
        class_=f"{body_class} on-server".strip() if ASKER_LINKS.get() else body_class or None,
    )
    page = join([trusted("<!doctype html>\n"), el("html", head, body, lang="en")])
    begin, close, end = page.rpartition("</main>")
    return trusted(begin), trusted(close + end)


def error_page(error: BackscrollError, title: str = "", back: str = "") -> Html:
    """Return a page that says what went wrong and what to do next; `back` is the page with the refused form."""
    title = title or error_title(error)
    main = el(
        "section",
        el("h1", title),
        error_html(error),
        el("p", el("a", "Go back", href=back, class_="button primary") if back else NOTHING, " ",
           el("a", "Go to the home page", href="/", class_="button"), " ",
           el("a", "Show all chats", href="/chats", class_="button"), class_="ways-on"),
        class_="failure",
    )  # fmt: skip
    return document(title, main, body_class="error")


def error_title(error: BackscrollError) -> str:
    """Return the title of an error's page."""
    return next((name for kind, name in TITLES.items() if isinstance(error, kind)), "Something went wrong")


def error_html(error: BackscrollError) -> Html:
    """Return an error as HTML. For a query, a mark shows where it went wrong."""
    if isinstance(error, QueryError):
        problem, _, pointed = error.message.partition("\n")
        message = join([el("p", problem), el("pre", pointed, class_="pointed")])
    else:
        message = el("p", error.message)
    is_elsewhere = ASKER_LINKS.get() is not None and isinstance(error, NoSuchChat)
    hint = "check the address; perhaps the chat is not shared with you" if is_elsewhere else error.hint
    return el("div", message, el("p", hint, class_="hint"), class_="problem", role="alert")


def search_box(text: str = "", *more: Html) -> Html:
    """Return the large search box; `more` are fields beside it."""
    field = el("input", type="search", name="q", value=text or None, placeholder="Search all your chats", id="search",
               aria_label="Search all your chats", autocomplete="off", enterkeyhint="search", spellcheck="false",
               autofocus=True if not text else None)  # fmt: skip
    return el("form", field, more, el("button", "Search"), action="/search", role="search", class_="big-search")


def _bar(here: str, query: str, *, with_search: bool) -> Html:
    links = [
        el("a", icon(drawing), name, href=address, aria_current="page" if address == here else None)
        for address, name, drawing in PLACES
    ]
    search = el(
        "form",
        icon("search"),
        el("input", type="search", name="q", value=query or None, placeholder="Search", id="search",
           aria_label="Search everything", autocomplete="off", enterkeyhint="search"),
        el("kbd", "/", aria_hidden="true"),
        action="/search", role="search", class_="bar-search", aria_label="Search everything",
    )  # fmt: skip
    tools = join([
        el("button", el("kbd", "Ctrl K"), type="button", class_="quiet keyed", data_action="palette",
           aria_label="Open the command palette", title="Command palette (Ctrl K)", hidden=True),
        el("button", icon("keyboard"), type="button", class_="quiet keyed icon-only", data_action="help",
           aria_label="Keyboard shortcuts", title="Keyboard shortcuts (?)", hidden=True),
        el("button", icon("theme"), type="button", class_="quiet icon-only", data_action="theme",
           aria_label="Switch the theme", title="Theme: system, light, dark", hidden=True),
        ASKER_LINKS.get() or
        el("a", icon("settings"), el("span", "Settings", class_="bar-label"), href="/settings", title="Settings",
           aria_current="page" if here == "/settings" else None),
    ])  # fmt: skip
    return el(
        "header",
        el("a", mark(), el("span", "backscroll", class_="brand-name"), href="/", class_="brand"),
        el("nav", links, class_="places", aria_label="Pages"),
        search if with_search else el("div", class_="bar-search"),
        el("div", tools, class_="bar-tools"),
        class_="bar",
    )


def empty_state(drawing: str, title: str, *what_to_do: object) -> Html:
    """Return the contents of a page with nothing to show: a drawing, a title, and what to do about it."""
    return el(
        "div",
        icon(drawing),
        el("p", title, class_="empty-title"),
        el("p", what_to_do) if what_to_do else NOTHING,
        class_="empty",
    )
