"""The search page: matches grouped by chat, facets, and help on the query syntax."""

import time
from typing import Final

from starlette.responses import HTMLResponse, RedirectResponse, Response

from backscroll.errors import UsageError
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.library.marks import Marks, change_marks
from backscroll.library.searching.search import FoundChat, FoundPassage, SearchResults
from backscroll.query.errors import QueryError
from backscroll.query.fields import FIELDS
from backscroll.query.snippets import Highlighter, Snippet
from backscroll.query.tree import All, Field, Not, Query, Word
from backscroll.query.write import write
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.search_results import highlighted, moment_of
from backscroll.render.terminal import clean_line, plural
from backscroll.web.addresses import agent_address, chat_address, search_address, with_find
from backscroll.web.asker import ASKER, author_name, owner_tabs
from backscroll.web.layout import document, empty_state, error_html, search_box
from backscroll.web.pages import first_run
from backscroll.web.pages.chat_rows import badges_of, chat_rows, project_link, title_of, when
from backscroll.web.pages.facets import facets
from backscroll.web.requests import PageRequest, status_of

PAGE: Final = 20
HITS: Final = 3
HITS_OF_ONE: Final = 50
"""Passages shown if the query names one chat."""
WIDTH: Final = 320
SORTS: Final = {"relevance": "Best match first", "newest": "Newest first", "oldest": "Oldest first"}
LONGEST_NAME: Final = 80


def show(request: PageRequest) -> Html | Response:
    """Return the page with the form and the results."""
    text, sort = request.get("q").strip(), request.get("sort", "relevance")
    if sort not in SORTS:
        raise UsageError(f"unknown sort order {sort}", f"use one of {', '.join(SORTS)}")
    if text and first_run.is_first_run(request.library):
        return first_run.page("Search", "/search")
    if not text:
        return _page("", sort, _help(request.library))
    number = request.number("page", 1, least=1, most=1000)
    with request.library.snapshot():  # the facets count all matches
        return _search(request, text, sort, number)


def _search(request: PageRequest, text: str, sort: str, number: int) -> Html | Response:
    try:
        started = time.perf_counter()
        query = request.library.parse(text)
        hits = HITS_OF_ONE if _is_of_one(query) else HITS + 1
        offset = (number - 1) * PAGE
        results = request.library.search(
            query, limit=PAGE, offset=offset, sort=sort, hits=hits, width=WIDTH, cursor=request.get("after")
        )
        seconds = time.perf_counter() - started
    except QueryError as error:
        return HTMLResponse(_page(text, sort, error_html(error)), status_code=status_of(error))
    return _page(text, sort, _results(request.library, results, text, sort, number, seconds))


def save(request: PageRequest) -> Response:
    """Save a search under a name, or delete it."""
    name, query = clean_line(request.form.get("name", ""))[:LONGEST_NAME], request.form.get("query", "").strip()
    if not name:
        raise UsageError("a saved search needs a name", "enter one next to “Save this search”")
    forget = request.form.get("forget") == "1"
    if not forget:
        request.library.parse(query)

    def change(marks: Marks) -> None:
        if forget:
            marks.searches.pop(name, None)
        else:
            marks.searches[name] = query

    change_marks(request.library.settings.library, change)
    return RedirectResponse(search_address("" if forget else query), status_code=303)


def _page(text: str, sort: str, shown: Html) -> Html:
    options = [el("option", name, value=key, selected=True if key == sort else None) for key, name in SORTS.items()]
    form = search_box(text, el("select", options, name="sort", aria_label="Order", data_submits=True))
    main = join([el("h1", "Search", class_="unseen", data_asker=ASKER.get()), form, shown])
    scripts = ("chat_lists.js", "recent_searches.js")
    return document(text or "Search", main, here="/search", scripts=scripts, styles=("pages.css",),
                    bar_search=False, body_class="searching")  # fmt: skip


def _results(library: Library, found: SearchResults, text: str, sort: str, number: int, seconds: float) -> Html:
    side = facets(library, found, text, sort)
    whose = owner_tabs(text, "org", lambda other: search_address(other, sort))
    parts = [whose, _chips(found.query, sort), _result_count(found, seconds), _warnings(found)]
    if not found.chats and number > 1:
        back = el("a", "Go to the first page", href=search_address(text, sort))
        parts.append(empty_state("search", "There are no more results.", back))
    elif not found.chats:
        parts.append(_nothing(library, found, text, sort))
    else:
        items = [found_chat_html(library, chat, found.marked, sort) for chat in found.chats]
        parts.append(el("ol", items, class_="results"))
        parts.append(_pages(found, text, sort, number))
    if found.chats or text in library.marks.searches.values():
        parts.append(_saving(library, text))
    return el("div", side, el("div", parts, class_="found"), class_="with-facets" if side else None)


