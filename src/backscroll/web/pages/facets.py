"""Facets: values that the matches have in common, to narrow a search with one click."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from backscroll.conversation.model_names import short_models
from backscroll.library import Facets
from backscroll.library.library import Library
from backscroll.library.searching.search import SearchResults
from backscroll.query.errors import QueryError
from backscroll.query.tree import Field, Regex, leaves
from backscroll.query.write import with_field
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.projects import names_of
from backscroll.render.terminal import clean_line
from backscroll.web.addresses import search_address

SHOWN: Final = 7
EXACT: Final = ("project", "tool", "machine", "model")
"""Fields whose values are parts of others: `tool:Task` has those of `TaskOutput` too, which are not in its count."""
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
    """Return the links, by field; nothing if there is no choice. Counts cover all matches, not only those shown."""
    if not found.chats or any(isinstance(part, Regex) for part in leaves(found.query.root, negated=True)):
        return NOTHING  # to count the matches of a regular expression would mean reading every text
    now = datetime.now(UTC)
    counted = library.facets(found.query, {code: now - timedelta(days=days) for code, days, _ in SPANS})
    filtered = {part.name for part in found.query.root.parts if isinstance(part, Field)}
    groups = [
        # A value that all matches share narrows nothing.
        _group(title, [value for value in values if value.found < counted.total][:SHOWN], text, sort)
        for title, name, values in _groups(counted)
        if name not in filtered
    ]
    if not any(groups):
        return NOTHING
    # Beside the results, all of it is open; above them, on a phone, a script closes it.
    return el(
        "aside",
        el("details", el("summary", el("h2", "Narrow results")), el("div", groups, class_="facet-groups"),
           el("p", "Counts cover all matches.", class_="muted note"), open=True, data_fold="(max-width: 900px)"),
        class_="facets", aria_label="Narrow results",
    )  # fmt: skip


def _groups(counted: Facets) -> list[tuple[str, str, list[FacetValue]]]:
    return [
        ("When", "after", _spans(counted)),
        ("Project", "project", _values("project", counted.projects, names_of(counted.projects).__getitem__)),
        ("Role", "role", _values("role", counted.roles)),
        ("Tool", "tool", _values("tool", counted.tools)),
        ("Machine", "machine", _values("machine", counted.machines)),
        ("Model", "model", _values("model", counted.models, short_models(counted.models).__getitem__)),
    ]


def _spans(counted: Facets) -> list[FacetValue]:
    values, before = [], 0
    for code, _, name in SPANS:
        count = counted.since[code]
        if before < count < counted.total:  # or it would exclude nothing, or no more than a shorter span
            values.append(FacetValue("since", code, name, count))
        before = max(before, count)
    return values


def _values(field: str, counts: Mapping[str, int], name_of: Callable[[str], str] = str) -> list[FacetValue]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [FacetValue(field, value, clean_line(name_of(value)), count) for value, count in ordered]


def _group(title: str, values: list[FacetValue], text: str, sort: str) -> Html:
    items = []
    for value in values:
        try:
            exactly = "=" if value.field in EXACT else ""
            query = with_field(text, value.field, f"{exactly}{value.value}")
        except QueryError:
            continue  # a query cannot contain such a name
        link = el("a", value.name or value.value, href=search_address(query, sort), title=value.value)
        items.append(el("li", link, " ", el("span", f"{value.found:,}", class_="count")))
    return el("section", el("h3", title), el("ul", items)) if items else NOTHING
