"""The list of chats: all, filtered by a query, or grouped by project."""

from dataclasses import dataclass
from typing import Final

from starlette.responses import HTMLResponse, Response

from backscroll.errors import UsageError
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.query.errors import QueryError
from backscroll.query.tree import All, Field, Not, Query
from backscroll.query.write import field_text
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.projects import names_of, project_name
from backscroll.render.terminal import plural
from backscroll.web.addresses import chats_address, search_address
from backscroll.web.asker import owner_tabs
from backscroll.web.layout import document, empty_state, error_html
from backscroll.web.pages import first_run
from backscroll.web.pages.chat_rows import chat_rows, table_of
from backscroll.web.pages.settings_forgets import hidden_notice
from backscroll.web.requests import PageRequest, status_of

PAGE: Final = 50
GROUPS: Final = 20
IN_A_GROUP: Final = 5
SORTS: Final = {
    "newest": "Last active first",
    "oldest": "Oldest first",
    "messages": "Most messages",
    "cost": "Most expensive",
    "title": "By title",
}
QUICK: Final = (
    ("is:live", "Live"),
    ("is:pinned", "Pinned"),
    ("since:7d", "Last 7 days"),
    ("is:error", "With errors"),
    ("is:agent", "With agents"),
    ("is:archived", "Archive only"),
)


@dataclass(frozen=True)
class ChatFilter:
    """The query, the order and the grouping of a list of chats."""

    text: str
    project: str
    sort: str
    by: str
    offset: int

    @classmethod
    def of(cls, request: PageRequest) -> "ChatFilter":
        """Read the filter from the address of a request."""
        sort, by = request.get("sort", "newest"), request.get("by")
        if sort not in SORTS:
            raise UsageError(f"unknown sort order {sort}", f"use one of {', '.join(SORTS)}")
        if by not in ("", "project"):
            raise UsageError(f"cannot group chats by {by}", "leave it out, or use by=project")
        return cls(request.get("q").strip(), request.get("project"), sort, by, request.number("offset", 0))

    def address(self, **changed: str | int | None) -> str:
        """Return the address of the same list with some fields changed, from its start unless an offset is given."""
        fields: dict[str, str | int | None] = {"project": self.project, "sort": self.sort, "by": self.by, **changed}
        text = str(fields.pop("text", self.text) or "")
        return chats_address(text, **{**fields, "sort": None if fields["sort"] == "newest" else fields["sort"]})

    @property
    def is_plain(self) -> bool:
        """Whether no chat is filtered out."""
        return not self.text and not self.project


def show(request: PageRequest) -> Html | Response:
    """Return the page with the list of chats."""
    wanted = ChatFilter.of(request)
    if first_run.is_first_run(request.library):
        return first_run.page("Chats", "/chats")
    try:
        query = request.library.parse(wanted.text)
    except QueryError as error:
        body = _page(request.library, wanted, el("div", error_html(error), id="chats"))
        return HTMLResponse(body, status_code=status_of(error))
    if wanted.project:
        query = Query(query.text, All((Field("project", "==", wanted.project), *query.root.parts)))
    fill = _by_project if wanted.by == "project" else _all
    with request.library.snapshot():
        results = el("div", fill(request.library, wanted, query), id="chats")
        return _page(request.library, wanted, results, request.library.count_chats(query))


def _page(library: Library, wanted: ChatFilter, found: Html, total: int | None = None) -> Html:
    project = el("p", wanted.project, class_="mono muted path") if wanted.project else NOTHING
    title = project_name(wanted.project) if wanted.project else "Chats"
    main = join([
        el("div", el("h1", title, " ", _total(total)), _tabs(wanted), class_="head"), project,
        owner_tabs(wanted.text, "me", lambda text: wanted.address(text=text)),
        hidden_notice(library), _filter(wanted), _quick(library, wanted), found,
    ])  # fmt: skip
    return document(title, main, here="/chats", scripts=("chat_lists.js", "chats.js"), styles=("pages.css",))


def _total(count: int | None) -> Html:
    return el("span", plural(count, "chat") if count is not None else "", id="total", class_="total muted")


def _tabs(wanted: ChatFilter) -> Html:
    tabs = [
        (wanted.address(by=None), "All", wanted.by == ""),
        (wanted.address(by="project", project=None), "By project", wanted.by == "project"),
        ("/projects", "Projects", False),
    ]
    links = [el("a", name, href=where, aria_current="true" if is_here else None) for where, name, is_here in tabs]
    return el("nav", links, class_="tabs", aria_label="Views")


def _filter(wanted: ChatFilter) -> Html:
    options = [
        el("option", name, value=sort, selected=True if sort == wanted.sort else None) for sort, name in SORTS.items()
    ]
    kept = [("project", wanted.project), ("by", wanted.by)]
    return el(
        "form",
        el("input", type="search", name="q", value=wanted.text or None, aria_label="Filter the chats",
           placeholder="Filter by title words, project:shop, since:7d, is:pinned …", autocomplete="off",
           spellcheck="false"),
        el("select", options, name="sort", aria_label="Order", data_submits=True),
        [el("input", type="hidden", name=name, value=value) for name, value in kept if value],
        el("noscript", el("button", "Filter")),  # with a script, the list follows what is typed
        action="/chats", class_="filter", role="search", aria_label="Filter the chats",
    )  # fmt: skip


