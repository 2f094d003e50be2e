"""Find earlier occurrences of an error and their solutions, within a token budget."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.library.memory.answer_text import Piece, Words, fit
from backscroll.library.memory.budget import tokens_of
from backscroll.library.memory.citations import (
    A_LINE,
    DEFAULT_TOKENS,
    FEWEST_TOKENS,
    HEADING,
    Citation,
    RecalledPassage,
    cost_of,
    is_project,
    source_of,
    times,
)
from backscroll.library.memory.solved_errors import (
    PLACES,
    WORDS,
    ErrorMatch,
    Resolution,
    errors_like,
    step_text,
    ways_out,
)
from backscroll.query.snippets import Highlighter
from backscroll.query.tree import All, Query, Word
from backscroll.store.batches import EPOCH


@dataclass(frozen=True)
class Solution:
    """A step of a solution."""

    source: Citation
    kind: str
    """edit, command or call; worked: the call that then succeeded; answer: the comment on it."""
    text: str


@dataclass(frozen=True)
class SimilarError:
    """An earlier error with its solution."""

    source: Citation
    signature: str
    text: str
    is_same: bool
    """Whether its signature is the same, and not only similar."""
    is_solved: bool | None
    """Whether a retry succeeded; None if there was no retry."""
    solution: list[Solution]
    is_cut: bool
    score: float


@dataclass(frozen=True)
class SimilarErrors:
    """Similar errors, the most useful first."""

    error: str
    signature: str
    errors: list[SimilarError]
    found: int
    """Number of similar errors."""
    chats: int
    """Number of chats with similar errors."""
    tokens: int
    """An upper bound for the tokens of the answer as text."""
    is_cut: bool
    hint: str


def similar_errors(
    library: Library,
    text: str,
    *,
    max_tokens: int = DEFAULT_TOKENS,
    project: str | None = None,
    without: Collection[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> SimilarErrors:
    """Return similar errors with their solutions; `project` is preferred, `without` are sessions to leave out."""
    with library.texts() as texts:
        signature, met = errors_like(library, texts, text, {match.lower() for match in without}, times(since, until))
        ways = ways_out(library, texts, [match.hit for match in met])
        scored = sorted(
            ((worth_of(match, ways[match.hit.block], project), match) for match in met),
            key=lambda pair: (-pair[0], -(pair[1].hit.time or 0)),
        )
        words = looked_for(signature)
        left = max(max_tokens, FEWEST_TOKENS) - HEADING
        errors: list[SimilarError] = []
        for score, match in scored:
            if sum(error.source.chat == match.chat.overview.id for error in errors) >= EACH_CHAT:
                continue
            error = _similar_error(
                texts, match, ways[match.hit.block], score, min(left, max(AN_ERROR, int(max_tokens * SHARE))), words
            )
            if error is not None and (cost := cost_of_error(error)) <= left:
                errors.append(error)
                left -= cost
    is_cut = len(errors) < len(met) or any(error.is_cut for error in errors)
    chats = len({match.chat.key for match in met})
    hint = "read one with its chat and message id, or ask for more tokens" if is_cut else ""
    if not met:
        hint = "no similar error was found; try recall with its words"
    return SimilarErrors(text, signature, errors, len(met), chats, max(max_tokens, FEWEST_TOKENS) - left, is_cut, hint)


def worth_of(met: ErrorMatch, way: Resolution, project: str | None) -> float:
    """Rate the usefulness of an error: similar, solved, and of the preferred project."""
    worth = met.likeness * {True: 1.2, None: 1.0, False: 0.9}[way.is_solved]
    return worth * (PROJECT if project and is_project(project, met.chat.overview.project) else 1.0)


def looked_for(signature: str) -> Words:
    """Return the words of an error."""
    words = list(dict.fromkeys(WORDS.findall(PLACES.sub(" ", signature))))
    return Words(Highlighter(Query("", All(tuple(Word(word) for word in words)))), {})


def pieces_of(texts: Texts, met: ErrorMatch, way: Resolution) -> list[Piece]:
    """Return an error and its solution, ready to show."""
    project = met.chat.overview.project
    share = STEPS_SHARE / max(1, len(way.steps))
    return [
        Piece("", met.text, ERROR_SHARE),
        *(Piece(f"{LABELS[kind]}: ", step_text(texts, tried, project), share) for kind, tried in way.steps),
    ]


def cost_of_error(error: SimilarError) -> int:
    """Return an upper bound for the tokens of an error in an answer, with its sources."""
    cost = cost_of(RecalledPassage(error.source, error.text, False, 0.0, ()))
    return cost + sum(A_STEP + tokens_of(step.text) + A_LINE * step.text.count("\n") for step in error.solution)


def _similar_error(
    texts: Texts, met: ErrorMatch, way: Resolution, score: float, tokens: int, words: Words
) -> SimilarError | None:
    source = source_of(met.hit, met.chat)
    room = tokens - cost_of(RecalledPassage(source, "", False, 0.0, ()))
    all_steps = len(way.steps)
    way = way._replace(steps=way.steps[: max(0, room - AN_EXCERPT) // A_STEP])
    room -= A_STEP * len(way.steps)
    if room <= 0:
        return None
    pieces = pieces_of(texts, met, way)
    text, *others = fit(pieces, room, words)
    if not text:
        return None
    steps = []
    for (kind, tried), part in zip(way.steps, others, strict=True):
        when = EPOCH + timedelta(microseconds=tried.row.time) if tried.row.time is not None else None
        place = Citation(source.chat, source.title, source.project, tried.step.uuid or "", when, kind, source.agent)
        if part:
            steps.append(Solution(place, kind, part))
    is_cut = len(way.steps) < all_steps or any(
        part != piece.text.strip() for piece, part in zip(pieces, (text, *others), strict=True)
    )
    is_same = met.likeness == 1.0
    return SimilarError(source, met.signature, text, is_same, way.is_solved, steps, is_cut, round(score, 3))


EACH_CHAT: Final = 2
PROJECT: Final = 1.3
AN_ERROR: Final = 300
"""The minimum number of tokens for an error."""
AN_EXCERPT: Final = 40
"""Tokens reserved for an error's own text before any step of its solution."""
SHARE: Final = 0.34
"""Share of the budget that one error may take."""
ERROR_SHARE: Final = 0.3
STEPS_SHARE: Final = 0.7
A_STEP: Final = 24 + A_LINE
"""Tokens that a door may add around a step."""
LABELS: Final = {
    "edit": "then changed",
    "command": "then ran",
    "call": "then",
    "worked": "worked",
    "answer": "answered",
}
