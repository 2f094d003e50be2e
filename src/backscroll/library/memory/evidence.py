"""Check whether a passage can answer a question: the question's significant words must occur together in it. Pure.

Any question has matches, because common words are everywhere. A word counts by how few chats have it; the rare ones are
the significant ones, and a passage without one of them is about something else. Everyday words do not count: people ask
"why did it choke on this?" about text that says "failed".
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from backscroll.conversation.passages import Role
from backscroll.library.memory.everyday_words import is_everyday
from backscroll.library.memory.questions import PARTICLES, STOP_WORDS, Term
from backscroll.query.signs import name_pattern
from backscroll.query.snippets import fold

TOGETHER: Final = 300
"""Words are close together within this many characters: a few sentences."""
TOGETHER_IN_CALL: Final = 2_000
"""Distance of words in the input of a tool, such as an edit: all of it was written at once."""
TELLING: Final = 0.6
"""Share of the weight of an unknown word from which a word is significant."""
ENOUGH: Final = 0.65
"""The share of the weight of a question's words that must be close together in a message."""
LISTED_ENOUGH: Final = 0.5
"""The share for a list of keywords: its author expects some of them to be missing."""
SHORT: Final = 3
"""With at most this many words, none may be missing, unless all names are there."""
PLENTY: Final = 3.0
"""A match of this many times the weight of an unknown word is no coincidence, even if other words are missing."""
LONG_PROMPT: Final = 2_000
"""A prompt with more characters was pasted, and is weighed like the input of a tool."""
PASTED: Final = 8
"""A text of this many words that is not a question was pasted: a name or half of the words is enough."""
PASTED_ENOUGH: Final = 0.5
EVERYDAY: Final = 0.2
"""Weight of an everyday word when only the best place is wanted."""


class Evidence:
    """The words of a question, each with the number of chats that have it.

    `said` counts the chats that have it in a prompt, an answer or thinking: listings and other outputs of tools have
    most words, but are no evidence, so they do not make a word common.
    """

    def __init__(
        self, question: str, chats: Mapping[Term, int], total: int, said: Mapping[Term, int] | None = None
    ) -> None:
        about = _topic_words(question, chats)
        counted = about or dict(chats)
        said = said or chats
        self._weights = {term.text: _weight(said[term], total) for term in counted}
        self._total = sum(self._weights.values())
        self._most = _weight(0, total)
        # Pairs of characters are parts of words, or cross from one word into the next.
        telling = [term for term in about if not _is_unspaced(term.text)]
        named = _proper_names(question)
        telling = [
            term for term in telling if self._weights[term.text] >= TELLING * self._most or term.text.lower() in named
        ]
        self.telling = {term.text for term in telling}
        """The words that a passage must have to be an answer."""
        self.missing = {term.text for term, count in counted.items() if not count}
        """The words that no chat has."""
        self._forms = {term.text: Forms(term) for term in counted}
        others = {term: EVERYDAY * _weight(said[term], total) for term in chats if term not in counted}
        self.roots = {Forms(term).root: weight for term, weight in others.items()}
        """Common beginnings of the forms of each word, folded, and their weights."""
        self.roots |= {forms.root: self._weights[word] for word, forms in self._forms.items()}
        self._is_pasted = len(chats) >= PASTED and not QUESTION.search(question)
        self._is_list = is_list(question)
        self._names = {term.text for term in about if term.is_name}

    def supports(self, text: str, title: str = "", role: Role = Role.ANSWER) -> bool:
        """Whether a passage can be the answer, in a chat with this title."""
        # The output of a tool has listings, where words occur together by chance.
        is_written = role in SAID or role is Role.INPUT
        is_said = role in SAID and not (role is Role.PROMPT and len(text) > LONG_PROMPT)
        folded = fold(text)
        titled = {word for _, word in self._places(title)}

        def is_enough(words: set[str]) -> bool:
            return is_written and self._is_enough(words | titled, is_said=is_said)

        anywhere = {word for word, forms in self._forms.items() if forms.begin in folded} | titled
        if not is_enough(anywhere) and not self._is_plenty(anywhere):  # cheap, and true of most passages
            return False
        places = sorted(self._places(text))
        if self._is_plenty({word for _, word in places} | titled):
            return True
        reach = TOGETHER_IN_CALL if role is Role.INPUT else TOGETHER
        return any(map(is_enough, _together(places, reach)))

    def _is_enough(self, words: set[str], *, is_said: bool) -> bool:
        """Whether these words, occurring together, cover the topic of the question."""
        has = sum(self._weights[word] for word in words) + ROUNDING
        has_names = self._names <= words
        if not words or (self._is_list and has_names and has >= LISTED_ENOUGH * self._total):
            return bool(words)
        if not is_said or len(words) == len(self._weights):
            return len(words) == len(self._weights)
        may_miss = len(self._weights) > SHORT or (self._names and has_names)
        return bool(may_miss) and self.telling <= words and has >= ENOUGH * self._total

    def _is_plenty(self, words: set[str]) -> bool:
        """Whether these words are so many that they need not be close together or complete."""
        has = sum(self._weights[word] for word in words)
        is_pasted_text = self._is_pasted and (bool(self._names & words) or has >= PASTED_ENOUGH * self._total)
        return has >= PLENTY * self._most or is_pasted_text

    def _places(self, text: str) -> Iterator[tuple[int, str]]:
        folded = fold(text)
        for word, forms in self._forms.items():
            yield from ((place, word) for place in forms.places(text, folded))


