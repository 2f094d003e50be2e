"""Answer a question in plain words with the most likely passages, within a token budget.

The question becomes several queries (`questions`). Their results are merged by rank, read, weighted by the part of the
question that they contain, and shown with context (`answer_text`): a prompt with the outcome of its turn, an answer
with its question, an error with its solution. Passages that repeat a better one are left out.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from backscroll.conversation.passages import Role
from backscroll.conversation.signatures import STRONG
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.library.memory.answer_text import Piece, RecallItem, Words, is_said, shingles, tell
from backscroll.library.memory.budget import cut_to
from backscroll.library.memory.citations import (
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
from backscroll.library.memory.evidence import Evidence, Forms
from backscroll.library.memory.questions import MAX_TERMS, Term, Variant, parts_of, terms_of, variants_of
from backscroll.library.memory.saved_recalls import passages_of_recalls
from backscroll.library.memory.similar_errors import pieces_of, worth_of
from backscroll.library.memory.solved_errors import errors_like, ways_out
from backscroll.library.memory.surroundings import TurnContext, around
from backscroll.library.searching.search import text_of
from backscroll.query.parse import about_signs
from backscroll.query.snippets import Highlighter, fold
from backscroll.query.tree import All, Either, Field, Part, Phrase, Query, Word
from backscroll.store.reader import Hit, StoredChat

__all__ = ["Citation", "Recall", "RecalledPassage", "recall"]


@dataclass(frozen=True)
class Recall:
    """The answer to a question, the best passage first."""

    question: str
    passages: list[RecalledPassage]
    chats: int
    """Number of chats that match the question."""
    found: int
    """Number of passages considered."""
    tokens: int
    """An upper bound for the tokens of the answer as text."""
    is_cut: bool
    """Whether passages were left out or cut."""
    hint: str
    """Advice to get the rest, or to try something else if nothing matched."""
    looked_for: Mapping[str, int] = field(default_factory=dict)
    """The searched words, each with the number of chats that have it."""


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
    """Return the best passages for a question. `project` is only preferred; `without` are sessions to leave out."""
    terms = terms_of(question)
    if not terms:
        hint = about_signs(question.strip()) if SIGNS_ONLY.fullmatch(question) else "ask with a few specific words"
        return Recall(question, [], 0, 0, HEADING, is_cut=False, hint=hint)
    budget = max(max_tokens, FEWEST_TOKENS)
    with library.texts() as texts, library.snapshot():
        query = _Asked(library, texts, question, terms, project, without, since, until)
        # Saved recalls come first, because the user chose to keep them, but they must leave room for the rest.
        saved = passages_of_recalls(
            library.settings.library,
            terms,
            query.evidence,
            max_tokens=(budget - HEADING) // 3,
            project=project,
            since=since,
            until=until,
        )
        spent = sum(map(cost_of, saved))
        result = query.answer(budget - spent)
    if not saved:
        return result
    return replace(
        result,
        passages=[*saved, *result.passages],
        found=result.found + len(saved),
        tokens=result.tokens + spent,
        hint=result.hint if result.passages else "",
    )


class _Candidate:
    """A passage that may be chosen, with its score."""

    def __init__(self, hit: Hit, chat: StoredChat) -> None:
        self.hit = hit
        self.chat = chat
        self.score = 0.0
        self.text = ""
        self.why: tuple[str, ...] = ()


class _Asked:
    """The processing of one question."""

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
        self._project = project
        self._without = {session.lower() for session in without}
        self._fields = times(since, until)
        self._counts: dict[Term, int] = {}
        self._chats = 0
        # A name that does not occur may have been written differently.
        kept = (part for term in terms for part in ([term] if self._frequency(term) else parts_of(term)))
        self._terms = list(dict.fromkeys(kept))[:MAX_TERMS]
        self._looked_for = {term: self._chats_with(term) for term in self._terms}
        counts_in_conversation = {
            term: self._chats_with(term, SAID) if count else 0 for term, count in self._looked_for.items()
        }
        self.evidence = Evidence(question, self._looked_for, library.totals().chats, counts_in_conversation)

    def answer(self, tokens: int) -> Recall:
        """Search, weigh and choose; return the answer."""
        candidates = self._candidates(variants_of(self._terms, self._frequency, self._fields))
        self._weigh(candidates)
        errors = self._errors()
        supporting = [candidate for candidate in candidates if self._support(candidate)]
        chosen = self._different(candidates) if supporting or errors else []
        tellings = [*errors, *self._tellings(chosen, {telling.source.message for telling in errors})]
        passages = tell(tellings, tokens - HEADING, max(A_PASSAGE, int(tokens * SHARE)), _words(self.evidence))
        is_cut = len(passages) < len(tellings) or any(passage.is_cut for passage in passages)
        hint = "read one with its chat and message id, or ask for more tokens" if is_cut else ""
        if not tellings:
            hint = cut_to(self._what_is_missing(), MAX_HINT_TOKENS)
        cost = HEADING + sum(map(cost_of, passages))
        looked_for = {term.text: count for term, count in self._looked_for.items()}
        return Recall(self._question, passages, self._chats, len(candidates), cost, is_cut, hint, looked_for)

    # Finding

    def _frequency(self, term: Term) -> int:
        if term not in self._counts:
            self._counts[term] = self._count(term, term.demand)[0]
        return self._counts[term]

    def _candidates(self, variants: Sequence[Variant]) -> list[_Candidate]:
        """Return the results of the queries, merged by rank: of the passage, and of its chat."""
        by_passage: dict[tuple[object, ...], _Candidate] = {}
        titled: dict[int, float] = defaultdict(float)
        for variant in variants:
            answer = self._library.reader.search(
                variant.query, sort="relevance", limit=MAX_CHATS, offset=0, hits=MAX_HITS
            )
            self._chats = max(self._chats, answer.total_chats)
            hits = [(hit, chat.chat) for chat in answer.chats for hit in chat.hits if self._is_wanted(hit)]
            ranks = {hit.block: rank for rank, (hit, _) in enumerate(sorted(hits, key=lambda pair: -pair[0].score))}
            places = {chat.chat.key: rank for rank, chat in enumerate(answer.chats)}
            for hit, chat in hits:
                score = variant.weight * (1 / (RANK + ranks[hit.block]) + CHAT_SHARE / (RANK + places[chat.key]))
                passage: Hit | None = hit
                if _is_title(hit):
                    titled[chat.key] += score
                    score = 0.0
                    passage = self._first_of(chat)
                if passage is not None:
                    key = (chat.key, passage.uuid or passage.block, passage.number, passage.role)
                    by_passage.setdefault(key, _Candidate(passage, chat)).score += score
        for candidate in by_passage.values():
            candidate.score += TITLE_SHARE * titled[candidate.chat.key]
        return sorted(by_passage.values(), key=lambda candidate: (-candidate.score, candidate.hit.block))[
            :MAX_CANDIDATES
        ]

    def _first_of(self, chat: StoredChat) -> Hit | None:
        """Return the first prompt of a chat, which represents its title: a title is in no message."""
        fields = (Field("chat", "=", chat.overview.id), Field("role", "=", "prompt"))
        answer = self._library.reader.search(Query("", All(fields)), sort="oldest", limit=1, offset=0, hits=1)
        return next((hit for match in answer.chats for hit in match.hits if self._is_wanted(hit)), None)

    def _is_wanted(self, hit: Hit) -> bool:
        """Whether to keep a passage: earlier answers of ours repeat others, and excluded sessions are left out."""
        return (hit.session or "").lower() not in self._without and OURSELVES not in (hit.tool or "").lower()

    def _chats_with(self, term: Term, *fields: Part) -> int:
        """Return the number of chats that have a word, in any of its forms."""
        return self._count(term, Either(tuple(map(Phrase, Forms(term).all))), *fields)[1]

    def _count(self, term: Term, *parts: Part) -> tuple[int, int]:
        """Return the numbers of passages and of chats that have a word."""
        page = self._library.reader.search(Query("", All(parts)), sort="relevance", limit=1, offset=0, hits=1)
        if term.ends_with_signs and page.corrections:  # there is no c++, and a c is something else
            return 0, 0
        return page.total, page.total_chats

    def _what_is_missing(self) -> str:
        """Return why there is no answer, with advice."""
        absent = [term.text for term in self._terms if term.text in self.evidence.missing]
        if not absent:
            telling = [term.text for term in self._terms if term.text in self.evidence.telling]
            together = " and ".join(telling if len(telling) > 1 else [term.text for term in self._terms][:6])
            return f"no passage has {together} together; search for fewer words with backscroll search"
        similar = self._library.similar(Query("", All(tuple(Word(word) for word in absent[:6]))))
        offer = f"did you mean {', '.join(similar[:4])}?" if similar else "try other words, or backscroll search"
        return f"no chat has {' or '.join(absent[:6])}; {offer}"

    # Weighing

    def _weigh(self, candidates: list[_Candidate]) -> None:
        """Weigh passages by the part of the question that they contain, and by their project."""
        total = sum(map(self._rarity, self._terms)) or 1.0
        forms = [(term, fold(term.text), term.words) for term in self._terms]
        for candidate in candidates:
            candidate.text = text_of(self._texts, candidate.hit)
            folded = fold(candidate.text[:LONGEST_WEIGHED])
            has = [term for term, form, words in forms if form in folded or all(word in folded for word in words)]
            candidate.why = tuple(term.text for term in has)
            candidate.score *= (1 - COVERAGE) + COVERAGE * sum(map(self._rarity, has)) / total
            candidate.score *= ROLES.get(candidate.hit.role, 1.0) * min(1.0, SHORT + len(folded) / LONG)
            if self._project and is_project(self._project, candidate.chat.overview.project):
                candidate.score *= PROJECT

    def _support(self, candidate: _Candidate) -> bool:
        """Whether a passage can be the answer by itself; if so, its score is raised."""
        text, title = candidate.text[:LONGEST_WEIGHED], candidate.chat.overview.title
        is_support = self.evidence.supports(text, title, candidate.hit.role)
        candidate.score *= SUPPORTS if is_support else 1.0
        return is_support

    def _rarity(self, term: Term) -> float:
        return (NAMED if term.is_name else 1.0) / math.log(2 + self._frequency(term))

    def _different(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Return the best candidates first, without repetitions, and not all from one chat."""
        chosen: list[_Candidate] = []
        chosen_texts: list[set[str]] = []
        of_chat: dict[int, int] = defaultdict(int)
        waiting = [
            candidate for candidate in candidates if candidate.text.strip() and not OUR_ANSWER.match(candidate.text)
        ]
        while waiting and len(chosen) < MAX_PASSAGES:
            best = max(
                waiting,
                key=lambda candidate: (
                    candidate.score * SAME_CHAT ** of_chat[candidate.chat.key],
                    -candidate.hit.block,
                ),
            )
            waiting.remove(best)
            own = shingles(best.text)
            if any(is_said(own, other) for other in chosen_texts):
                continue
            chosen.append(best)
            chosen_texts.append(own)
            of_chat[best.chat.key] += 1
        return chosen

    # Telling

    def _errors(self) -> list[RecallItem]:
        """If the question is an error, return similar errors with their solutions."""
        lines = self._question[:LONGEST_WEIGHED].splitlines()
        if not WRAPPED.search(self._question) and not any(map(STRONG.search, lines)):
            return []
        _, met = errors_like(self._library, self._texts, self._question, self._without, self._fields)
        ways = ways_out(self._library, self._texts, [match.hit for match in met])
        worths = [worth_of(match, ways[match.hit.block], self._project) for match in met]
        best = sorted(range(len(met)), key=lambda at: -worths[at])[:MAX_ERRORS]
        return [
            RecallItem(
                source_of(met[at].hit, met[at].chat),
                pieces_of(self._texts, met[at], ways[met[at].hit.block]),
                worths[at],
                (met[at].signature,),
            )
            for at in best
        ]

    def _tellings(self, chosen: list[_Candidate], told: set[str]) -> list[RecallItem]:
        """Return each candidate with its turn; the end of a turn is not shown twice."""
        turns = around(self._library, [candidate.hit for candidate in chosen])
        tellings = []
        for candidate in chosen:
            turn = turns.get(candidate.hit.block, TurnContext(None, None))
            if candidate.hit.uuid not in told:
                pieces = self._pieces(candidate, turn)
                tellings.append(
                    RecallItem(source_of(candidate.hit, candidate.chat), pieces, candidate.score, candidate.why)
                )
                told |= {turn.conclusion.uuid or ""} if turn.conclusion and candidate.hit.role is Role.PROMPT else set()
        return tellings

    def _pieces(self, candidate: _Candidate, turn: TurnContext) -> list[Piece]:
        """Return the passage with its context."""
        hit = candidate.hit
        pieces = []
        if hit.role is not Role.PROMPT and turn.prompt is not None:
            pieces.append(Piece("asked: ", turn.prompt.text(self._texts), ASKED, is_beside=True))
        label = " ".join(filter(None, (LABELS.get(hit.role), hit.tool)))
        pieces.append(Piece(f"{label}: " if label else "", candidate.text, OWN))
        if turn.conclusion is not None:
            label = "in the end: " if hit.role is Role.ANSWER else "answered: "
            pieces.append(Piece(label, turn.conclusion.text(self._texts), CONCLUDED, is_beside=True))
        return pieces


