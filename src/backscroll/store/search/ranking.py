"""The order of the chats that match a query: docs/why/search.md explains it and has the measurements.

The best passages are the candidates, and name the chats that come first. The score of such a chat has three parts:

- its best passages: by the rarity of the words in them, by who said them and by their length, and more where words
  that are next to each other in the query are near each other in the passage;
- the chat as a whole: bm25 over all its passages for every word that is not frequent;
- the share of these words that it has.

A rare word weighs more than a frequent one everywhere, so words such as "the" and "not" decide nothing. Other forms of
a word (`leaks` for `leak`) count a little less than the word itself. Other chats follow by their number of matches.
Nothing here knows which page of the results is requested, so the order is the same on every page; and nothing depends
on the engine or its past, so it is the same in every library with the same data.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from backscroll.store.search.compile import CompiledQuery, QueryTerm
from backscroll.store.search.engine import Match, WordEngine
from backscroll.store.search.nodes import (
    EachOf,
    HasPhrase,
    HasWord,
    IsOneOf,
    Node,
    Worth,
    either,
)
from backscroll.store.search.ties import among_first, without_ties
from backscroll.store.search.worths import DIGITS, rarity_of

CANDIDATES: Final = 500
"""The number of passages that compete for the best."""
NEAR_CANDIDATES: Final = 50
"""The number of candidates in which words near each other are looked for."""
# Chosen with bench/relevance, on its tuning half.
BEST: Final = 3
"""The number of a chat's best passages that count for it."""
FURTHER_WEIGHT: Final = 0.2
"""The weights of the second and third best passage, relative to the best."""
FORM_WEIGHT: Final = 0.6
"""The weight of another form of a word, relative to the word."""
SIDE_BY_SIDE: Final = 0.7
NEAR: Final = 0.3
"""The gain of two words of the query that are adjacent, and that are near, relative to the rarer word."""
NEAR_WORDS: Final = 5
"""The most words between two words that are near each other."""
VERBATIM: Final = 0.5
LEAST_VERBATIM: Final = 3
"""The gain of a query that stands verbatim in a passage, relative to all its words; and its least number of words."""
SAID: Final = 2.0
NOT_SAID: Final = 0.2
"""The weight of a passage in its chat: of titles, prompts and answers, and of the rest."""
LEAST_SHARE: Final = 0.01
COVERAGE: Final = 0.15
"""The exponent of the share of the query's words that a chat has."""
PREFERRED: Final = 1.25
"""The factor for a chat of the preferred project."""
K1: Final = 1.2
B: Final = 0.75
"""The usual constants of bm25, here for a chat: saturation by further matches, and influence of the chat's size."""
MAX_PAIRS: Final = 4
"""The number of pairs of words that count: those of the rarest words."""


class Candidates(NamedTuple):
    """The best passages."""

    best: Mapping[int, Mapping[int, Match]]
    """The passages by chat."""
    floor: float
    """The highest score that any other passage can have: that of the best one left out."""
    are_all: bool
    """Whether no other passage matches."""


class _Weighed(NamedTuple):
    """A term with its weight, and its count in each chat."""

    term: QueryTerm
    rarity: float
    counts: Mapping[int, float]
    """The count by chat; empty for a frequent word."""


