"""Errors in a query, shown at their place in it."""

import unicodedata
from typing import Final

from backscroll.errors import UsageError

INDENT: Final = "    "
BEFORE: Final = 36
AFTER: Final = 36
CUT: Final = "..."


class QueryError(UsageError):
    """An invalid query: `problem` describes the error at `start` of `query`; the message shows it."""

    def __init__(self, problem: str, query: str, start: int, hint: str) -> None:
        super().__init__(f"{problem}\n{point_at(query, start)}", hint)
        self.problem = problem
        self.query = query
        self.start = start


def point_at(text: str, spot: int) -> str:
    """Return the text around a spot, on one line, and below it a caret under the spot."""
    start, end = max(0, spot - BEFORE), min(len(text), spot + AFTER)
    before = (CUT if start else "") + visible(text[start:spot])
    after = visible(text[spot:end]) + (CUT if end < len(text) else "")
    return f"{INDENT}{before}{after}\n{INDENT}{' ' * cells(before)}^"


def visible(text: str) -> str:
    """Return the text with characters of uncertain width replaced, so that a caret below points at the right place."""
    # Composed first, so that a letter and its accent, or the parts of a Korean syllable, are one character.
    return "".join(_visible(character) for character in unicodedata.normalize("NFC", text))


def cells(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    return sum(_cells(character) for character in text)


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    if SELECTORS[0] <= character <= SELECTORS[1]:  # changes the width of the character before it
        return ""
    return "?" if unicodedata.category(character) in UNCERTAIN else character


def _cells(character: str) -> int:
    if unicodedata.category(character) in COMBINING:
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE_CHARACTERS else 1


SELECTORS: Final = ("\ufe00", "\ufe0f")
UNCERTAIN: Final = {"Cc", "Cf", "Cs", "Co", "Cn"}
COMBINING: Final = {"Mn", "Me"}
WIDE_CHARACTERS: Final = {"W", "F"}
