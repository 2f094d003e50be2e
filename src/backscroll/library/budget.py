"""How much of an answer fits: tokens counted without a tokenizer, never too few, and texts cut to what is left.

An agent pays for every token that it reads, and asks for so many at most. Which tokenizer it has is not known here, so
texts are counted by what tokenizers do at worst: a few letters to a token, and a token for every digit and every mark.
"""

import re
from collections.abc import Iterable
from typing import Final

from backscroll.query import Highlighter, fold

LETTERS_TO_A_TOKEN: Final = 4
SPACES_TO_A_TOKEN: Final = 4
UNSPACED: Final = 2
"""Tokens for a character of a script without spaces."""
ELLIPSIS: Final = "…"


def tokens_of(text: str) -> int:
    """How many tokens a text is, at most. That of two texts is no more than the sum of both."""
    count = 0
    for piece in PIECES.finditer(text):
        kind = piece.lastgroup
        length = piece.end() - piece.start()
        if kind == "letters":
            count += -(-length // LETTERS_TO_A_TOKEN)
        elif kind == "spaces":
            count += 1 + length // SPACES_TO_A_TOKEN
        elif kind == "unspaced":
            count += UNSPACED * length
        elif kind == "other":
            count += len(piece[0].encode("utf-8", "replace"))
        else:
            count += length
    return count


def cut_to(text: str, tokens: int) -> str:
    """As much of the beginning of a text as fits, with a mark where something is left out; empty where nothing does."""
    if tokens_of(text) <= tokens:
        return text
    left = tokens - tokens_of(ELLIPSIS)
    if left <= 0:
        return ""
    low, high = 0, min(len(text), left * SPACES_TO_A_TOKEN * 2)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        if tokens_of(text[:middle]) <= left:
            low = middle
        else:
            high = middle - 1
    space = max(text.rfind(" ", 0, low), text.rfind("\n", 0, low))
    kept = text[: space if space > low // 2 else low].rstrip()
    return f"{kept}{ELLIPSIS}" if kept else ""


def excerpt(text: str, highlighter: Highlighter, tokens: int, weights: "dict[str, float] | None" = None) -> str:
    """The part of a text that has most of what is looked for, in whole lines where they are short; at most so long."""
    text = text.strip()
    if len(text) <= tokens and tokens_of(text) <= tokens:
        return text
    whole = text if len(text) < MOST_COUNTED else text[:MOST_COUNTED]
    if len(whole) == len(text) and tokens_of(text) <= tokens:
        return text
    pieces = _pieces(text)
    spans = highlighter.spans(text)
    if not spans:
        return cut_to(text, tokens)
    begin, end = _best(pieces, _worths(text, spans, pieces, weights or {}), tokens, text)
    cut = text[begin:end].strip()
    before = ELLIPSIS if begin > 0 else ""
    after = ELLIPSIS if end < len(text) and not cut.endswith(ELLIPSIS) else ""
    return before + cut_to(cut, tokens - tokens_of(before) - tokens_of(after)).removesuffix(ELLIPSIS) + after


def _pieces(text: str) -> list[tuple[int, int]]:
    """Lines, and the sentences or stretches of those that are long."""
    pieces = []
    for line in LINES.finditer(text):
        begin, end = line.span()
        while end - begin > LONGEST_PIECE:
            cut = max(text.rfind(mark, begin + LONGEST_PIECE // 2, begin + LONGEST_PIECE) for mark in (". ", "; ", " "))
            cut = cut + 1 if cut > begin else begin + LONGEST_PIECE
            pieces.append((begin, cut))
            begin = cut
        if end > begin:
            pieces.append((begin, end))
    return pieces


def _worths(
    text: str, spans: Iterable[tuple[int, int]], pieces: list[tuple[int, int]], weights: dict[str, float]
) -> list[dict[str, float]]:
    """What stands in each piece of what is looked for, and what that is worth."""
    found: list[dict[str, float]] = [{} for _ in pieces]
    at = 0
    for start, end in spans:
        while at < len(pieces) - 1 and pieces[at][1] <= start:
            at += 1
        word = fold(text[start:end])
        found[at][word] = weights.get(word, 1.0)
    return found


def _best(
    pieces: list[tuple[int, int]], worths: list[dict[str, float]], tokens: int, text: str
) -> tuple[int, int]:
    """The run of pieces that fits and has most; then as much before and behind it as fits too."""
    sizes = [tokens_of(text[begin:end]) for begin, end in pieces] if len(pieces) < MOST_PIECES else []
    if not sizes:
        sizes = [(end - begin) // 2 + 1 for begin, end in pieces]
    best: tuple[float, int, int] = (-1.0, 0, 0)
    for first, worth in enumerate(worths):
        if not worth:
            continue
        total, words, last = 0, {}, first
        while last < len(pieces) and (total + sizes[last] <= tokens or last == first):
            total += sizes[last]
            words |= worths[last]
            if (value := sum(words.values()) - 0.001 * (last - first)) > best[0]:
                best = (value, first, last)
            last += 1
    _, first, last = best
    left = tokens - sum(sizes[first : last + 1])
    while left > 0:
        grown = False
        if last + 1 < len(pieces) and sizes[last + 1] <= left:
            last += 1
            left -= sizes[last]
            grown = True
        if first > 0 and sizes[first - 1] <= left:
            first -= 1
            left -= sizes[first]
            grown = True
        if not grown:
            break
    return pieces[first][0], pieces[last][1]


MOST_COUNTED: Final = 40_000
MOST_PIECES: Final = 2_000
LONGEST_PIECE: Final = 240
LINES: Final = re.compile(r"[^\n]*\n?")
# Han, kana, hangul and other scripts without spaces; a word in capitals, or with one at its beginning; one space before
# a word belongs to it.
PIECES: Final = re.compile(
    r" ?(?P<letters>[A-Z]?[a-z]+|[A-Z]+)"
    r"|(?P<spaces>[ \t]+|\n+)"
    r"|(?P<unspaced>[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])"
    r"|(?P<plain>[\x00-\x7f])"
    r"|(?P<other>[^\x00-\x7f])"
)
