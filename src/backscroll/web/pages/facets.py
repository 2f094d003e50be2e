"""Facets: what the matches have in common, to narrow a search with one click."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from backscroll.library import Hit, StoredChat
from backscroll.library.library import Library
from backscroll.library.searching.search import SearchResults
from backscroll.query.errors import QueryError
from backscroll.query.tree import Field, Regex, leaves
from backscroll.query.write import with_field
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.search_results import moment_of
from backscroll.render.terminal import clean_line
from backscroll.web.addresses import search_address
from backscroll.web.pages.chat_rows import names_of

LOOKED_AT: Final = 500
"""How many passages are counted, the newest first: as many as the store returns at once."""
SHOWN: Final = 7
SPANS: Final = (
    ("1d", 1, "last day"),
    ("7d", 7, "last 7 days"),
    ("30d", 30, "last 30 days"),
    ("365d", 365, "last year"),
)


class FacetValue(NamedTuple):
    """A value that a field can be narrowed to."""

    field: str
    value: str
    name: str
    found: int


def facets(library: Library, found: SearchResults, text: str, sort: str) -> Html:
    """The links, by field; nothing if there is no choice."""
    if any(isinstance(part, Regex) for part in leaves(found.query.root, negated=True)):
        hits = [
            passage.hit for chat in found.chats for passage in chat.passages
        ]  # counting all of them would mean reading them
    else:
        hits = library.newest_hits(found.query, LOOKED_AT)
    if not hits:
        return NOTHING
    chats = library.chats_of_hits(hits)
    given = {part.name for part in found.query.root.parts if isinstance(part, Field)}
    groups = [
        # A value that all matches share narrows nothing.
        _group(title, [value for value in values if value.found < len(hits)], text, sort)
        for title, name, values in _counted(hits, chats)
        if name not in given
    ]
    if not any(groups):
        return NOTHING
    note = f"Counts cover the {len(hits):,} newest matches." if len(hits) < found.total else "Counts cover all matches."
    return el("aside", el("h2", "Narrow results"), groups, el("p", note, class_="muted note"), class_="facets",
              aria_label="Narrow results")  # fmt: skip


def _counted(hits: list[Hit], chats: dict[int, StoredChat]) -> list[tuple[str, str, list[FacetValue]]]:
    overviews = [chats[hit.chat].overview for hit in hits if hit.chat in chats]
    projects = Counter(overview.project for overview in overviews if overview.project)
    models = Counter(model for overview in overviews for model in overview.models)
    machines = Counter(machine for hit in hits if hit.chat in chats for machine in chats[hit.chat].machines)
    roles = Counter(str(hit.role) for hit in hits)
    tools = Counter(hit.tool for hit in hits if hit.tool)
    return [
        ("When", "after", _spans(hits)),
        ("Project", "project", _values("project", projects, names_of(projects).__getitem__)),
        ("Role", "role", _values("role", roles)),
        ("Tool", "tool", _values("tool", tools)),
        ("Machine", "machine", _values("machine", machines)),
        ("Model", "model", _values("model", models, lambda name: name.removeprefix("claude-"))),
    ]


def _spans(hits: Iterable[Hit]) -> list[FacetValue]:
    now = datetime.now(UTC)
    ages = [now - time for hit in hits if (time := moment_of(hit.time)) is not None]
    counts = [(code, name, sum(1 for age in ages if age <= timedelta(days=days))) for code, days, name in SPANS]
    told, before = [], 0
    for code, name, count in counts:
        if before < count < len(ages):  # or it would exclude nothing, or no more than a shorter span
            told.append(FacetValue("since", code, name, count))
        before = max(before, count)
    return told


def _values(field: str, counts: Counter[str], name_of: Callable[[str], str] = str) -> list[FacetValue]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [FacetValue(field, value, clean_line(name_of(value)), count) for value, count in ordered[:SHOWN]]


def _group(title: str, values: list[FacetValue], text: str, sort: str) -> Html:
    items = []
    for value in values:
        try:
            query = with_field(text, value.field, value.value)
        except QueryError:
            continue  # a query cannot contain such a name
        link = el("a", value.name or value.value, href=search_address(query, sort), title=value.value)
        items.append(el("li", link, " ", el("span", f"{value.found:,}", class_="count")))
    return el("section", el("h3", title), el("ul", items)) if items else NOTHING
