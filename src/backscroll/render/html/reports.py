"""Reports as tables of a page: the same numbers, written the same way, as in a terminal."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from backscroll.render.charts import bounded_text, compared_bounds, measure_text
from backscroll.render.html.axes import largest, week_name
from backscroll.render.html.charts import bar as drawn_bar
from backscroll.render.html.element import NOTHING, Html, el, join, trusted
from backscroll.render.reports import AT_LEAST, lower_bounds, value_text, without_placeholders
from backscroll.render.reports import heading as plain_heading
from backscroll.render.tables import is_numeric
from backscroll.render.terminal import clean_line

Linker = Callable[[str, Mapping[str, Any]], str | None]
"""Function that returns the link of a cell, from its column and row."""
SHOWN_ID_LENGTH: Final = 8
"""Characters of an id that are shown."""
MAX_CELL_LENGTH: Final = 110
LONGEST_BELOW: Final = 240
MAX_TITLE_CHARS: Final = 1_000
IDS: Final = frozenset({"chat", "message", "session", "agent", "example_chat", "example_message"})
PATHS: Final = frozenset({"file", "folder", "project", "path"})


def report_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    caption: str,
    bar: str | None = None,
    link: Linker | None = None,
    more: Sequence[Mapping[str, Any]] = (),
    below: str | None = None,
) -> Html:
    """Return a table with numbers at the right, and bars for one of the columns.

    `more` are the whole rows, where links need columns that are not shown. `below` is the column whose text stands
    below that of the first one, in the same cell.
    """
    if not rows:
        return el("p", "No data.", class_="muted")
    bounds = [lower_bounds(dict(zip(columns, row, strict=True))) for row in rows]
    columns, rows = without_placeholders(columns, rows)
    right = [is_numeric(row[place] for row in rows) for place in range(len(columns))]
    at = list(columns).index(bar) if bar is not None and bar in columns else None
    most = largest([row[at] for row in rows]) if at is not None else 0.0
    head = [
        el("th", heading(name), scope="col", class_="number" if side else None)
        for name, side in zip(columns, right, strict=True)
    ]
    if at is not None:
        head.insert(at + 1, el("th", el("span", f"{heading(columns[at])} as a bar", class_="unseen"), scope="col"))
    body = []
    for number, row in enumerate(rows):
        named = dict(zip(columns, row, strict=True))
        whole = more[number] if more else named
        cells = [
            _cell(
                name,
                value,
                link(name, whole) if link else None,
                is_right=side,
                is_first=not place,
                is_bound=name in bounds[number],
            )
            for place, ((name, value), side) in enumerate(zip(named.items(), right, strict=True))
        ]
        if below is not None:
            cells[0] = _with_text_below(cells[0], below, whole, link)
        if at is not None:
            cells.insert(at + 1, el("td", drawn_bar([max(0.0, float(row[at] or 0))], most), class_="bar-cell"))
        body.append(el("tr", cells))
    return _scrolling(el("thead", el("tr", head)), el("tbody", body), caption)


def compared_table(rows: Sequence[Sequence[Any]], first: str, second: str) -> Html:
    """Return measures of two sides with their differences, and both as bars."""
    head = [
        el("th", el("span", "Measure", class_="unseen"), scope="col"),
        *(
            el(
                "th",
                el("span", class_=f"swatch series-{number}", aria_hidden="true"),
                " ",
                name,
                scope="col",
                class_="number",
            )
            for number, name in enumerate((first, second), start=1)
        ),
        el("th", el("span", "Both as bars", class_="unseen"), scope="col"),
        *(el("th", name, scope="col", class_="number") for name in ("Difference", "Change")),
    ]
    body = []
    bounds = compared_bounds(rows)
    for name, value, other, difference, change in rows:
        most = max(value or 0, other or 0)
        body.append(
            el(
                "tr",
                el(
                    "th",
                    name.removesuffix("_microdollars").removesuffix("_seconds").replace("_", " ").capitalize(),
                    scope="row",
                ),
                el("td", bounded_text(name, value, bounds[0]), class_="number", data_label=first),
                el("td", bounded_text(name, other, bounds[1]), class_="number", data_label=second),
                el("td", drawn_bar([value or 0], most), drawn_bar([0, other or 0], most), class_="bar-cell pair"),
                el("td", measure_text(name, difference, signed=True), class_="number", data_label="Difference"),
                el("td", "-" if change is None else f"{100 * change:+.1f} %", class_="number", data_label="Change"),
            )
        )
    return _scrolling(el("thead", el("tr", head)), el("tbody", body), f"{first} and {second}")


def notes_list(notes: Sequence[str]) -> Html:
    """Return the notes on what was counted, and what was left out."""
    return el("ul", [el("li", note) for note in notes], class_="notes muted") if notes else NOTHING


def heading(name: str) -> str:
    """Return the name of a column, as people read it."""
    return HEADINGS.get(name) or plain_heading(name).capitalize()


def _cell(
    name: str,
    value: Any,  # noqa: ANN401 - whatever it holds
    address: str | None,
    *,
    is_right: bool,
    is_first: bool,
    is_bound: bool = False,
) -> Html:
    text = value_text(name, value)
    whole = "" if text is None else f"{AT_LEAST if is_bound else ''}{text}"
    visible: str = whole
    if name in IDS and len(whole) > SHOWN_ID_LENGTH + 4:
        visible = whole[:SHOWN_ID_LENGTH]
    elif name in LONG_COLUMNS:
        line = _unwrapped(clean_line(whole)) if name == "example" else clean_line(whole)
        visible = line if len(line) <= MAX_CELL_LENGTH else line[: MAX_CELL_LENGTH - 1] + "…"
    elif name in PATHS:
        visible = _path(whole)
    elif name == "week":
        visible = week_name(whole, with_year=True)
    elif name in MOMENTS and (time := MOMENT.match(whole)):
        visible = time[1] if name in DAYS else f"{time[1]} {time[2]}"
    kind = "path" if name in PATHS else "long" if name in LONG_COLUMNS else "name" if name in NAMES else ""
    classes = " ".join(filter(None, ("number" if is_right else "", kind)))
    inner = el("a", visible, href=address) if address and visible else visible
    is_whole = visible == whole
    return el(
        "td",
        inner,
        class_=" ".join(filter(None, (classes, "first" if is_first else ""))) or None,
        title=None if is_whole else whole[:MAX_TITLE_CHARS],
        # On a phone, rows are cards: every cell says its name, unless its text does.
        data_label=heading(name) if visible and name not in TELLING else None,
    )


def _path(path: str) -> Html:
    """Return the name at the end of a path, and its folder below: one line, cut at the beginning."""
    folder, slash, name = path.rpartition("/")
    if not folder or not name:
        return el("span", path, class_="path-name")
    return join([
        el("span", name, class_="path-name"),
        " ",
        el("span", el("bdi", f"{folder}{slash}"), class_="path-folder"),
    ])  # fmt: skip


def _with_text_below(cell: Html, name: str, row: Mapping[str, Any], link: Linker | None) -> Html:
    text = _unwrapped(clean_line(str(row.get(name) or "")))
    if not text or text == row.get("signature"):
        return cell
    address = link(name, row) if link else None
    excerpt = text if len(text) <= LONGEST_BELOW else text[: LONGEST_BELOW - 1] + "…"
    inner = el("a", excerpt, href=address) if address else el("span", excerpt)
    return trusted(cell.removesuffix("</td>") + el("div", inner, class_=f"below below-{name}") + "</td>")


def _unwrapped(text: str) -> str:
    for wrapper in WRAPPERS:
        text = text.removeprefix(f"<{wrapper}>").removesuffix(f"</{wrapper}>")
    return text.strip()


def _scrolling(head: Html, body: Html, caption: str) -> Html:
    table = el("table", el("caption", caption, class_="unseen"), head, body, class_="report cards")
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)


HEADINGS: Final = {"signature": "Error pattern", "example": "Error", "title": "Chat"}
"""Headings that say more on a page than the name of the column."""
LONG_COLUMNS: Final = frozenset({"title", "signature", "example", "prompt", "sequence", "models"})
"""Columns whose texts may take a few lines."""
NAMES: Final = frozenset({"tool", "model", "mcp-server", "git-branch"})
"""Columns with names that are rarely long."""
TELLING: Final = frozenset({"tool", "time"})
"""Columns whose values need no name."""
MOMENTS: Final = frozenset({"first", "last", "time"})
DAYS: Final = frozenset({"first", "last"})
"""Moments that are shown as a day; the tooltip has the time."""
WRAPPERS: Final = ("tool_use_error", "error")
"""Tags that Claude Code puts around errors: they tell a reader nothing."""
MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)")
