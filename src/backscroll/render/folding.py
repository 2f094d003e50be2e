"""Break long lines between words, where a terminal would break them anywhere."""

import re
from collections.abc import Iterator
from typing import Final

from backscroll.render.cells import cells, wrap
from backscroll.render.terminal import OURS

TAB: Final = 8
LABEL: Final = re.compile(r"[A-Za-z]\w*( \w+)? {2,}(?=\S)")
"""A word at the beginning of a line and the space after it: further lines are indented below the text, not below the
word."""


def fold(text: str, width: int) -> str:
    """Break lines wider than `width`: further lines are indented, and our colours and links stay as they are.

    Only a word that is wider than a line is broken. Tabs become spaces, for a terminal alone knows how wide they are.
    """
    return "\n".join(_fold(_without_tabs(line), width) for line in text.split("\n"))


def _without_tabs(line: str) -> str:
    """Return the line with spaces for its tabs, as a terminal shows them."""
    if "\t" not in line:
        return line
    made, at = [], 0
    for number, piece in enumerate(OURS.split(line)):
        if number % 2:
            made.append(piece)
            continue
        for part in re.split(r"(\t)", piece):
            expanded = " " * (TAB - at % TAB) if part == "\t" else part
            made.append(expanded)
            at += cells(expanded)
    return "".join(made)


def _fold(line: str, width: int) -> str:
    pieces = OURS.split(line)  # with our sequences at the odd places
    plain = "".join(pieces[::2])
    if cells(plain) <= width:
        return line
    label = LABEL.match(plain)
    indent = " " * min(label.end() if label else len(plain) - len(plain.lstrip()) + 2, width // 2)
    starts, visible = set(), set[int]()
    for start, end in _lines(plain, width, len(indent)):
        starts.add(start)
        visible.update(range(start, start + len(plain[start:end].rstrip())))
    folded, at = [], 0
    for number, piece in enumerate(pieces):
        if number % 2:
            folded.append(piece)
            continue
        for character in piece:
            if at in starts and at:
                folded.append(f"\n{indent}")
            if at in visible:
                folded.append(character)
            at += 1
    return "".join(folded)


def _lines(plain: str, width: int, indent: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line; all but the first have less room."""
    first = next(iter(wrap(plain, width)))
    yield first
    start = first[1] + len(plain[first[1] :]) - len(plain[first[1] :].lstrip(" "))
    for begin, end in wrap(plain[start:], width - indent):
        yield start + begin, start + end
