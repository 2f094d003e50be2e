"""Charts, drawn as SVG by the server: a page needs nothing else to show them. `stats.css` gives them their colours.

Their width is that of the page, so positions along it are percentages; their height is in pixels. Text keeps its size
this way on every screen.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.render.html.axes import label_positions, largest, measure_format, percent, pixels, tick_text, ticks
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.figures import figure, figures_table, series_class

HEIGHT: Final = 200
HEAD: Final = 8
FOOT: Final = 22
NAMES: Final = 8
NAMES_ON_A_PHONE: Final = 4
DENSE: Final = 100
"""Number of columns from which on there is no space between them."""


class Series(NamedTuple):
    """Named values, one for each position of the axis; None if missing."""

    name: str
    values: Sequence[float | None]
    colour: int | None = None
    """Number of the colour; by default the place among the series."""
    missing: str = ""
    """Text in the table in place of a missing value."""


class Bar(NamedTuple):
    """A row of horizontal bars. Several parts follow one another."""

    name: str
    parts: Sequence[float]
    told: str
    """The formatted value, as text."""
    link: str | None = None
    hint: str = ""
    """The full name, if it was shortened."""


class Axis(NamedTuple):
    """The horizontal axis: names, and the period of each, for zooming in."""

    names: Sequence[str]
    spans: Sequence[tuple[str, str]] = ()
    labels: Sequence[str] = ()
    """The names as people read them, where they differ."""

    ticks: Sequence[str] = ()
    """Names below the axis, where the labels are too long."""

    def label(self, place: int) -> str:
        """Return the label of a place."""
        return self.labels[place] if self.labels else self.names[place]


class Level(NamedTuple):
    """A line across a chart, such as a budget."""

    value: float
    name: str


def stacked_bars(
    axis: Axis, series: Sequence[Series], *, label: str, measure: str, note: str = "", level: Level | None = None
) -> Html:
    """Return columns along an axis; each shows all series on top of one another.

    `measure` is the name of the measure, as in reports: it decides how the numbers are formatted.
    """
    totals = [sum(values) for values in _columns(axis, series)]
    marks, top = _scale([*totals, level.value] if level else totals, measure)
    drawn = []
    space = 0.0 if len(axis.names) > DENSE else 0.14
    for place, column in enumerate(_columns(axis, series)):
        left, width = (place + space / 2) / len(axis.names), (1 - space) / len(axis.names)
        rects, base = [], 0.0
        for number, value in enumerate(column):
            height = HEIGHT * value / top
            if value > 0:
                rects.append(
                    el("rect", x=percent(left), width=percent(width), y=pixels(HEAD + HEIGHT - base - height),
                       height=pixels(max(0.5, height)), class_=series_class(_colour(series, number)),
                       data_series=number)
                )  # fmt: skip
            base += height
        drawn.append(_column(axis, place, rects, _told_column(axis, series, place, measure, with_total=True)))
    if level:
        drawn.append(_level(level, top, measure))
    return _along("stacked", axis, series, drawn, marks, totals, label, measure, note)


def lines(axis: Axis, series: Sequence[Series], *, label: str, measure: str, note: str = "") -> Html:
    """Return a line for each series. Where a value is missing, the line has a gap."""
    every = [value for row in series for value in row.values if value is not None]
    marks, top = _scale(every, measure)
    drawn = []
    for place in range(len(axis.names)):
        parts = []
        for number, row in enumerate(series):
            if (value := row.values[place]) is None:
                continue
            x, y = percent((place + 0.5) / len(axis.names)), pixels(HEAD + HEIGHT * (1 - value / top))
            before = row.values[place - 1] if place else None
            if before is not None:
                parts.append(
                    el("line", x1=percent((place - 0.5) / len(axis.names)), x2=x,
                       y1=pixels(HEAD + HEIGHT * (1 - before / top)), y2=y,
                       class_=series_class(_colour(series, number)),
                       data_series=number)
                )  # fmt: skip
            if before is None or len(axis.names) <= DENSE // 2:
                parts.append(
                    el("circle", cx=x, cy=y, r="2.5", class_=series_class(_colour(series, number)), data_series=number)
                )
        drawn.append(_column(axis, place, parts, _told_column(axis, series, place, measure, with_total=False)))
    return _along("lines", axis, series, drawn, marks, every, label, measure, note)


def bars(
    rows: Sequence[Bar], *, label: str, legend: Sequence[str] = (), colours: Sequence[int] = (), note: str = ""
) -> Html:
    """Return a list of bars, each with its name and value as text."""
    if not rows:
        return figure("bars", label, el("p", "No data.", class_="muted"), NOTHING, note=note)
    most = largest([sum(row.parts) for row in rows]) or 1.0
    items = []
    for row in rows:
        name = el("span", row.name, title=row.hint or None, class_="bar-name")
        items.append(
            el("li", el("a", name, href=row.link) if row.link else name, bar(row.parts, most, colours),
               el("span", row.told, class_="bar-value"))
        )  # fmt: skip
    return figure("bars", label, el("ul", items, class_="bars"), NOTHING, legend=legend, colours=colours, note=note)


def bar(parts: Sequence[float], most: float, colours: Sequence[int] = ()) -> Html:
    """Return one bar, relative to the largest value; the text next to it states the value."""
    drawn, left = [], 0.0
    for number, part in enumerate(parts):
        width = max(0.0, part) / most if most > 0 else 0.0
        if width > 0:
            drawn.append(
                el("rect", x=percent(left), width=percent(max(width, 0.004)), y=0, height="100%",
                   class_=series_class(colours[number] if colours else number), data_series=number)
            )  # fmt: skip
        left += width
    return el("svg", drawn, class_="bar-drawing", aria_hidden="true", focusable="false")


def sparkline(values: Sequence[float | None], *, label: str) -> Html:
    """Return a small row of columns in a line of text."""
    most = largest(values) or 1.0
    drawn = [
        el("rect", x=percent(place / len(values)), width=percent(0.8 / len(values)),
           y=pixels(24 * (1 - max(0.04, (value or 0) / most))), height=pixels(24 * max(0.04, (value or 0) / most)),
           class_="series-1" if value else "level-0")
        for place, value in enumerate(values)
    ]  # fmt: skip
    return el("svg", el("title", label), drawn, class_="sparkline", role="img", height=24)


def _scale(values: Sequence[float], measure: str) -> tuple[list[float], float]:
    is_whole = not measure.endswith(("_share", "_seconds", "_microdollars"))
    marks = ticks(largest(values), seconds=measure.endswith("_seconds"), whole=is_whole)
    return marks, marks[-1]


def _columns(axis: Axis, series: Sequence[Series]) -> list[list[float]]:
    return [[max(0.0, row.values[place] or 0) for row in series] for place in range(len(axis.names))]


def _column(axis: Axis, place: int, drawn: Sequence[Html], told: str) -> Html:
    """Return the marks at one position of the axis, with a full-height area for the pointer."""
    span = axis.spans[place] if axis.spans else (None, None)
    field = el("rect", x=percent(place / len(axis.names)), width=percent(1 / len(axis.names)), y=HEAD, height=HEIGHT,
               class_="field")  # fmt: skip
    return el("g", el("title", told), field, drawn, class_="column", data_since=span[0], data_until=span[1])


def _told_column(axis: Axis, series: Sequence[Series], place: int, measure: str, *, with_total: bool) -> str:
    format_value = measure_format(measure)
    known = [(row.name, value) for row in series if (value := row.values[place]) is not None]
    some = [(name, value) for name, value in known if value or not with_total]
    told_lines = [f"{name}: {format_value(value)}" for name, value in some]
    told_lines += [f"{row.name}: {row.missing}" for row in series if row.values[place] is None and row.missing]
    if with_total and known and len(some) != 1:
        told_lines.append(f"Total: {format_value(sum(value for _, value in some))}")
    return "\n".join([axis.label(place), *told_lines])


def _along(
    kind: str, axis: Axis, series: Sequence[Series], drawn: Sequence[Html], marks: Sequence[float],
    values: Sequence[float], label: str, measure: str, note: str,
) -> Html:  # fmt: skip
    """Return a chart with a scale on the left and names below it."""
    if not axis.names:
        return figure(kind, label, el("p", "No data.", class_="muted"), NOTHING, note=note)
    height, top = HEAD + HEIGHT + FOOT, marks[-1]
    levels = [(HEAD + HEIGHT * (1 - mark / top), mark) for mark in marks]
    left = el(
        "svg",
        [el("text", tick_text(measure, mark), x="100%", y=pixels(y + 4), class_="tick end") for y, mark in levels],
        class_="scale-left", height=height, aria_hidden="true", focusable="false",
    )  # fmt: skip
    grid = [el("line", x1=0, x2="100%", y1=pixels(y), y2=pixels(y), class_="grid") for y, _ in levels]
    right = el(
        "svg", el("title", label), el("desc", _described(axis, values, measure)), grid, drawn, _names_below(axis),
        class_="drawing", height=height, role="img", focusable="false",
    )  # fmt: skip
    to_text = measure_format(measure)
    rows = [
        (
            axis.label(place),
            *(row.missing if (value := row.values[place]) is None else to_text(value) for row in series),
        )
        for place in range(len(axis.names))
    ]
    return figure(
        kind,
        label,
        el("div", left, right, class_="plot"),
        figures_table(("", *(row.name for row in series)), rows[::-1], label),
        legend=[row.name for row in series] if len(series) > 1 else (),
        colours=[_colour(series, number) for number in range(len(series))],
        note=note,
    )


def _colour(series: Sequence[Series], number: int) -> int:
    colour = series[number].colour
    return number if colour is None else colour


def _level(level: Level, top: float, measure: str) -> Html:
    y = pixels(HEAD + HEIGHT * (1 - level.value / top))
    text = f"{level.name} {tick_text(measure, level.value)}"
    return el(
        "g",
        el("line", x1=0, x2="100%", y1=y, y2=y),
        # Above the line, or below it where there is no room.
        el("text", text, x="100%", y=pixels(float(y) - 4 if float(y) > HEAD + 6 else float(y) + 13), class_="tick end"),
        class_="level-line",
    )


def _names_below(axis: Axis) -> list[Html]:
    """Return the names of some positions; every second name is only for wide screens."""
    count = len(axis.names)
    is_sparse = count <= NAMES
    names = []
    for number, place in enumerate(label_positions(count, NAMES)):
        if place > 0.93 * count and not is_sparse:
            continue  # it would not fit
        is_wide = (number % 2 and count > NAMES_ON_A_PHONE) or (place > 0.76 * count and not is_sparse)
        classes = f"tick{' middle' if is_sparse else ''}{' wide' if is_wide else ''}"
        x = (place + (0.5 if is_sparse else 0)) / count
        names.append(
            el(
                "text",
                axis.ticks[place] if axis.ticks else axis.label(place),
                x=percent(x),
                y=HEAD + HEIGHT + 16,
                class_=classes,
            )
        )
    return names


def _described(axis: Axis, values: Sequence[float], measure: str) -> str:
    format_value = measure_format(measure)
    last = len(axis.names) - 1
    span = axis.label(0) if not last else f"{axis.label(0)} to {axis.label(last)}"
    most = largest(values)
    is_of_columns = len(values) == len(axis.names)
    where = f" ({axis.label(list(values).index(most))})" if is_of_columns and most in values else ""
    return f"{span}; at most {format_value(most)}{where}. A table follows."
