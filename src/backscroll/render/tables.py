"""The answer to an SQL statement: a table for people, CSV and plain values for programs."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from backscroll.render.cells import cells, cut
from backscroll.render.terminal import clean, clean_line


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None, right: Sequence[bool] | None = None
) -> Iterator[str]:
    """Lines with the columns below one another, the widest of them cut where they do not fit; the first is the head.

    `right` are the columns that end below one another: those with numbers, where it is not given.
    """
    texts = [[clean_line(name) for name in columns], *([_text(value) for value in row] for row in rows)]
    widths = [max(cells(row[number]) for row in texts) for number in range(len(columns))]
    if width is not None:
        widths = _fitting(widths, width - 2 * max(0, len(columns) - 1))
    right = right or [is_numeric(row[number] for row in rows) for number in range(len(columns))]
    for row in texts:
        line = "  ".join(_field(text, room, right=side) for text, room, side in zip(row, widths, right, strict=True))
        yield line.rstrip()


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, is_cleaned: bool = False) -> Iterator[str]:
    """The same as CSV: NULL is nothing, an empty text is `""`, bytes are hexadecimal. It is cleaned for a terminal."""
    for row in (columns, *rows):
        values = [clean(value) if isinstance(value, str) else value for value in row] if is_cleaned else row
        yield ",".join(_csv_field(value) for value in values)


def plain_value(value: Any) -> Any:  # noqa: ANN401 - whatever SQL holds
    """A value as JSON has it; bytes are hexadecimal, and what is beyond every number is a text."""
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


def _field(text: str, width: int, *, right: bool) -> str:
    text = cut(text, width)
    space = " " * max(0, width - cells(text))
    return space + text if right else text + space


def _fitting(widths: list[int], room: int) -> list[int]:
    """The widths, the widest made narrower until all fit, none below what still tells something."""
    widths = list(widths)
    while sum(widths) > room and max(widths) > NARROWEST:
        widest = max(widths)
        below = max((width for width in widths if width < widest), default=NARROWEST)
        most = [number for number, width in enumerate(widths) if width == widest]
        less = max(1, min(widest - max(below, NARROWEST), (sum(widths) - room) // len(most)))
        for number in most:
            widths[number] -= less
    return widths


NARROWEST: Final = 8