class Ranking:
    """Ranks the chats of one query."""

    def __init__(self, engine: WordEngine, compiled: CompiledQuery) -> None:
        self._engine = engine
        self._compiled = compiled
        self._weighed = [self._weigh(term) for term in compiled.terms]

    def candidates(self) -> Candidates:
        """Return the best passages, by chat."""
        query, files = self._passages(), self._compiled.files
        passages, floor = without_ties(lambda most: self._engine.best(query, most, files), CANDIDATES)
        if not passages:
            return Candidates({}, 0.0, are_all=True)
        near = self._nearness(among_first(passages, NEAR_CANDIDATES))
        best: dict[int, dict[int, Match]] = defaultdict(dict)
        for match in passages:
            score, chat, block = match
            if chat:
                best[chat][block] = Match(score + near[block], chat, block) if block in near else match
        return Candidates(best, floor or 0.0, floor is None)

    def rank(self, matches: Mapping[int, int], candidates: Candidates, preferred: Collection[int]) -> dict[int, float]:
        """Return the scores of the chats with candidates, best first; `matches` are all matching chats."""
        scores: dict[int, float] = {}
        chats = candidates.best.keys() & matches.keys()
        if not chats:
            return scores
        sizes, usual = self._engine.sizes(chats), self._engine.usual_size
        for chat in chats:
            best = sorted((match.score for match in candidates.best[chat].values()), reverse=True)[:BEST]
            # The matches of a chat that are not among the candidates are no better than the last of them.
            best += [candidates.floor] * (min(BEST, matches[chat]) - len(best))
            whole, share = self._as_a_whole(chat, sizes.get(chat, 1) / usual)
            score = share**COVERAGE * (whole + best[0] + FURTHER_WEIGHT * sum(best[1:]))
            scores[chat] = round(score * (PREFERRED if chat in preferred else 1.0), DIGITS)
        ages = self._engine.ages(scores)
        return {chat: scores[chat] for chat in sorted(scores, key=lambda chat: (-scores[chat], ages[chat]))}

    def _as_a_whole(self, chat: int, length: float) -> tuple[float, float]:
        """Return the bm25 of a chat, and the share of the words that it has, by weight; frequent words do not count."""
        score = has = total = 0.0
        for _, weight, counts in self._weighed:
            if counts:
                total += weight
            if count := counts.get(chat, 0.0):
                has += weight
                score += weight * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
        return score, max(LEAST_SHARE, has / total) if total else 1.0

    def _weigh(self, term: QueryTerm) -> _Weighed:
        if term.is_frequent:
            return _Weighed(term, self._rarity(term.frequency), {})
        counts: dict[int, float] = defaultdict(float)
        self._add(counts, term.query, 1.0)
        forms = self._add(counts, either([HasWord(form) for form in term.forms]), FORM_WEIGHT) if term.forms else 0
        return _Weighed(term, self._rarity(term.frequency + forms), counts)

    def _add(self, counts: dict[int, float], query: Node, worth: float) -> int:
        """Add to each chat its count of a query, prompts and answers weighing more; return the number of passages."""
        passages = 0
        for chat, count in self._engine.said_by_chat(query).items():
            counts[chat] += worth * (NOT_SAID * count.found + (SAID - NOT_SAID) * count.said)
            passages += count.found
        return passages

    def _passages(self) -> Node:
        """Return the node of matching passages, scored by the rarity of their words."""
        terms: list[Node] = []
        forms: list[Node] = []
        for term, weight, _ in self._weighed:
            if not term.forms:
                terms.append(term.query)
                continue
            # The word is as rare as all of its forms together.
            terms.append(Worth(term.query, weight))
            forms += [Worth(HasWord(form), FORM_WEIGHT * weight) for form in term.forms]
        matching = self._compiled.among(terms)
        if not forms:
            return matching
        return EachOf((matching,), also=tuple(forms))

    def _nearness(self, blocks: list[int]) -> dict[int, float]:
        """Return the gain of passages in which words stand as they do in the query."""
        parts: list[Node] = []
        for worth, pair in self._pairs()[:MAX_PAIRS]:
            parts += [Worth(HasPhrase(pair, NEAR_WORDS), NEAR * worth), Worth(HasPhrase(pair), SIDE_BY_SIDE * worth)]
        typed = self._compiled.typed
        if len(typed) >= LEAST_VERBATIM:
            worth = VERBATIM * sum(self._rarity(self._engine.frequency(word)) for word in typed)
            parts.append(Worth(HasPhrase(typed), worth))
        if not parts:
            return {}
        query: Node = IsOneOf(tuple(blocks))
        for part in parts:  # nested, so that an engine looks for words in these passages only
            query = EachOf((query,), also=(part,))
        return {match.block: match.score for match in self._engine.best(query, len(blocks)) if match.score}

    def _pairs(self) -> list[tuple[float, tuple[str, str]]]:
        """Return neighbouring words of the query, each pair with the weight of its more frequent word, best first."""
        pairs = {}
        for term, other in pairwise(self._compiled.terms):
            # Two frequent words say little, and take the longest; but the query may have no others.
            is_worth = len(self._compiled.terms) == 2 or not (term.is_frequent and other.is_frequent)
            if is_worth and term.words and other.words and term.words[-1] != other.words[0]:
                pair = (term.words[-1], other.words[0])
                pairs[pair] = min(self._rarity(self._engine.frequency(word)) for word in pair)
        return sorted(((weight, pair) for pair, weight in pairs.items()), reverse=True)

    def _rarity(self, frequency: int) -> float:
        """Return the weight of a word: the rarer, the higher."""
        return rarity_of(frequency, self._engine.total)


def by_matches(engine: WordEngine, matches: Mapping[int, int], ranked: Mapping[int, float]) -> list[int]:
    """Return the chats that are not ranked, as none of their passages is a candidate, by their number of matches."""
    ages = engine.ages(matches) if len(ranked) < len(matches) else {}
    rest = sorted((-count, ages[chat], chat) for chat, count in matches.items() if chat not in ranked)
    return [chat for _, _, chat in rest]