def _words(evidence: Evidence) -> Words:
    return Words(Highlighter(Query("", All(tuple(map(Word, evidence.roots)))), is_whole=False), evidence.roots)


def _is_title(hit: Hit) -> bool:
    """Whether a hit is about a chat and not a message: a title, or the record with the title."""
    return hit.role is Role.TITLE or (hit.role is Role.OTHER and hit.uuid is None and hit.path.endswith(".jsonl"))


MAX_CHATS: Final = 15
MAX_HITS: Final = 6
MAX_CANDIDATES: Final = 48
MAX_PASSAGES: Final = 14
MAX_ERRORS: Final = 4
MAX_HINT_TOKENS: Final = 40
"""Token budget for suggestions of similar words."""
# Chosen with bench/recall_agents.py, on its tuning half.
RANK: Final = 10
CHAT_SHARE: Final = 0.5
TITLE_SHARE: Final = 0.5
COVERAGE: Final = 0.8
"""Weight of the part of the question that a passage contains."""
NAMED: Final = 1.5
SUPPORTS: Final = 1.4
"""The factor for a passage that can be the answer by itself."""
PROJECT: Final = 1.3
SAME_CHAT: Final = 0.9
"""The factor for each further passage of a chat."""
SHORT: Final = 0.5
LONG: Final = 400
"""Passages with fewer characters mostly announce what follows, and count less, but at least `SHORT`."""
ROLES: Final[dict[Role, float]] = {Role.OTHER: 0.7}
A_PASSAGE: Final = 240
"""The minimum number of tokens for a passage."""
SHARE: Final = 0.2
"""Share of the budget that one passage may take."""
ASKED: Final = 0.2
OWN: Final = 0.5
CONCLUDED: Final = 0.4
LONGEST_WEIGHED: Final = 60_000
SAID: Final = Either(tuple(Field("role", "=", str(role)) for role in (Role.PROMPT, Role.ANSWER, Role.THINKING)))
"""Roles of the conversation: text of the user or the model, not inputs or outputs of tools."""
OURSELVES: Final = "backscroll"
"""Found in the names of our own tools."""
OUR_ANSWER: Final = re.compile(r"backscroll (?:recall|search)\b|Behind > is what was said")
"""A shell command that calls recall, and its output."""
WRAPPED: Final = re.compile(r"<tool_use_error>|[Ee]xit code \d|Traceback \(")
"""Announcements of an error by the client and by shells."""
LABELS: Final = {
    Role.PROMPT: "asked",
    Role.ANSWER: "answered",
    Role.THINKING: "thought",
    Role.INPUT: "ran",
    Role.OUTPUT: "got",
}
SIGNS_ONLY: Final = re.compile(r"\s*[^\w\s][\W_]{0,40}")
"""A question such as `->`."""
