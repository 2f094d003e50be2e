"""Tables for people: columns below one another that fit a terminal; CSV and plain values for programs."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from backscroll.render.cells import cells, cut, cut_start
from backscroll.render.layout import GAP, NARROWEST, Column, ShownColumn, places
from backscroll.render.terminal import clean, clean_line

STEPS: Final = " ▏▎▍▌▋▊▉█"
BAR: Final = 12
"""Length of the longest bar where nothing limits it."""


class TableBar(NamedTuple):
    """A value of a column of bars, as a part of the largest value."""

    value: float
    most: float


class FittedTable(NamedTuple):
    """A table as lines, the first of which is its head, and the columns for which there was no room."""

    lines: list[str]
    left_out: list[str]


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None, right: Sequence[bool] | None = None
) -> Iterator[str]:
    """Yield lines with aligned columns, the widest of them cut where they do not fit; the first is the head.

    `right` are the columns aligned at the right: by default those with numbers.
    """
    right = right or [is_numeric(row[number] for row in rows) for number in range(len(columns))]
    yield from fit(
        [Column(clean_line(name), side) for name, side in zip(columns, right, strict=True)], rows, width
    ).lines


def has_room(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None) -> bool:
    """Whether the columns fit beside one another, however much of their values is cut."""
    if width is None:
        return True
    texts = [[_text(value) for value in row] for row in rows]
    widths = _widths([Column(clean_line(name)) for name in columns], texts)
    return sum(min(width_of_column, NARROWEST) for width_of_column in widths) + GAP * (len(widths) - 1) <= width


def records(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield each row below a ruler, with every value on a line of its own."""
    names = [clean_line(name) for name in columns]
    most = max(map(cells, names), default=0)
    for number, row in enumerate(rows, start=1):
        yield f"── {number:,} ".ljust(most + 2, "─")
        for name, value in zip(names, row, strict=True):
            yield f"{name}{' ' * (most - cells(name))}  {_text(value)}".rstrip()


def fit(columns: Sequence[Column], rows: Sequence[Sequence[Any]], width: int | None) -> FittedTable:
    """Return a table that is no wider than `width`, where its columns allow it; complete where `width` is None."""
    names = [column.name for column in columns]
    texts = [[value if isinstance(value, TableBar) else _text(value) for value in row] for row in rows]
    widths = _widths(columns, texts)
    if width is not None and _taken(columns, widths) > width:
        columns = [column._replace(name=column.short or column.name) for column in columns]
        widths = _widths(columns, texts)
    visible = places(columns, widths, width)
    head: list[str | TableBar] = [column.name for column in columns]
    lines = [_line(columns, visible, row) for row in (head, *texts)]
    numbers = {place.number for place in visible}
    return FittedTable(lines, [name for number, name in enumerate(names) if name and number not in numbers])


def bar_of(value: float, most: float, width: int = BAR) -> str:
    """Return a bar as long as the value is part of `most`."""
    eighths = round(8 * width * value / most) if most > 0 else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (STEPS[rest] if rest else "")


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, is_cleaned: bool = False) -> Iterator[str]:
    """Yield the rows as CSV: NULL is nothing, an empty text is `""`, bytes are hexadecimal; cleaned for a terminal if
    asked."""
    for row in (columns, *rows):
        values = [clean(value) if isinstance(value, str) else value for value in row] if is_cleaned else row
        yield ",".join(_csv_field(value) for value in values)


def plain_value(value: Any) -> Any:  # noqa: ANN401 - whatever SQL holds
    """Return a value for JSON: bytes are hexadecimal, infinity and NaN a text."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _csv_field(value: Any) -> str:  # noqa: ANN401
    # Not the module csv: it makes nothing and an empty text the same.
    if value is None:
        return ""
    text = str(plain_value(value))
    if not text or any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _text(value: Any) -> str:  # noqa: ANN401
    return "" if value is None else clean_line(str(plain_value(value)))


def is_numeric(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) for value in known)


def _widths(columns: Sequence[Column], texts: Sequence[Sequence[str | TableBar]]) -> list[int]:
    return [max([cells(column.name), *(_width(row[at]) for row in texts)]) for at, column in enumerate(columns)]


def _taken(columns: Sequence[Column], widths: Sequence[int]) -> int:
    """Return the width of the table without bars."""
    others = [width for column, width in zip(columns, widths, strict=True) if column.shrinks != "bar"]
    return sum(others) + GAP * (len(others) - 1)


def _width(value: str | TableBar) -> int:
    return BAR if isinstance(value, TableBar) else cells(value)


def _line(columns: Sequence[Column], shown: Sequence[ShownColumn], row: Sequence[str | TableBar]) -> str:
    fields = [_field(columns[place.number], row[place.number], place.width) for place in shown]
    return (" " * GAP).join(fields).rstrip()


def _field(column: Column, value: str | TableBar, width: int) -> str:
    if isinstance(value, TableBar):
        value = bar_of(value.value, value.most, width)
    text = cut_start(value, width) if column.shrinks == "start" else cut(value, width)
    if column.shrinks == "never":
        text = value
    space = " " * max(0, width - cells(text))
    return space + text if column.right else text + space
