"""Answer a question in plain words with the passages that are most likely to hold the answer, inside a budget.

The question is asked in several ways (`questions`), what they find is merged by rank, read, weighed by how much of the
question it has, and told with what makes it an answer: a prompt with what its turn came to, an answer with what was
asked. What says the same as something better is left out.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from backscroll.conversation import Role
from backscroll.library.budget import cut_to, excerpt, tokens_of
from backscroll.library.following import Around, around
from backscroll.library.library import Library
from backscroll.library.questions import Term, Variant, terms_of, variants_of
from backscroll.library.searching import text_of
from backscroll.library.texts import Texts
from backscroll.query import All, Field, Highlighter, Query, Word, fold
from backscroll.store import EPOCH, Hit, StoredChat

@dataclass(frozen=True)
class Recall:
    """The answer to a question, the best passage first."""

    question: str
    passages: list[Recalled]
    chats: int
    """How many chats have something of the question."""
    found: int
    """How many passages were weighed."""
    tokens: int
    """How many the answer takes as text, at most."""
    is_cut: bool
    """Whether there was more than fits."""
    hint: str
    """How to get the rest, or what to try where nothing was found."""


def recall(
    library: Library,
    question: str,
    *,
    max_tokens: int = DEFAULT_TOKENS,
    project: str | None = None,
    without: Collection[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> Recall:
    """The best passages for a question. `project` is preferred, not required; `without` are sessions to leave out."""
    terms = terms_of(question)
    if not terms:
        return Recall(question, [], 0, 0, HEADING, is_cut=False, hint="ask with a few telling words")
    texts = Texts(lambda: library.archive)
    try:
        return _Asked(library, texts, question, terms, project, without, since, until).answer(max_tokens)
    finally:
        texts.close()


class _Candidate:
    """A passage that may be told."""

    def __init__(self, hit: Hit, chat: StoredChat) -> None:
        self.hit = hit
        self.chat = chat
        self.score = 0.0
        self.text = ""
        self.why: tuple[str, ...] = ()


class _Asked:
    """One question on its way to the answer."""

    def __init__(
        self,
        library: Library,
        texts: Texts,
        question: str,
        terms: list[Term],
        project: str | None,
        without: Collection[str],
        since: datetime | None,
        until: datetime | None,
    ) -> None:
        self._library = library
        self._texts = texts
        self._question = question
        self._terms = terms
        self._project = project
        self._without = {session.lower() for session in without}
        self._fields = tuple(
            Field(name, comparison, moment)
            for name, comparison, moment in (("after", ">=", since), ("before", "<", until))
            if moment is not None
        )  # type: ignore[arg-type]
        self._counts: dict[Term, int] = {}
        self._chats = 0

    def answer(self, max_tokens: int) -> Recall:
        """Everything, one step after the other."""
        candidates = self._candidates(variants_of(self._terms, self._frequency, self._fields))
        if not candidates:
            hint = self._similar() or "try other words, or backscroll search"
            return Recall(self._question, [], 0, 0, HEADING, is_cut=False, hint=hint)
        self._weigh(candidates)
        chosen = self._different(candidates)
        passages = self._told(chosen, max(max_tokens, FEWEST_TOKENS) - HEADING)
        tokens = HEADING + sum(map(cost_of, passages))
        is_cut = len(passages) < len(chosen) or any(passage.is_cut for passage in passages)
        hint = "read one with its chat and message id, or ask for more tokens" if is_cut else ""
        return Recall(self._question, passages, self._chats, len(candidates), tokens, is_cut, hint)

    # Finding

    def _frequency(self, term: Term) -> int:
        if term not in self._counts:
            query = Query("", All((term.demand,)))
            passing = self._library.passing
            found = self._library.store.search(query, passing, sort="relevance", limit=1, offset=0, hits=1)
            self._counts[term] = found.total
        return self._counts[term]

    def _candidates(self, variants: Sequence[Variant]) -> list[_Candidate]:
        found: dict[tuple[object, ...], _Candidate] = {}
        titled: dict[int, float] = defaultdict(float)
        for variant in variants:
            answer = self._library.store.search(
                variant.query, self._library.passing, sort="relevance", limit=MOST_CHATS, offset=0, hits=MOST_HITS
            )
            self._chats = max(self._chats, answer.total_chats)
            hits = [(hit, chat.chat) for chat in answer.chats for hit in chat.hits if self._is_wanted(hit)]
            ranks = {hit.block: rank for rank, (hit, _) in enumerate(sorted(hits, key=lambda pair: -pair[0].score))}
            places = {chat.chat.key: rank for rank, chat in enumerate(answer.chats)}
            for hit, chat in hits:
                score = variant.weight * (1 / (RANK + ranks[hit.block]) + CHAT_SHARE / (RANK + places[chat.key]))
                if hit.role is Role.TITLE:
                    titled[chat.key] += score
                    if chat.key not in {key for key, *_ in found}:
                        self._first_of(chat, found)
                    continue
                key = (chat.key, hit.uuid or hit.block, hit.number, hit.role)
                found.setdefault(key, _Candidate(hit, chat)).score += score
        for candidate in found.values():
            candidate.score += TITLE_SHARE * titled[candidate.chat.key]
        return sorted(found.values(), key=lambda candidate: (-candidate.score, candidate.hit.block))[:MOST_READ]

    def _first_of(self, chat: StoredChat, found: dict[tuple[object, ...], _Candidate]) -> None:
        """A title stands in no message: what was typed first stands for it."""
        fields = (Field("chat", "=", chat.overview.id), Field("role", "=", "prompt"))
        passing = self._library.passing
        answer = self._library.store.search(Query("", All(fields)), passing, sort="oldest", limit=1, offset=0, hits=1)
        for hit in (hit for one in answer.chats for hit in one.hits[:1] if self._is_wanted(hit)):
            found.setdefault((chat.key, hit.uuid or hit.block, hit.number, hit.role), _Candidate(hit, chat))

    def _is_wanted(self, hit: Hit) -> bool:
        return (hit.session or "").lower() not in self._without

    def _similar(self) -> str:
        words = self._library.similar(Query("", All(tuple(Word(term.text) for term in self._terms[:6]))))
        return f"did you mean {', '.join(words[:4])}?" if words else ""

    # Weighing

    def _weigh(self, candidates: list[_Candidate]) -> None:
        """By how much of the question stands in it, and whose project it is."""
        total = sum(self._rarity(term) for term in self._terms) or 1.0
        for candidate in candidates:
            candidate.text = text_of(self._texts, candidate.hit)
            searched = fold(candidate.text[:LONGEST_WEIGHED])
            has = [term for term in self._terms if _has(searched, term)]
            candidate.why = tuple(term.text for term in has)
            coverage = sum(self._rarity(term) for term in has) / total
            candidate.score *= (1 - COVERAGE) + COVERAGE * coverage
            candidate.score *= ROLES.get(candidate.hit.role, 1.0)
            if self._project and is_project(self._project, candidate.chat.overview.project):
                candidate.score *= PROJECT

    def _rarity(self, term: Term) -> float:
        return 1 / math.log(2 + self._frequency(term)) * (1.5 if term.is_name else 1.0)

    def _different(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """The best first, none that says what another said, and not all of one chat."""
        chosen: list[_Candidate] = []
        shingles: list[set[str]] = []
        of_chat: dict[int, int] = defaultdict(int)
        waiting = list(candidates)
        while waiting and len(chosen) < MOST_TOLD:
            best = max(waiting, key=lambda one: (one.score * SAME_CHAT ** of_chat[one.chat.key], -one.hit.block))
            waiting.remove(best)
            own = _shingles(best.text)
            if not best.text.strip() or any(_is_said(own, other) for other in shingles):
                continue
            if best.hit.message and any(best.hit.message == one.hit.message for one in chosen):
                continue
            chosen.append(best)
            shingles.append(own)
            of_chat[best.chat.key] += 1
        return chosen

    # Telling

    def _told(self, chosen: list[_Candidate], tokens: int) -> list[Recalled]:
        turns = around(self._library, [candidate.hit for candidate in chosen])
        highlighter = Highlighter(Query("", All(tuple(Word(term.text) for term in self._terms))))
        weights = {fold(term.text): self._rarity(term) for term in self._terms}
        passages: list[Recalled] = []
        told: list[set[str]] = []
        most = max(A_PASSAGE, tokens * SHARE)
        for candidate in chosen:
            source = source_of(candidate.hit, candidate.chat)
            left = tokens - cost_of(Recalled(source, "", False, 0.0, ()))
            turn = turns.get(candidate.hit.block, Around(None, None))
            text, is_cut = self._text(candidate, turn, highlighter, weights, int(min(left, most)), told)
            passage = Recalled(source, text, is_cut, round(candidate.score, 5), candidate.why)
            if not text or cost_of(passage) > tokens:
                if left < A_PASSAGE // 2:
                    break
                continue
            passages.append(passage)
            told.append(_shingles(text))
            tokens -= cost_of(passage)
        return passages

    def _text(
        self,
        candidate: _Candidate,
        turn: Around,
        highlighter: Highlighter,
        weights: dict[str, float],
        tokens: int,
        told: list[set[str]],
    ) -> tuple[str, bool]:
        """The relevant part, with what makes it an answer."""
        parts: list[tuple[str, str, float]] = []
        role = candidate.hit.role
        if role is not Role.PROMPT and turn.prompt is not None:
            parts.append(("asked: ", turn.prompt.text(self._texts), 0.2))
        label = LABELS.get(role, "")
        if candidate.hit.tool:
            label = f"{label} {candidate.hit.tool}".strip()
        parts.append((f"{label}: " if label else "", candidate.text, 0.6))
        if turn.conclusion is not None and role is not Role.ANSWER:
            parts.append(("answered: ", turn.conclusion.text(self._texts), 0.45))
        lines, is_cut = [], False
        left = tokens
        wanted = {at: tokens_of(text) if len(text) < 4 * tokens else tokens for at, (_, text, _) in enumerate(parts)}
        for at, (before, text, share) in enumerate(parts):
            if at and any(_is_said(_shingles(text), other) for other in told):
                continue
            later = sum(min(wanted[other], int(tokens * parts[other][2])) for other in range(at + 1, len(parts)))
            room = min(left, max(int(tokens * share), left - later)) - tokens_of(before) - A_LINE
            piece = excerpt(text, highlighter, _for_lines(text, room), weights) if room > 8 else ""
            while piece and tokens_of(piece) + A_LINE * piece.count("\n") > room:
                piece = cut_to(piece, tokens_of(piece) - max(1, A_LINE * piece.count("\n") // 2) - 1)
            is_cut = is_cut or len(piece) < len(text.strip())
            if piece:
                lines.append(before + piece)
                left -= tokens_of(before + piece) + A_LINE * (1 + piece.count("\n"))
        return "\n".join(lines), is_cut


def _has(searched: str, term: Term) -> bool:
    text = fold(term.text)
    if text in searched:
        return True
    words = WORDS.findall(text)
    return len(words) > 1 and all(word in searched for word in words)


def _shingles(text: str) -> set[str]:
    words = WORDS.findall(fold(text[:LONGEST_COMPARED]))
    return {" ".join(words[at : at + 4]) for at in range(max(1, len(words) - 3))}


def _is_said(own: Iterable[str], other: set[str]) -> bool:
    shingles = set(own)
    return len(shingles & other) >= SAID * len(shingles)


MOST_CHATS: Final = 15
MOST_HITS: Final = 6
MOST_READ: Final = 48
MOST_TOLD: Final = 14
# Chosen with bench/recall_agents.py, on its tuning half.
RANK: Final = 10
CHAT_SHARE: Final = 0.5
TITLE_SHARE: Final = 0.5
COVERAGE: Final = 0.7
PROJECT: Final = 1.3
SAME_CHAT: Final = 0.75
SAID: Final = 0.7
A_PASSAGE: Final = 160
"""Tokens that a passage takes at least, where there is so much to tell."""
SHARE: Final = 0.12
"""How much of the budget one passage may take."""
ROLES: Final[dict[Role, float]] = {Role.OTHER: 0.7}
LONGEST_WEIGHED: Final = 60_000
LONGEST_COMPARED: Final = 3_000
LABELS: Final = {
    Role.PROMPT: "asked",
    Role.ANSWER: "answered",
    Role.THINKING: "thought",
    Role.INPUT: "ran",
    Role.OUTPUT: "got",
}
WORDS: Final = re.compile(r"[^\W_]+")