def _chips(query: Query, sort: str) -> Html:
    """Return the fields of the query as chips; a click removes one."""
    chips = []
    for part in query.root.parts:
        inner = part.part if isinstance(part, Not) else part
        if isinstance(inner, Field) and not (inner.name == "owner" and ASKER.get()):  # there are tabs for it
            rest = Query("", All(tuple(other for other in query.root.parts if other is not part)))
            field = write(Query("", All((part,))))
            chips.append(
                el("a", el("code", field), el("span", " ✕", aria_hidden="true"), href=search_address(write(rest), sort),
                   class_="chip", aria_label=f"Remove {field}")
            )  # fmt: skip
    return el("nav", chips, class_="chips", aria_label="Fields of this query") if chips else NOTHING


def _result_count(found: SearchResults, seconds: float) -> Html:
    least = "at least " if not found.is_whole else ""
    count = f"{least}{plural(found.total, 'passage')} in {plural(found.total_chats, 'chat')}"
    return el("p", count, el("span", f" · {seconds * 1000:,.0f} ms"), class_="muted told", role="status")


def _warnings(found: SearchResults) -> Html:
    lines = []
    if found.pending:
        what = ", ".join(found.pending_roles)
        lines.append(f"{plural(found.pending, 'passage')} ({what}) not indexed yet; search again in a moment.")
    if not found.is_whole:
        lines.append(NOT_WHOLE)
    notes = [el("p", clean_line(note[:1].upper() + note[1:]), ".", class_="muted note") for note in found.notes]
    return join([*notes, *(el("p", line, class_="warn") for line in lines)])


def found_chat_html(library: Library, found: FoundChat, query: Query, sort: str) -> Html:
    """Return a chat in the results, with its passages."""
    overview, is_of_one = found.chat.overview, _is_of_one(query)
    row = chat_rows(library, [found.chat])[0]
    # The title is usually the first prompt: matches in it are highlighted in the heading.
    passages = [passage for passage in found.passages if str(passage.hit.role) != "title"]
    titles = len(found.passages) - len(passages)
    passages = passages if is_of_one else passages[:HITS]
    more = found.found - titles - len(passages)
    rest = NOTHING
    if more > 0 and not is_of_one:
        where = search_address(f"chat:{overview.id} {query.text}", sort)
        rest = el("p", el("a", f"{more:,} more in this chat", href=where), class_="rest")
    elif more > 0:
        rest = el("p", f"{more:,} more are not listed; open the chat and find them there.", class_="rest muted")
    return el(
        "li",
        el("h2", el("a", _highlighted_title(title_of(overview), query), href=chat_address(overview.id), class_="open"),
           class_="chat-title"),
        el("div", badges_of(row), el("span", project_link(overview.project)), el("span", when(overview.last_active)),
           el("span", plural(found.found, "passage")), class_="meta"),
        el("ul", [_passage(found.chat, passage, query) for passage in passages], class_="passages"),
        rest,
        data_chat=overview.id,
    )  # fmt: skip


def _passage(stored: StoredChat, passage: FoundPassage, query: Query) -> Html:
    hit, chat = passage.hit, stored.overview.id
    role = str(hit.role)
    label = f"{clean_line(hit.tool)} {role}" if hit.tool else ROLES.get(role, role)
    label = author_name(stored.machines) if role == "prompt" else label
    marks = [name for name, is_so in (("agent", hit.agent), ("rewound", hit.is_abandoned)) if is_so]
    where = (
        agent_address(chat, hit.agent, hit.uuid) if hit.agent else with_find(chat_address(chat, hit.uuid), query.text)
    )
    return el(
        "li",
        el(
            "a",
            el("span", label, class_=f"role role-{role}"),
            [el("span", mark, class_="badge") for mark in marks],
            el("span", "failed", class_="badge error") if hit.is_error else NOTHING,
            when(moment_of(hit.time)) if hit.time is not None else NOTHING,
            el("span", highlighted_snippet(passage.snippet), class_="snippet"),
            href=where,
        ),
    )


def _highlighted_title(title: str, query: Query) -> Html:
    return highlighted_snippet(Snippet(title, tuple(Highlighter(query).spans(title))))


