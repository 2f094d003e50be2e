"""Fit an answer into a token budget: count tokens without a tokenizer, never too few, and cut texts.

An agent pays for every token it reads and sets a limit. Its tokenizer is unknown here, so tokens are counted by the
worst case: four letters to a token, and a token for every digit and punctuation mark.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from backscroll.query.snippets import Highlighter, fold

LETTERS_TO_A_TOKEN: Final = 4
SPACES_TO_A_TOKEN: Final = 4
UNSPACED: Final = 2
"""Tokens for a character of a script without spaces."""
ELLIPSIS: Final = "…"

Span = tuple[int, int]


def tokens_of(text: str) -> int:
    """Return an upper bound for the tokens of a text. Two texts together have no more than the sum of both."""
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
            count += len(piece[0].encode("utf-8", "surrogatepass"))
        else:
            count += length
    return count


def in_lines(text: str, a_line: int) -> int:
    """Return an upper bound for the tokens of a text with the frame around each line and its escapes in JSON."""
    escaped = text.count('"') + text.count("\\") + 2 * text.count("\t")
    return tokens_of(text) + a_line * (1 + text.count("\n")) + escaped


def cut_to(text: str, tokens: int, a_line: int = 0) -> str:
    """Return as much of the start of a text as fits, with an ellipsis where it is cut; empty if nothing fits.

    `a_line` is the extra cost of each line.
    """
    if len(text) <= MAX_CHARS_PER_TOKEN * max(0, tokens) and in_lines(text, a_line) <= tokens:
        return text
    left = tokens - tokens_of(ELLIPSIS)
    low, high = 0, min(len(text), MAX_CHARS_PER_TOKEN * max(0, left))
    while low < high:  # the longest prefix that fits
        middle = (low + high + 1) // 2
        if in_lines(text[:middle].rstrip(), a_line) <= left:
            low = middle
        else:
            high = middle - 1
    space = max(text.rfind(" ", 0, low), text.rfind("\n", 0, low))
    kept = text[: space if space > low // 2 else low].rstrip()
    return f"{kept}{ELLIPSIS}" if kept else ""


def excerpt(
    text: str, highlighter: Highlighter, tokens: int, weights: Mapping[str, float] | None = None, a_line: int = 0
) -> str:
    """Return the part of a text with most of the wanted words, as long as fits, in whole lines if they are short.

    `weights` are the weights of the words, by their folded form.
    """
    text = text.strip()
    if len(text) <= MAX_CHARS_PER_TOKEN * tokens and in_lines(text, a_line) <= tokens:
        return text
    spans = highlighter.spans(text)
    if not spans:
        return cut_to(text, tokens, a_line)
    near = max(0, spans[0][0] - LONGEST_SEARCHED // 4)
    pieces = _pieces(text, near, near + LONGEST_SEARCHED)
    worths = _worths(text, pieces, spans, weights or {})
    run = _run(text, pieces, worths, tokens, a_line)
    apart = _apart(text, pieces, worths, run, int(tokens * APART), a_line)
    if apart:
        left = tokens - sum(in_lines(segment, a_line) + 1 for segment in apart.values())
        run = _run(text, pieces, worths, left, a_line)
        apart = {span: segments for span, segments in apart.items() if not run[0] <= span[0] < run[1]}
    spent = sum(in_lines(segment, a_line) + 1 for segment in apart.values())
    segments = {**apart, run: _cut(text, run, spans, tokens - spent, a_line)}
    return "\n".join(segments[span] for span in sorted(segments))


def _cut(text: str, run: Span, spans: Sequence[Span], tokens: int, a_line: int) -> str:
    """Return a part of a text, with ellipses where it is cut, as long as fits."""
    begin, end = run
    first = next((span for span in spans if span[0] >= begin), (begin, begin))
    if in_lines(text[begin : first[1]], a_line) + 2 * tokens_of(ELLIPSIS) > tokens:  # even one piece is too long
        begin = max(begin, first[0] - SHORT)
    before = ELLIPSIS if begin > 0 else ""
    cut = before + text[begin:end].strip() + (ELLIPSIS if end < len(text) else "")
    return cut if in_lines(cut, a_line) <= tokens else cut_to(cut.removesuffix(ELLIPSIS), tokens, a_line)


def _apart(
    text: str, pieces: list[Span], worths: dict[int, dict[str, float]], run: Span, tokens: int, a_line: int
) -> dict[Span, str]:
    """Return the sentences elsewhere with significant words that the best run lacks."""
    inside = {word for at, words in worths.items() if run[0] <= pieces[at][0] < run[1] for word in words}
    most = max(weight for words in worths.values() for weight in words.values())
    missing = {
        word
        for words in worths.values()
        for word, weight in words.items()
        if weight >= HEAVY * most and word not in inside
    }
    sentences: dict[Span, str] = {}
    while missing:
        worth = {at: sum(words[word] for word in words.keys() & missing) for at, words in worths.items()}
        best = max(worth, key=lambda at: (worth[at], -at))
        missing -= worths[best].keys()
        sentence = ELLIPSIS + text[slice(*pieces[best])].strip() + ELLIPSIS
        cost = in_lines(sentence, a_line) + 1
        if cost <= tokens:
            sentences[pieces[best]] = sentence
            tokens -= cost
    return sentences


def _pieces(text: str, begin: int, end: int) -> list[Span]:
    """Return the lines of a text, with long lines split."""
    pieces = []
    for line in LINES.finditer(text, begin, end):
        start, stop = line.span()
        while stop - start > LONGEST_PIECE:
            cut = max(text.rfind(mark, start + LONGEST_PIECE // 2, start + LONGEST_PIECE) for mark in (". ", "; ", " "))
            cut = cut + 1 if cut > start else start + LONGEST_PIECE
            pieces.append((start, cut))
            start = cut
        if stop > start:
            pieces.append((start, stop))
    return pieces


def _run(text: str, pieces: list[Span], worths: dict[int, dict[str, float]], tokens: int, a_line: int) -> Span:
    """Return the best run of pieces that fits, extended before and after as far as it fits."""
    sizes: dict[int, int] = {}

    def size(at: int) -> int:
        if at not in sizes:
            sizes[at] = in_lines(text[slice(*pieces[at])].strip(), a_line) + 1
        return sizes[at]

    best = (-1.0, 0, 0)
    for first in worths:
        total, words, last = 0, dict[str, float](), first
        while last < len(pieces) and (last == first or total + size(last) <= tokens):
            total += size(last)
            if last in worths:
                words |= worths[last]
                if (value := sum(words.values()) - DISTANCE * (last - first)) > best[0]:
                    best = (value, first, last)
            last += 1
    _, first, last = best
    left = tokens - 2 * tokens_of(ELLIPSIS) - sum(map(size, range(first, last + 1)))
    behind = before = True
    while behind or before:
        for _ in range(BEHIND):  # the text after it is more useful than the text before
            behind = last + 1 < len(pieces) and size(last + 1) <= left
            if behind:
                last += 1
                left -= size(last)
        before = first > 0 and size(first - 1) <= left
        if before:
            first -= 1
            left -= size(first)
    # The start of the piece that no longer fits: the caller cuts it.
    last = min(last + 1, len(pieces) - 1)
    return pieces[first][0], pieces[last][1]


def _worths(
    text: str, pieces: list[Span], spans: Sequence[Span], weights: Mapping[str, float]
) -> dict[int, dict[str, float]]:
    """Return the weights of the wanted words in each piece."""
    by_piece: dict[int, dict[str, float]] = {}
    at = 0
    for start, end in spans:
        while at < len(pieces) - 1 and pieces[at][1] <= start:
            at += 1
        word = fold(text[start:end])
        by_piece.setdefault(at, {})[word] = weights.get(word, 1.0)
    return by_piece


MAX_CHARS_PER_TOKEN: Final = 8
"""Upper limit of this count: no text has more characters per token."""
LONGEST_SEARCHED: Final = 60_000
LONGEST_PIECE: Final = 240
DISTANCE: Final = 0.001
BEHIND: Final = 2
APART: Final = 0.34
"""Share of the room for sentences that stand apart from the best run."""
HEAVY: Final = 0.5
"""Share of the heaviest word's weight from which a word is worth a sentence apart."""
SHORT: Final = 20
LINES: Final = re.compile(r"[^\n]*\n?")
# A word in capitals, or with one at its beginning, with the space before it; Han, kana, hangul; everything else.
PIECES: Final = re.compile(
    r" ?(?P<letters>[A-Z]?[a-z]+|[A-Z]+)"
    r"|(?P<spaces>[ \t]+|\n+)"
    r"|(?P<unspaced>[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])"
    r"|(?P<plain>[\x00-\x7f])"
    r"|(?P<other>[^\x00-\x7f])"
)
