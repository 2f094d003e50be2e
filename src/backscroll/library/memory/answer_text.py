"""Turn passages into text: each with the context that makes it an answer, within a budget. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from backscroll.library.memory.budget import excerpt, in_lines, tokens_of
from backscroll.library.memory.citations import A_LINE, Citation, RecalledPassage, cost_of
from backscroll.query.snippets import Highlighter, fold

SAID: Final = 0.7
"""The overlap from which two texts count as repetitions."""
LEAST: Final = 12
"""Pieces with fewer tokens are useless."""


class Piece(NamedTuple):
    """A text, its label, and its share of the room if that is short."""

    label: str
    text: str
    share: float
    is_beside: bool = False
    """Whether the text is only context: left out if it was already shown."""


class RecallItem(NamedTuple):
    """A passage to show."""

    source: Citation
    pieces: list[Piece]
    score: float
    why: tuple[str, ...]


class Words(NamedTuple):
    """The words to look for in texts, and their weights."""

    highlighter: Highlighter
    weights: Mapping[str, float]


def tell(tellings: Iterable[RecallItem], tokens: int, most: int, words: Words) -> list[RecalledPassage]:
    """Return as many passages as fit into the tokens, in order, none longer than `most`."""
    passages: list[RecalledPassage] = []
    previous: list[set[str]] = []
    beside: set[str] = set()
    for telling in tellings:
        bare = cost_of(RecalledPassage(telling.source, "", False, 0.0, ()))
        pieces = [
            piece
            for piece in telling.pieces
            if piece.text.strip() and not (piece.is_beside and (piece.text in beside or _is_told(piece.text, previous)))
        ]
        room = min(tokens, most) - bare
        if room < LEAST:
            continue
        texts = fit(pieces, room, words)
        lines = [piece.label + text for piece, text in zip(pieces, texts, strict=True) if text]
        is_cut = any(len(text) < len(piece.text.strip()) for piece, text in zip(pieces, texts, strict=True))
        passage = RecalledPassage(telling.source, "\n".join(lines), is_cut, round(telling.score, 5), telling.why)
        if not lines or (cost := cost_of(passage)) > tokens:
            continue
        passages.append(passage)
        previous.append(shingles(passage.text))
        beside |= {piece.text for piece in pieces}
        tokens -= cost
    return passages


def fit(pieces: Sequence[Piece], tokens: int, words: Words) -> list[str]:
    """Return the relevant part of each piece, together within this many tokens including labels; empty without room."""
    labels = [tokens_of(piece.label) for piece in pieces]
    wanted = [
        label + in_lines(piece.text, A_LINE) if len(piece.text) < 8 * tokens else tokens
        for label, piece in zip(labels, pieces, strict=True)
    ]
    rooms = [min(want, int(tokens * piece.share)) for want, piece in zip(wanted, pieces, strict=True)]
    texts = []
    for at, piece in enumerate(pieces):
        room = max(0, min(wanted[at], tokens - sum(rooms[at + 1 :])))
        text = excerpt(piece.text, words.highlighter, room - labels[at], words.weights, A_LINE)
        used = labels[at] + in_lines(text, A_LINE) if text else 0
        if used > room or room < min(LEAST, wanted[at]):
            text, used = "", 0
        tokens -= used
        texts.append(text)
    return texts


def shingles(text: str) -> set[str]:
    """Return the runs of four words at the start of a text."""
    words = WORDS.findall(fold(text[:LONGEST_COMPARED]))
    return {" ".join(words[at : at + 4]) for at in range(max(1, len(words) - 3))}


def is_said(own: set[str], other: set[str]) -> bool:
    """Whether most of a text is in another."""
    return len(own & other) >= SAID * len(own)


def _is_told(text: str, told: list[set[str]]) -> bool:
    own = shingles(text)
    return any(is_said(own, earlier) for earlier in told)


LONGEST_COMPARED: Final = 3_000
WORDS: Final = re.compile(r"[^\W_]+")
