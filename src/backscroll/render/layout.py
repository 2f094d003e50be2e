"""Choose the columns of a table that fit a terminal, and their widths.

Bars shrink before text does, and text before a column is left out. Dates, ids and numbers are never cut. Where even the
columns that are not extra do not fit, as on a phone, those at the right are left out, except the text that the table is
about.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

GAP: Final = 2
"""Spaces between two columns."""
NARROWEST: Final = 8
SHORTEST_BAR: Final = 4
LONGEST_BAR: Final = 40

Shrinking: TypeAlias = Literal["never", "end", "start", "bar"]


class Column(NamedTuple):
    """A column, and how it changes where there is little room."""

    name: str
    right: bool = False
    """Whether its values are aligned at the right, as numbers are."""
    shrinks: Shrinking = "end"
    """Part of a value that may be cut: the end of a text, the start of a path, or none; `bar` is a column of bars."""
    least: int = NARROWEST
    """Least width at which a text is still useful."""
    extra: int = 0
    """A column with a number here is left out where the others do not fit, the highest number first."""
    short: str = ""
    """Shorter name, for where the texts would not fit otherwise."""


class ShownColumn(NamedTuple):
    """A column that is shown: its number, and its width."""

    number: int
    width: int


def places(columns: Sequence[Column], widths: Sequence[int], room: int | None) -> list[ShownColumn]:
    """Return the columns shown in `room`, with their widths; all of them, at full width, if it is None."""
    everything = [ShownColumn(number, width) for number, width in enumerate(widths)]
    if room is None:
        return everything
    fitting = everything
    for left_out in _steps(columns):
        fitting = [place for place in everything if place.number not in left_out]
        fitting = _with_bar(columns, fitting, room)
        fitting = _shrunk(columns, fitting, room, below_least=False)
        if _taken(fitting) <= room:
            return fitting
    narrow = _shrunk(columns, fitting, room, below_least=True)
    while _taken(narrow) > room and (last := _last_to_leave_out(columns, narrow)) is not None:
        fitting = [everything[place.number] for place in narrow if place.number != last]
        narrow = _shrunk(columns, fitting, room, below_least=False)
    return narrow if _taken(narrow) <= room else _shrunk(columns, fitting, room, below_least=True)


def _steps(columns: Sequence[Column]) -> list[set[int]]:
    """Return what to leave out, from nothing to everything that may be missing."""
    order = [number for number, column in enumerate(columns) if column.extra]
    order.sort(key=lambda number: (-columns[number].extra, -number))
    return [set(order[:count]) for count in range(len(order) + 1)]


def _last_to_leave_out(columns: Sequence[Column], shown: Sequence[ShownColumn]) -> int | None:
    """Return the column at the right that is neither the first nor the text; None if there is no other."""
    numbers = [place.number for place in shown]
    texts = [number for number in numbers[1:] if columns[number].shrinks in ("end", "start")]
    others = [number for number in numbers[1:] if number not in texts[-1:]]
    return others[-1] if others else None


def _with_bar(columns: Sequence[Column], shown: list[ShownColumn], room: int) -> list[ShownColumn]:
    """Fit the bar into the room that the others leave; drop it if that is too short."""
    others = [place for place in shown if columns[place.number].shrinks != "bar"]
    width = min(LONGEST_BAR, room - _taken(others) - GAP)
    return [
        place._replace(width=width) if columns[place.number].shrinks == "bar" else place
        for place in (shown if width >= SHORTEST_BAR else others)
    ]


def _shrunk(columns: Sequence[Column], shown: list[ShownColumn], room: int, *, below_least: bool) -> list[ShownColumn]:
    """Narrow the widest texts until everything fits, or none can become narrower."""
    widths = {place.number: place.width for place in shown}
    least = {
        number: min(widths[number], NARROWEST if below_least else columns[number].least)
        for number in widths
        if columns[number].shrinks in ("end", "start")
    }
    while (over := _taken(shown) - room) > 0:
        open_ = [number for number in least if widths[number] > least[number]]
        if not open_:
            break
        widest = max(widths[number] for number in open_)
        most = [number for number in open_ if widths[number] == widest]
        below = max((widths[number] for number in open_ if widths[number] < widest), default=0)
        step = max(1, min(widest - max(below, *(least[number] for number in most)), over // len(most)))
        for number in most[:over]:
            widths[number] -= step
        shown = [place._replace(width=widths[place.number]) for place in shown]
    return shown


def _taken(shown: Sequence[ShownColumn]) -> int:
    return sum(place.width for place in shown) + GAP * max(0, len(shown) - 1)
