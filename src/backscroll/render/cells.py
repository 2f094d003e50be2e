"""The width of text in a terminal: cutting, padding and wrapping by columns."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final


def certain(text: str) -> str:
    """Drop characters that terminals render differently: selectors, skin tones, uncomposed accents."""
    if text.isascii():
        return text
    kept = "".join(character for character in text if not _is_uncertain(character))
    return unicodedata.normalize("NFC", kept)


def cells(text: str) -> int:
    """Return the number of columns that the text takes."""
    return len(text) if text.isascii() else sum(map(width_of, text))


def cut(text: str, width: int) -> str:
    """Return the text, or as much of its beginning as fits, with an ellipsis."""
    if cells(text) <= width:
        return text
    return take(text, width - 1) + "…" if width > 0 else ""


def cut_start(text: str, width: int) -> str:
    """Return the text, or as much of its end as fits, after an ellipsis."""
    if cells(text) <= width:
        return text
    return "…" + take(text[::-1], width - 1)[::-1] if width > 0 else ""


def take(text: str, width: int) -> str:
    """Return as much of the beginning as fits."""
    used = 0
    for number, character in enumerate(text):
        used += width_of(character)
        if used > width:
            return text[:number]
    return text


def wrap(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line when the text is wrapped at spaces; only a word wider than a line is broken."""
    width = max(2, width)
    start = 0
    while start < len(text):
        end = start + len(take(text[start : start + width], width))
        if end < len(text) and not text[end].isspace():
            space = text.rfind(" ", start + 1, end)
            after = text.find(" ", end)
            word = text[space + 1 : after if after >= 0 else len(text)][: width + 1]
            is_whole = space > start and (cells(word) <= width or space > start + width // 3)
            end = space + 1 if is_whole else max(end, start + 1)
        yield start, end
        start = end
        while start < len(text) and text[start] == " ":
            start += 1


@lru_cache(maxsize=10_000)
def width_of(character: str) -> int:
    """Return the number of columns that a character takes."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _is_uncertain(character: str) -> bool:
    return SELECTORS[0] <= character <= SELECTORS[1] or TONES[0] <= character <= TONES[1]


SELECTORS: Final = ("\ufe00", "\ufe0f")
TONES: Final = ("\U0001f3fb", "\U0001f3ff")
