"""The pane: the list of chats that stays beside a chat. Live ones come first, then the rest by day."""

from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.query.as_you_type import while_typing
from backscroll.query.tree import All, Either, Field, Not, Part, Query, Word
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.projects import project_name
from backscroll.render.terminal import moment
from backscroll.web.addresses import address, chat_address
from backscroll.web.pages.chat_rows import ChatRow, chat_rows, title_of, when
from backscroll.web.reader_zone import reader_now, reader_time
from backscroll.web.requests import PageRequest

ROWS: Final = 60
"""Number of rows in the page at once."""
BEFORE: Final = 20
"""Number of rows before the open chat, if it is far down."""
LIVE: Final = Field("is", "=", "live")


def show(request: PageRequest) -> Html:
    """Return the rows, as a fragment: for a filter that is being typed, or further down the list."""
    return pane_rows(request.library, request.get("chat"), request.get("q"), request.number("offset", 0))


def pane(library: Library, chat: StoredChat) -> Html:
    """Return the pane, opened where the chat stands in the list."""
    offset = _offset_of(library, chat)
    here = address("/pane", chat=chat.overview.id, offset=offset or None)
    return el(
        "aside",
        el(
            "div",
            el("input", type="search", id="pane-filter", placeholder="Filter chats", aria_label="Filter chats",
               autocomplete="off", spellcheck="false", hidden=True),
            el("a", "All chats", href="/chats", class_="pane-all"),
            el("button", icon("pane"), type="button", data_action="pane", class_="quiet icon-only pane-close",
               aria_label="Hide the list of chats", title="Hide the list of chats ( l )", hidden=True),
            class_="pane-head",
        ),
        el("div", pane_rows(library, chat.overview.id, "", offset), id="pane-rows", data_address=here),
        id="pane", class_="pane", popover="auto", aria_label="Chats",
    )  # fmt: skip


def pane_rows(library: Library, chat: str, text: str, offset: int) -> Html:
    """Return the rows from `offset` on; the live chats only on top of the list."""
    try:
        query = while_typing(library.parse(text.strip()))
        query = Query(query.text, All(tuple(_with_projects(part) for part in query.root.parts)))
        live = library.chats(_and(query, LIVE)) if not offset else []
        # One more than is shown tells whether the list goes on.
        chats = library.chats(_and(query, Not(LIVE)), limit=ROWS + 1, offset=offset)
    except BackscrollError as error:  # a query that is half typed
        return el("p", error.message, class_="pane-note")
    if not live and not chats:
        note = "No chat matches. Words are looked for in titles and projects." if text.strip() else "No chats yet."
        return el("p", note, class_="pane-note")
    parts = [_more("Newer chats", text, chat, max(0, offset - ROWS)) if offset else NOTHING]
    if live:
        parts.append(_group("Live", chat_rows(library, live), chat))
    today = reader_now().date()
    rows = chat_rows(library, chats[:ROWS])
    for name, group in groupby(rows, lambda row: _period(row.overview.last_active, today)):
        parts.append(_group(name, list(group), chat))
    if len(chats) > ROWS:
        parts.append(_more("Older chats", text, chat, offset + ROWS))
    return join(parts)


def _offset_of(library: Library, chat: StoredChat) -> int:
    """Return the offset that has the chat among the rows: the top unless it is far down."""
    last = chat.overview.last_active
    if last is None:
        return 0
    newer = library.count_chats(Query("", All((Field("after", "=", last), Not(LIVE)))))
    return newer - BEFORE if newer > ROWS - BEFORE else 0


def _with_projects(part: Part) -> Part:
    """Make a word match titles and projects."""
    return Either((part, Field("project", "=", part.text))) if isinstance(part, Word) else part


def _and(query: Query, part: Part) -> Query:
    return Query(query.text, All((part, *query.root.parts)))


def _period(last: datetime | None, today: date) -> str:
    if last is None:
        return "No date"
    day = reader_time(last).date()
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day > today - timedelta(days=7):
        return "Last 7 days"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


def _group(name: str, rows: list[ChatRow], chat: str) -> Html:
    listed = el("ol", [_row(row, is_here=row.overview.id == chat) for row in rows])
    return el("section", el("h2", name), listed, class_="pane-group", aria_label=name)


def _row(row: ChatRow, *, is_here: bool) -> Html:
    overview = row.overview
    facts = [when(overview.last_active), project_name(overview.project), row.cost if row.stored.cost else None]
    mark = icon("pin") if row.mark.pinned else NOTHING
    return el(
        "li",
        el(
            "a",
            el("span", el("span", class_="pane-dot", title="live") if row.is_live else mark, title_of(overview),
               class_="pane-title"),
            el("span", [el("span", fact) for fact in facts if fact], class_="pane-facts"),
            el("span", "new", class_="badge unread", hidden=True),
            href=chat_address(overview.id), title=title_of(overview), aria_current="page" if is_here else None,
        ),
        class_="pane-row live" if row.is_live else "pane-row",
        data_chat=overview.id,
        data_last=moment(overview.last_active) if overview.last_active else None,
    )  # fmt: skip


def _more(name: str, text: str, chat: str, offset: int) -> Html:
    where = address("/pane", q=text, chat=chat, offset=offset or None)
    return el("p", el("a", name, href=where, data_pane=True), class_="pane-more")