def is_list(question: str) -> bool:
    """Whether a question is a list of keywords, or ends with one: many words without any that would make a sentence.

    Words after an article are part of a sentence: "why does the ledger reject negative balances?"
    """
    if any(map(_is_unspaced, question)):  # a single token may be a sentence
        return False
    words = 0
    for token in reversed(question.split()):
        word = token.strip(MARKS).lower()
        is_break = not word or word in STOP_WORDS or token.endswith((",", ".", ";"))
        if token.endswith(":") and words >= LISTED_AFTER_COLON:
            return True
        if words and is_break:
            return words >= LISTED and word not in ARTICLES
        words += not is_break
    return words >= LISTED_ALONE and not QUESTION.search(question)


def _together(places: Sequence[tuple[int, str]], reach: int) -> Iterator[set[str]]:
    """Yield the sets of words that are close together somewhere in a text; first the empty set."""
    yield set()
    inside: Counter[str] = Counter()
    first = 0
    for place, word in places:
        inside[word] += 1
        while places[first][0] < place - reach:
            inside[places[first][1]] -= 1
            first += 1
        yield {word for word, count in inside.items() if count}


class Forms:
    """The forms of a word that may occur in an answer."""

    def __init__(self, term: Term) -> None:
        own = fold(term.text)
        # A name may be part of a longer one, and a script without spaces has no boundaries.
        self._is_part = term.is_name or not own.isascii()
        self.root, made = (own, {own}) if self._is_part or not own.isalpha() else _forms(own)
        """The common beginning of all forms."""
        self.all = sorted({own, *(form for form in made if form not in STOP_WORDS and not is_everyday(form))})
        """All forms of the word, folded."""
        parts = term.words if term.is_name else []
        self._name = _pattern_of(parts) if parts else None
        self.begin = parts[0] if self._name else self.root
        """Text that every occurrence of a form contains."""

    def places(self, text: str, folded: str) -> Iterator[int]:
        """Yield the positions of the word in a text."""
        if self._name:
            yield from (match.start() for match in self._name.finditer(folded))
            return
        at = folded.find(self.root)
        while at >= 0:
            if self._is_part or (
                _is_boundary(text, at)
                and any(folded.startswith(form, at) and _is_boundary(text, at + len(form)) for form in self.all)
            ):
                yield at
            at = folded.find(self.root, at + 1)


