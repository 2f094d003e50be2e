"""The frame of every chart: a caption, a legend, and the same values as a table.

Charts are drawn with the classes of `stats.css`, which gives them their colours; no colour says anything alone.
"""

from collections.abc import Sequence
from typing import Final

from backscroll.render.html.element import NOTHING, Html, el

SERIES: Final = 9
"""Number of series that can be distinguished by colour."""
BEFORE: Final = -1
FIGURES: Final = "Show as table"


def figure(
    kind: str,
    label: str,
    drawing: Html,
    figures: Html,
    *,
    legend: Sequence[str] = (),
    colours: Sequence[int] = (),
    note: str = "",
) -> Html:
    """Return a chart with its name, its legend, and its figures folded below it.

    `note` says which period is drawn, and what is left out.
    """
    return el(
        "figure",
        el("figcaption", label, el("span", note, class_="chart-note") if note else NOTHING),
        legend_of(legend, colours) if legend else NOTHING,
        drawing,
        el("details", el("summary", FIGURES), figures, class_="chart-figures") if figures else NOTHING,
        class_=f"chart chart-{kind}",
        data_chart=kind,
    )


def legend_of(names: Sequence[str], colours: Sequence[int] = ()) -> Html:
    """Return the names of the series with their colours, in drawing order."""
    items = [
        el("li", el("span", class_=f"swatch {series_class(colours[number] if colours else number)}",
                    aria_hidden="true"), el("span", name), data_series=number)
        for number, name in enumerate(names)
    ]  # fmt: skip
    return el("ul", items, class_="legend")


def figures_table(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> Html:
    """Return a table whose first column names its rows and whose other columns are numbers."""
    head = [el("th", name, scope="col", class_="number" if place else None) for place, name in enumerate(columns)]
    body = [
        el("tr", el("th", row[0], scope="row"), [el("td", value, class_="number") for value in row[1:]]) for row in rows
    ]
    return el(
        "div",
        el("table", el("caption", caption, class_="unseen"), el("thead", el("tr", head)), el("tbody", body)),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def series_class(number: int) -> str:
    """Return the class with the colour of that number, from 0; `BEFORE` is for values that are only compared with."""
    return f"series-{number % SERIES + 1}" if number >= 0 else "series-before"
