"""The usual figures, from the places at which the right chat was found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.relevance.asked import KINDS, PARTS, AskedQuery, AskedQuestion

DEPTH: Final = 10
TOTAL: Final = "all"

Ranks = Mapping[AskedQuery, int | None]
"""At which place the right chat was, from 1; None if it was not among the first ten."""


@dataclass(frozen=True)
class Score:
    """How one engine did with the queries of one kind."""

    engine: str
    half: str
    kind: str
    queries: int
    r1: float
    r3: float
    r10: float
    mrr: float


@dataclass(frozen=True)
class Answered:
    """How many questions of a kind were answered correctly: with the fact, or with nothing if there is no answer."""

    half: str
    kind: str
    questions: int
    right: int


def rank_of(right: Iterable[str], found: Iterable[str]) -> int | None:
    """The place of the first session of these; a chat that was found with several sessions counts once."""
    wanted = set(right)
    places = list(dict.fromkeys(found))[:DEPTH]
    return next((number for number, session in enumerate(places, start=1) if session in wanted), None)


def scores_of(engine: str, ranks: Ranks) -> Iterator[Score]:
    """The figures of each part: by kind, and of all."""
    for half in PARTS:
        for kind in (*KINDS, TOTAL):
            asked = [rank for query, rank in ranks.items() if query.half == half and kind in (query.kind, TOTAL)]
            yield score(engine, half, kind, asked)


def score(engine: str, half: str, kind: str, ranks: Sequence[int | None]) -> Score:
    """The figures of these queries."""
    places = [rank for rank in ranks if rank is not None]
    asked = max(1, len(ranks))
    r1, r3, r10 = (sum(rank <= most for rank in places) / asked for most in (1, 3, DEPTH))
    return Score(engine, half, kind, len(ranks), r1, r3, r10, sum(1 / rank for rank in places) / asked)


def answered_of(right: Mapping[AskedQuestion, bool]) -> Iterator[Answered]:
    """How many questions got the right answer, by part and kind."""
    for half in PARTS:
        for kind in ("answerable", "near", "far"):
            asked = [good for question, good in right.items() if question.half == half and question.kind == kind]
            yield Answered(half, kind, len(asked), sum(asked))
