"""The order of the chats that match a query: docs/why/search.md explains it and has the measurements.

The best passages are the candidates, and name the chats that come first. The score of such a chat has three parts:

- its best passages: bm25 of the engine, by who said it, and more where words that are next to each other in the query
  are near each other in the passage;
- the chat as a whole: bm25 over all its passages for every word that is not frequent;
- which share of these words it has.

A rare word weighs more than a frequent one everywhere, so words such as "the" and "not" decide nothing. Other forms of
a word (`leaks` for `leak`) count a little less than the word itself. Other chats follow by their number of matches.
Nothing here knows which part of the results is asked for, so the order is the same on every page.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from backscroll.store.search.compile import CompiledQuery, QueryTerm
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.nodes import (
    EachOf,
    HasPhrase,
    HasWord,
    IsOneOf,
    Node,
    Weighed,
    Worth,
    either,
)

CANDIDATES: Final = 500
"""How many passages compete for the best."""
NEAR_CANDIDATES: Final = 50
"""In how many of them we look for words that are near each other."""
# Chosen with bench/relevance, on its half to tune.
BEST: Final = 3
"""How many of its best passages count for a chat."""
FURTHER_WEIGHT: Final = 0.3
"""The weights of the second and third best passage, relative to the best."""
FORM_WEIGHT: Final = 0.7
"""The weight of another form of a word, relative to the word."""
SIDE_BY_SIDE: Final = 0.7
NEAR: Final = 0.3
"""What two words of the query add if they are adjacent, and if they are near, relative to the rarer one."""
NEAR_WORDS: Final = 5
"""How many words may be between words that are near each other."""
VERBATIM: Final = 0.5
LEAST_VERBATIM: Final = 3
"""What the whole query adds where it stands as it was typed, relative to all its words; and from how many words on."""
SAID: Final = 2.0
NOT_SAID: Final = 0.2
"""How much a passage counts in its chat: title, prompt and answer, and the rest."""
LEAST_SHARE: Final = 0.01
COVERAGE: Final = 0.25
"""How much the share of the words counts that a chat has."""
PREFERRED: Final = 1.25
"""The factor for a chat of the preferred project."""
K1: Final = 1.2
B: Final = 0.75
"""The usual constants of bm25, here for a chat: how soon more matches add no more, and how much its size counts."""
MAX_PAIRS: Final = 4
"""How many pairs of words count: those of the rarest words."""


class Candidates(NamedTuple):
    """The best passages."""

    best: Mapping[int, Mapping[int, float]]
    """By chat, with their scores."""
    floor: float
    """The score that no other passage exceeds."""
    are_all: bool
    """Whether no other passage matches."""


class _Weighed(NamedTuple):
    """A term with its weight, and how much of it each chat has."""

    term: QueryTerm
    rarity: float
    counts: Mapping[int, float]
    """Empty for a frequent word."""


class Ranking:
    """Ranks the chats of one query."""

    def __init__(self, engine: WordEngine, compiled: CompiledQuery) -> None:
        self._engine = engine
        self._compiled = compiled
        self._weighed = [self._weigh(term) for term in compiled.terms]

    def candidates(self) -> Candidates:
        """The best passages, by chat."""
        found = self._engine.best(self._passages(), CANDIDATES, self._compiled.files)
        if not found:
            return Candidates({}, 0.0, are_all=True)
        near = self._nearness([match.block for match in found[:NEAR_CANDIDATES]])
        best: dict[int, dict[int, float]] = defaultdict(dict)
        for score, chat, block in found:
            if chat:
                best[chat][block] = score + near.get(block, 0.0)
        are_all = len(found) < CANDIDATES
        return Candidates(best, 0.0 if are_all else found[-1].score, are_all)

    def rank(self, matches: Mapping[int, int], candidates: Candidates, preferred: Collection[int]) -> dict[int, float]:
        """The chats with candidates, in order of their scores; `matches` are all matching chats."""
        scores: dict[int, float] = {}
        chats = candidates.best.keys() & matches.keys()
        if not chats:
            return scores
        sizes, usual = self._engine.sizes(chats), self._engine.usual_size
        for chat in chats:
            best = sorted(candidates.best[chat].values(), reverse=True)[:BEST]
            # The matches of a chat that are not among the candidates are no better than the last of them.
            best += [candidates.floor] * (min(BEST, matches[chat]) - len(best))
            whole, share = self._as_a_whole(chat, sizes.get(chat, 1) / usual)
            score = share**COVERAGE * (whole + best[0] + FURTHER_WEIGHT * sum(best[1:]))
            scores[chat] = round(score * (PREFERRED if chat in preferred else 1.0), 6)
        ages = self._engine.ages(scores)
        return {chat: scores[chat] for chat in sorted(scores, key=lambda chat: (-scores[chat], ages[chat]))}

    def _as_a_whole(self, chat: int, length: float) -> tuple[float, float]:
        """bm25 of a chat, and the share of the words that it has, by their weight; frequent words do not count."""
        score = has = asked = 0.0
        for _, weight, counts in self._weighed:
            if counts:
                asked += weight
            if count := counts.get(chat, 0.0):
                has += weight
                score += weight * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
        return score, max(LEAST_SHARE, has / asked) if asked else 1.0

    def _weigh(self, term: QueryTerm) -> _Weighed:
        frequency = term.frequency + sum(count for _, count in term.forms)
        weight = self._rarity(frequency)
        if term.is_frequent:
            return _Weighed(term, weight, {})
        counts: dict[int, float] = defaultdict(float)
        self._add(counts, term.query, 1.0)
        if term.forms:
            self._add(counts, either([HasWord(form) for form, _ in term.forms]), FORM_WEIGHT)
        return _Weighed(term, weight, counts)

    def _add(self, counts: dict[int, float], query: Node, worth: float) -> None:
        """Add how much a chat has of this: what was said counts more."""
        for chat, count in self._engine.said_by_chat(query).items():
            counts[chat] += worth * (NOT_SAID * count.found + (SAID - NOT_SAID) * count.said)

    def _passages(self) -> Node:
        """The matching passages, those with the rarer words first."""
        terms: list[Node] = []
        forms: list[Node] = []
        for term, weight, _ in self._weighed:
            if not term.forms:
                terms.append(term.query)
                continue
            # The engine knows how rare one form is; the word is as rare as all of them together.
            terms.append(Weighed(term.query, weight / self._rarity(term.frequency)))
            forms += [Weighed(HasWord(form), FORM_WEIGHT * weight / self._rarity(count)) for form, count in term.forms]
        matching = self._compiled.among(terms)
        if not forms:
            return matching
        return EachOf((matching,), also=tuple(forms))

    def _nearness(self, blocks: list[int]) -> dict[int, float]:
        """What passages gain by words that stand as they do in the query."""
        gains: dict[int, float] = defaultdict(float)
        among = IsOneOf(tuple(blocks))
        for worth, pair in self._pairs()[:MAX_PAIRS]:
            query = EachOf(
                (among, Worth(HasPhrase(pair, NEAR_WORDS), NEAR * worth)),
                also=(Worth(HasPhrase(pair), SIDE_BY_SIDE * worth),),
            )
            for score, _, block in self._engine.best(query, len(blocks)):
                gains[block] += score
        typed = self._compiled.typed
        if len(typed) >= LEAST_VERBATIM:
            worth = VERBATIM * sum(self._rarity(self._engine.frequency(word)) for word in typed)
            for score, _, block in self._engine.best(EachOf((among, Worth(HasPhrase(typed), worth))), len(blocks)):
                gains[block] += score
        return gains

    def _pairs(self) -> list[tuple[float, tuple[str, str]]]:
        """The neighbouring words of the query, each pair with the weight of its more frequent word, best first."""
        pairs = {}
        for one, other in pairwise(self._compiled.terms):
            # Two frequent words tell little, and take the longest; but they may be all that is asked for.
            is_worth = len(self._compiled.terms) == 2 or not (one.is_frequent and other.is_frequent)
            if is_worth and one.words and other.words and one.words[-1] != other.words[0]:
                pair = (one.words[-1], other.words[0])
                pairs[pair] = min(self._rarity(self._engine.frequency(word)) for word in pair)
        return sorted(((weight, pair) for pair, weight in pairs.items()), reverse=True)

    def _rarity(self, frequency: int) -> float:
        """The weight of a word: the rarer, the higher."""
        documents = self._engine.total
        return math.log(1 + (max(0, documents - frequency) + 0.5) / (frequency + 0.5))


def by_matches(engine: WordEngine, matches: Mapping[int, int], ranked: Mapping[int, float]) -> list[int]:
    """The chats that are not ranked, because none of their passages is a candidate: by their number of matches."""
    ages = engine.ages(matches) if len(ranked) < len(matches) else {}
    rest = sorted((-count, ages[chat], chat) for chat, count in matches.items() if chat not in ranked)
    return [chat for _, _, chat in rest]
