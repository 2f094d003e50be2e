"""A small table for notebooks. Whatever stands in it came from somewhere else, so all of it is escaped."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any, Final, NamedTuple

from backscroll.render.search_results import highlighted
from backscroll.render.terminal import clean_line, moment

MAX_CELL_LENGTH: Final = 120
STYLE: Final = "text-align: left; vertical-align: top"


def cell(value: Any) -> str:  # noqa: ANN401 - whatever a row has
    """A value as HTML, short and on one line."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return moment(value)[:16].replace("T", " ")
    if isinstance(value, (tuple, list)):
        return cell(", ".join(map(str, value)))
    return text(str(value))


def text(value: str) -> str:
    """A text as HTML, short and on one line."""
    cleaned = clean_line(value[: 4 * MAX_CELL_LENGTH])
    return escape(cleaned if len(cleaned) <= MAX_CELL_LENGTH else cleaned[: MAX_CELL_LENGTH - 1] + "…")


def highlight_html(value: str, highlights: Iterable[tuple[int, int]]) -> str:
    """A text as HTML with some pieces of it marked."""
    pieces = highlighted(_Excerpt(value, tuple(highlights)))
    return "".join(f"<mark>{escape(piece)}</mark>" if kind == "match" else escape(piece) for kind, piece in pieces)


class _Excerpt(NamedTuple):
    text: str
    highlights: tuple[tuple[int, int], ...]


def table(names: Sequence[str], rows: Iterable[Sequence[str]], *, more: int) -> str:
    """A table of cells that are HTML already, below names that are not."""
    head = "".join(f'<th style="{STYLE}">{text(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f'<td style="{STYLE}">{value}</td>' for value in row) + "</tr>\n" for row in rows)
    left = f"<p>{more:,} more</p>" if more > 0 else ""
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>{left}"