def _quick(library: Library, wanted: ChatFilter) -> Html:
    """Return filters to apply with a click: built-in ones, the user's tags, saved searches."""
    parts: list[Html] = []
    for query, name in (*QUICK, *((field_text("tag", tag), f"#{tag}") for tag in sorted(library.marks.tagged()))):
        is_here = wanted.text == query
        where = wanted.address(text="" if is_here else query)
        parts.append(el("a", name, href=where, class_="chip", aria_current="true" if is_here else None))
    for name, query in sorted(library.marks.searches.items()):
        parts.append(el("a", icon("search"), name, href=search_address(query), class_="chip saved", title=query))
    return el("nav", parts, class_="chips", aria_label="Quick filters")


def _all(library: Library, wanted: ChatFilter, query: Query) -> Html:
    pinned: list[StoredChat] = []
    if wanted.sort == "newest":
        if wanted.offset == 0:
            pinned = library.chats(_and(query, PINNED))
        query = _and(query, Not(PINNED))
    # One more than a page, to know whether more follow.
    chats = library.chats(query, sort=wanted.sort, limit=PAGE + 1, offset=wanted.offset)
    if not chats and not pinned:
        return _nothing(wanted)
    is_mixed = not wanted.project
    parts = []
    if pinned:
        rows = chat_rows(library, pinned)
        parts.append(
            join([el("h2", "Pinned"), table_of(rows, _headings(wanted, with_project=is_mixed), with_project=is_mixed)])
        )
        parts.append(el("h2", "Other chats") if chats else NOTHING)
    listed = chat_rows(library, chats[:PAGE])
    if listed:
        parts.append(table_of(listed, _headings(wanted, with_project=is_mixed), with_project=is_mixed))
    has_more = len(chats) > PAGE
    total = library.count_chats(query) if has_more or wanted.offset else None
    parts.append(_pages(wanted, len(listed), PAGE, has_more=has_more, total=total))
    return join(parts)


def _by_project(library: Library, wanted: ChatFilter, query: Query) -> Html:
    groups: dict[str | None, list[StoredChat]] = {}
    for chat in library.chats(query, sort=wanted.sort):
        groups.setdefault(chat.overview.project, []).append(chat)
    if not groups:
        return _nothing(wanted)
    page = list(groups.items())[wanted.offset : wanted.offset + GROUPS]
    names = names_of(project for project in groups if project)
    parts = []
    for project, chats in page:
        where = wanted.address(by=None, project=project)
        name = el("a", names[project], href=where, title=project) if project else "No project"
        parts.append(el("h2", name, " ", el("span", plural(len(chats), "chat"), class_="badge")))
        parts.append(
            table_of(chat_rows(library, chats[:IN_A_GROUP]), _headings(wanted, with_project=False), with_project=False)
        )
        if len(chats) > IN_A_GROUP and project:
            parts.append(el("p", el("a", f"All {len(chats):,} chats in {names[project]}", href=where)))
    has_more = wanted.offset + GROUPS < len(groups)
    parts.append(_pages(wanted, len(page), GROUPS, has_more=has_more, total=len(groups), what="projects"))
    return join(parts)


def _headings(wanted: ChatFilter, *, with_project: bool) -> Html:
    def heading(name: str, sort: str, *, number: bool = False) -> Html:
        is_here = wanted.sort == sort
        mark = el("span", " ↓", aria_hidden="true") if is_here else NOTHING
        return el(
            "th",
            el("a", name, mark, href=wanted.address(sort=sort)),
            scope="col",
            class_="number" if number else None,
            aria_sort=("ascending" if sort == "title" else "descending") if is_here else None,
        )

    return el(
        "tr",
        el("td"),
        heading("Chat", "title"),
        el("th", "Project", scope="col") if with_project else None,
        el("th", "Branch", scope="col", class_="branch-cell"),
        heading("Last active", "newest"),
        heading("Messages", "messages", number=True),
        heading("Cost", "cost", number=True),
    )


def _pages(
    wanted: ChatFilter, shown: int, size: int, *, has_more: bool, total: int | None, what: str = "chats"
) -> Html:
    if not wanted.offset and not has_more:
        return NOTHING
    first = f"{wanted.offset + 1:,}–{wanted.offset + shown:,}"
    before = wanted.address(offset=max(0, wanted.offset - size) or None)
    after = wanted.address(offset=wanted.offset + size)
    return el(
        "nav",
        el("a", icon("arrow-left"), "Previous", href=before, rel="prev", class_="button") if wanted.offset else NOTHING,
        el("span", f"{what} {first}" + (f" of {total:,}" if total is not None else ""), class_="muted"),
        el("a", "Next", icon("arrow-right"), href=after, rel="next", class_="button") if has_more else NOTHING,
        class_="pages", aria_label="Pages",
    )  # fmt: skip


def _nothing(wanted: ChatFilter) -> Html:
    if wanted.offset:
        return empty_state(
            "chat", "The list ends before this page.", el("a", "Go to the first page", href=wanted.address())
        )
    if not wanted.is_plain:
        return empty_state(
            "filter", "No chats match.", "This filter looks at titles only; ",
            el("a", "search all messages", href=search_address(wanted.text)),
            ", or ", el("a", "show all chats", href="/chats"), ".",
        )  # fmt: skip
    return first_run.no_chats()


def _and(query: Query, part: Field | Not) -> Query:
    return Query(query.text, All((part, *query.root.parts)))


PINNED: Final = Field("is", "=", "pinned")