def highlighted_snippet(snippet: Snippet) -> Html:
    """Return a snippet with its matches marked."""
    return join([el("mark", part) if kind == "match" else part for kind, part in highlighted(snippet)])


def _pages(found: SearchResults, text: str, sort: str, number: int) -> Html:
    last = -(-found.total_chats // PAGE)
    if last <= 1 and number == 1:
        return NOTHING
    return el(
        "nav",
        el(
            "a",
            icon("arrow-left"),
            "Previous",
            href=search_address(text, sort, number - 1),
            rel="prev",
            class_="button",
        )
        if number > 1
        else NOTHING,
        el("span", f"page {number:,} of {max(last, number):,}", class_="muted"),
        el(
            "a",
            "Next",
            icon("arrow-right"),
            href=search_address(text, sort, number + 1, found.cursor()),
            rel="next",
            class_="button",
        )
        if found.left
        else NOTHING,
        class_="pages",
        aria_label="Pages",
    )


def _nothing(library: Library, found: SearchResults, text: str, sort: str) -> Html:
    meant = [
        el("a", el("strong", word), href=search_address(text.replace(wanted, word), sort), class_="chip")
        for wanted in found.query.words
        for word in library.similar(Query("", All((Word(wanted),))))
    ]
    if meant:
        return join([empty_state("search", "No results.", "Did you mean"), el("p", meant, class_="chips meant")])
    if not library.chats("", limit=1):
        return first_run.no_chats()
    return empty_state(
        "search", "No results.", "Try fewer or other words, the start of a word with *, or remove a field."
    )


def _saving(library: Library, text: str) -> Html:
    name = next((name for name, query in library.marks.searches.items() if query == text), None)
    if name is not None:
        fields = join([
            el("span", "Saved as ", el("strong", name), " "), el("input", type="hidden", name="name", value=name),
            el("button", "Delete", name="forget", value="1", class_="quiet"),
        ])  # fmt: skip
    else:
        fields = join([
            el("input", type="text", name="name", placeholder="Name for this search", aria_label="Name for this search",
               required=True, maxlength=LONGEST_NAME, autocomplete="off"),
            el("button", "Save this search"),
        ])  # fmt: skip
    kept = el("input", type="hidden", name="query", value=text)
    return el("form", fields, kept, method="post", action="/searches", class_="saving")


def _help(library: Library) -> Html:
    searches = [
        el("li", el("a", name, href=search_address(query)), " ", el("code", query, class_="muted"))
        for name, query in sorted(library.marks.searches.items())
    ]
    saved = join([el("h2", "Saved searches"), el("ul", searches)]) if searches else NOTHING
    # Only the browser knows them.
    recent = el(
        "section", el("h2", "Recent searches"), el("ul"),
        el("p", el("button", "Forget them", type="button", class_="quiet")), id="recent-searches", hidden=True,
    )  # fmt: skip
    basics = [
        el("tr", el("td", el("a", el("code", query), href=search_address(query))), el("td", meaning))
        for query, meaning in BASICS
    ]
    fields = []
    for info in FIELDS:
        choices = [
            el("a", choice.name, href=search_address(f"{info.name}:{choice.name}"), title=choice.help, class_="chip")
            for choice in info.choices
        ]
        example = el("a", el("code", info.example), href=search_address(info.example))
        more = el("div", choices, class_="chips") if choices else NOTHING
        fields.append(el("tr", el("td", example), el("td", info.help, more)))
    return el(
        "div", saved, recent,
        el("h2", "Search syntax"), el("table", el("tbody", basics), class_="asking"),
        el("h2", "Fields"), el("table", el("tbody", fields), class_="asking"), class_="help",
    )  # fmt: skip


def _is_of_one(query: Query) -> bool:
    """Whether the query names one chat."""
    return any(isinstance(part, Field) and part.name in ("chat", "session") for part in query.root.parts)


NOT_WHOLE: Final = "The regular expression was not tried on everything: narrow the search with words or fields."
ROLES: Final = {"prompt": "You", "answer": "Claude", "thinking": "Thinking", "title": "Title", "other": "Client"}
BASICS: Final = (
    ("flaky test", "either word; chats with both, and with the rarer one, rank higher"),
    ('"connection reset"', "a phrase"),
    ("migrat*", "words that start with this"),
    ("timeout OR deadlock", "either word"),
    ("cache -redis", "without that word"),
    ("/user_[0-9]+/", "a regular expression"),
    ("role:prompt since:30d", "what you typed in the last 30 days"),
)