def _pattern_of(parts: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for a name, however its words are joined. Numbers are whole: no `2.0` in `2026` or `12.0`."""
    if signed := name_pattern(parts[0]):  # c++
        return re.compile(signed)
    pattern = re.escape(parts[0])
    for before, part in pairwise(parts):
        is_number = before[-1].isdigit() and part[0].isdigit()
        pattern += (r"[\W_]+" if is_number else r"[\W_]*") + re.escape(part)
    begin = r"(?<!\d)(?<!\d\.)" if parts[0][0].isdigit() else ""
    return re.compile(begin + pattern + (r"(?!\.?\d)" if parts[-1][-1].isdigit() else ""))


def _forms(word: str) -> tuple[str, set[str]]:
    """Return the common part of the forms of a word, and the forms."""
    # A person or thing that acts is another topic than the action: an installer, a viewer, a server.
    if AGENT.search(word):
        singular = word.removesuffix("s")
        return singular, {singular, f"{singular}s"}
    root = next(filter(None, (_without(word, ending) for ending in (*DERIVED, *INFLECTED))), word)
    if len(root) < SHORT_ROOT:
        return word, {word}
    endings = (*INFLECTED, *DERIVED) if len(root) >= LONG_ROOT else INFLECTED
    return root, {root, *(root + ending for ending in endings)}


def _without(word: str, ending: str) -> str:
    least = LONG_ROOT if ending in DERIVED else SHORT_ROOT
    return word.removesuffix(ending) if word.endswith(ending) and len(word) - len(ending) >= least else ""


def _topic_words(question: str, chats: Mapping[Term, int]) -> dict[Term, int]:
    """Return the words that name the topic of a question, with the number of chats that have them."""
    named = _proper_names(question)
    is_german = len({word for word in question.lower().split() if word in GERMAN}) >= LEAST_GERMAN

    def counts(term: Term, count: int) -> bool:
        if term.is_name or term.text.lower() in named:
            return True
        if any(character in PARTICLES or "\u3040" <= character <= "\u309f" for character in term.text):
            return False
        # German nouns have capitals; its other words are missing in chats that are in English.
        return not is_everyday(term.text) and not (is_german and not count and term.text.islower())

    counted = {term: count for term, count in chats.items() if counts(term, count)}
    # The question is in another script than the chats: only its names can match.
    spaced = {term: count for term, count in counted.items() if not _is_unspaced(term.text)}
    has_unspaced = any(count for term, count in counted.items() if term not in spaced)
    return counted if has_unspaced or not any(spaced.values()) else spaced


def _proper_names(question: str) -> set[str]:
    return {word.lower() for word in NAMES.findall(question)}


def _is_unspaced(text: str) -> bool:
    return text[:1] >= "\u2e80"


def _weight(count: int, total: int) -> float:
    return math.log(1 + (max(0, total - count) + 0.5) / (count + 0.5))


def _is_boundary(text: str, at: int) -> bool:
    """Whether a word begins or ends here, also in `countTranscriptLines`."""
    if not 0 < at < len(text) or not (text[at - 1].isalpha() and text[at].isalpha()):
        return True
    return text[at].isupper() and not text[at - 1].isupper()


SAID: Final = frozenset({Role.PROMPT, Role.ANSWER, Role.THINKING})
QUESTION: Final = re.compile(
    r"[?？]|^\W*(?:what|which|who|whose|when|where|why|how|do|does|did|is|are|was|were|can|could|should|will|would|have|has"
    r"|had|was|wie|warum|wieso|wann|wer|wo|welche[rs]?)\b",
    re.IGNORECASE,
)
ROUNDING: Final = 1e-9
LISTED: Final = 4
LISTED_AFTER_COLON: Final = 3
LISTED_ALONE: Final = 2
ARTICLES: Final = frozenset("a an the this that these those my our your his her its their some any no each".split())
MARKS: Final = "\"'`()[]{}<>*?!,.;:，。？！"
SHORT_ROOT: Final = 4
LONG_ROOT: Final = 5
INFLECTED: Final = ("ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y", "d")
DERIVED: Final = (
    "ations", "ation", "ating", "ators", "ator", "ated", "ates", "ate", "ions", "ion", "izing", "ized", "izes", "ize",
    "ency", "ence", "ents", "ent", "ancy", "ance", "ants", "ant", "ments", "ment", "able", "ers", "er", "al", "ally",
    "ly", "ive",
)  # fmt: skip
"""Endings that derive another word."""
AGENT: Final = re.compile(r"..[eo]rs?$")
NAMES: Final = re.compile(r"(?<=[\w,;:] )[A-Z]\w+")
"""Capitalized words that do not begin a sentence."""
LEAST_GERMAN: Final = 2
GERMAN: Final = frozenset(
    """
    aber alle als auch auf aus bei damit dann das dem der des die dieser doch durch ein eine einem einen einer es fur
    für habe haben hat hatten ich im ist kann kein keine mit muss nach nicht noch nur ob oder ohne sich sie sind und uns
    vom von wann warum was welche welcher welches wenn wer wie wir wird wo wurde wurden zu zum zur über um
    """.split()
)
