"""Heatmaps: the days of a period, and the hours of a week. Darker is more, and every square says how much."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.figures import figure, figures_table

CELL: Final = 14
GAP: Final = 3
LEVELS: Final = 4
WEEKS: Final = 53
YEARS: Final = 4
"""Most years that are drawn."""
FIRST_PART: Final = 27
"""Weeks in a part. Two parts stand side by side, or below one another on a phone."""
TOP: Final = 16
SIDE: Final = 34
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY: Final = timedelta(days=1)
LATEST: Final = date(9000, 1, 1)
"""Last plausible day: later dates come from a wrong clock."""


def heatmap(
    days: Mapping[date, int],
    *,
    label: str,
    link: Callable[[date], str] | None = None,
    first: date | None = None,
    last: date | None = None,
    note: str = "",
) -> Html:
    """Return the days of a period, a column for each week, at most the last `YEARS` years of it.

    `first` and `last` are the ends of the period, by default the first and the last day given. Days outside of the
    period are not drawn: they are blank, not zero. `link` returns the address of a day that has a number.
    """
    known = [day for day in days if day <= LATEST]
    last = min(last or max(known, default=LATEST), LATEST)
    first = min(first or min(known, default=last), last)
    if not days and not note:
        return figure("calendar", label, el("p", "No data.", class_="muted"), NOTHING)
    most_days = last.weekday() + (YEARS * WEEKS - 1) * 7
    first_drawn = first if (last - first).days <= most_days else last - most_days * DAY
    visible = {day: count for day, count in days.items() if first_drawn <= day <= last}
    most = max(visible.values(), default=0)
    pieces = _pieces(first_drawn, last)
    width = SIDE + max(map(len, pieces)) * (CELL + GAP)  # one for all: on a phone, all are drawn equally small
    parts = [
        _part(weeks, visible, (first_drawn, last), most, link, width, is_first=not number % 2)
        for number, weeks in enumerate(pieces)
    ]
    total, active = sum(visible.values()), sum(1 for count in visible.values() if count)
    summary = f"{label}: {total:,} on {active:,} days from {first_drawn} to {last}, at most {most:,} per day"
    drawing = join([
        # Screen readers do not reach links inside an image.
        el("div", parts, class_="calendar", role="group" if link else "img", aria_label=summary),
        scale(most),
    ])  # fmt: skip
    rows = [
        (el("a", day.isoformat(), href=link(day)) if link else day.isoformat(), f"{count:,}")
        for day, count in sorted(visible.items(), reverse=True)
        if count
    ]
    left = sum(days.values()) - total
    period = f"{first_drawn} to {last}: {total:,}" + (f". Not drawn, of other days: {left:,}" if left else "")
    caption = ". ".join(filter(None, (period, note)))
    return figure("calendar", label, drawing, figures_table(("Day", label), rows, label), note=caption)


def _pieces(first: date, last: date) -> list[list[date]]:
    """Cut the Mondays of a period into pieces that stand side by side, or below one another on a phone."""
    monday = first - first.weekday() * DAY
    count = (last - monday).days // 7 + 1
    mondays = [monday + number * 7 * DAY for number in range(count)]
    return [mondays[at : at + FIRST_PART] for at in range(0, count, FIRST_PART)]


def hours(rows: Sequence[tuple[str, Sequence[int]]], *, label: str, unit: str = "", note: str = "") -> Html:
    """Return a row for each weekday, a column for each hour."""
    most = max((count for _, counts in rows for count in counts), default=0)
    width, height = SIDE + 24 * (CELL + GAP), TOP + len(rows) * (CELL + GAP)
    drawn: list[Html] = [
        el("text", f"{hour}", x=SIDE + hour * (CELL + GAP), y=11, class_="tick") for hour in range(0, 24, 3)
    ]
    for line, (name, counts) in enumerate(rows):
        y = TOP + line * (CELL + GAP)
        drawn.append(el("text", name[:3], x=0, y=y + 11, class_="tick"))
        drawn += [
            _square(SIDE + hour * (CELL + GAP), y, count, most, f"{name} {hour:02}:00 to {hour + 1:02}:00", unit)
            for hour, count in enumerate(counts)
        ]
    total = sum(count for _, counts in rows for count in counts)
    drawing = join([
        el("svg", el("title", label), el("desc", f"{total:,} in total, at most {most:,} in an hour of the week"), drawn,
           viewBox=f"0 0 {width} {height}", role="img", class_="hours"),
        scale(most),
    ])  # fmt: skip
    table = figures_table(
        ("", *(f"{hour:02}" for hour in range(24)), "All"),
        [(name, *(count or "" for count in counts), f"{sum(counts):,}") for name, counts in rows],
        label,
    )
    return figure("hours", label, drawing, table, note=note)


def scale(most: int) -> Html:
    """Return the legend of the shades."""
    bounds = sorted({-(-most * level // LEVELS) for level in range(1, LEVELS + 1)} - {0})
    steps = [(0, "0"), *((level_of(bound, most), f"to {bound:,}") for bound in bounds)]
    items = [
        el("li", el("span", class_=f"swatch level-{level}", aria_hidden="true"), el("span", name))
        for level, name in steps
    ]
    return el("ul", items, class_="legend scale")


def level_of(count: int, most: int) -> int:
    """Return the shade: 0 for nothing, up to 4."""
    return 0 if count <= 0 else min(LEVELS, 1 + (LEVELS * (count - 1)) // max(1, most))


def _part(
    weeks: Sequence[date], days: Mapping[date, int], ends: tuple[date, date], most: int,
    link: Callable[[date], str] | None, width: int, *, is_first: bool,
) -> Html:  # fmt: skip
    """Return some of the weeks of a period, with the names of months above and of weekdays beside them."""
    drawn: list[Html] = []
    for column, monday in enumerate(weeks):
        x = SIDE + column * (CELL + GAP)
        if (first := monday + 6 * DAY).day <= 7 and (column < len(weeks) - 1 or len(weeks) < 3):
            drawn.append(el("text", f"{first:%b}", x=x, y=11, class_="tick"))
        for weekday in range(7):
            day = monday + weekday * DAY
            if not ends[0] <= day <= ends[1]:
                continue
            count = days.get(day, 0)
            square = _square(x, TOP + weekday * (CELL + GAP), count, most, f"{day:%a} {day}", "")
            if link and count:
                square = el("a", square, href=link(day), tabindex=-1, aria_label=f"{day}: {count:,}")
            drawn.append(square)
    names = [
        el("text", WEEKDAYS[weekday], x=0, y=TOP + weekday * (CELL + GAP) + 11, class_="tick weekday")
        for weekday in (0, 2, 4)
    ]
    height = TOP + 7 * (CELL + GAP)
    # Beside the first part, the second need not name the weekdays again.
    return el(
        "svg",
        names,
        drawn,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        focusable="false",
        class_=None if is_first else "again",
    )


def _square(x: int, y: int, count: int, most: int, name: str, unit: str) -> Html:
    text = f"{name}: {count:,}{f' {unit}' if unit else ''}"
    return el(
        "rect", el("title", text), x=x, y=y, width=CELL, height=CELL, rx=2, class_=f"level-{level_of(count, most)}"
    )
