"""What every page has around it."""

from collections.abc import Sequence
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.query import QueryError
from backscroll.render.html.element import Html, el, join, trusted

PLACES: Final = (("/", "Home"), ("/chats", "Chats"), ("/search", "Search"), ("/stats", "Stats"), ("/files", "Files"))
"""The first rooms of the house, in the order of the bar."""


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
    """A whole page. `here` is the address of its room; scripts and styles are names in `static`.

    `bar_search` is False where the page has a larger box for the same.
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
    """What stands before the contents of a page, and behind them."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        # Nothing for other sites; our own forms must say where they come from, or they are taken for another's.
        el("meta", name="referrer", content="same-origin"),
        el("title", f"{title} · backscroll" if title else "backscroll"),
        el("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        [el("link", rel="stylesheet", href=f"/static/{name}") for name in ("base.css", *styles)],
        el("script", src="/static/theme.js"),  # before the first paint, else a dark room flashes white
        [el("script", type="module", src=f"/static/{name}") for name in ("base.js", *scripts)],
    )
    body = el(
        "body",
        el("a", "Skip to content", class_="skip", href="#main"),
        _bar(here, query, with_search=bar_search),
        el("main", id="main", tabindex=-1),
        class_=body_class or None,
    )
    page = join([trusted("<!doctype html>\n"), el("html", head, body, lang="en")])
    begin, close, end = page.rpartition("</main>")
    return trusted(begin), trusted(close + end)


def error_page(error: BackscrollError) -> Html:
    """What went wrong, and what to do next."""
    told = el(
        "section",
        el("h1", "That did not work"),
        error_html(error),
        el("p", el("a", "To the first page", href="/", class_="button")),
        class_="failure",
    )
    return document("That did not work", told, body_class="error")


def error_html(error: BackscrollError) -> Html:
    """An error as a page tells it: of a query, with a mark under the place that was not understood."""
    if isinstance(error, QueryError):
        problem, _, shown = error.message.partition("\n")
        told = join([el("p", problem), el("pre", shown, class_="pointed")])
    else:
        told = el("p", error.message)
    return el("div", told, el("p", error.hint, class_="hint"), class_="problem", role="alert")


def search_box(text: str = "", *more: Html) -> Html:
    """The large box to search with; `more` are fields beside it."""
    field = el("input", type="search", name="q", value=text or None, placeholder="Search all your chats", id="search",
               aria_label="Search all your chats", autocomplete="off", enterkeyhint="search", spellcheck="false",
               autofocus=True if not text else None)  # fmt: skip
    return el("form", field, more, el("button", "Search"), action="/search", role="search", class_="big-search")


def _bar(here: str, query: str, *, with_search: bool) -> Html:
    links = [el("a", name, href=address, aria_current="page" if address == here else None) for address, name in PLACES]
    search = el(
        "form",
        el("input", type="search", name="q", value=query or None, placeholder="Search", id="search",
           aria_label="Search everything", autocomplete="off", enterkeyhint="search"),
        el("kbd", "/", aria_hidden="true"),
        action="/search", role="search", class_="bar-search", aria_label="Search everything",
    )  # fmt: skip
    tools = join([
        el("button", el("kbd", "Ctrl K"), type="button", class_="quiet keyed", data_action="palette",
           aria_label="Go anywhere", title="Go anywhere (Ctrl K)", hidden=True),
        el("button", "?", type="button", class_="quiet keyed", data_action="help", aria_label="All keys",
           title="All keys (?)", hidden=True),
        el("button", el("span", class_="half", aria_hidden="true"), type="button", class_="quiet", data_action="theme",
           aria_label="Switch the theme", title="Theme: system, light, dark", hidden=True),
        el("a", "Settings", href="/settings", aria_current="page" if here == "/settings" else None),
    ])  # fmt: skip
    return el(
        "header",
        el("a", "backscroll", href="/", class_="brand"),
        el("nav", links, aria_label="Rooms"),
        search if with_search else el("div", class_="bar-search"),
        el("div", tools, class_="bar-tools"),
        class_="bar",
    )
