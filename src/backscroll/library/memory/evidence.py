"""Whether a passage can answer a question: the words that tell what it is about must stand together in it. Pure.

Any question finds something, for common words are everywhere. A word counts by how few chats have it; the rare ones are
the telling ones, and a passage without one of them is about something else.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from backscroll.library.memory.questions import Term, stem_of
from backscroll.query.snippets import fold

TOGETHER: Final = 400
"""Words stand together within this many characters: a few sentences."""
TELLING: Final = 1 / 3
"""A word is telling from this share of the weight of a word that no chat has."""
ENOUGH: Final = 0.7
"""The share of the weight of a question's words that a passage must have."""
FORMS: Final = ("", "s", "es", "e", "d", "ed", "ing", "ings", "er", "ers", "ion", "ions", "ation", "ations", "y",
                "ies", "ied")  # fmt: skip
"""The endings that a word may have instead of its own."""


class Evidence:
    """The words of a question, each with the number of chats that have it."""

    def __init__(self, chats: Mapping[Term, int], total: int) -> None:
        counted = {term: count for term, count in chats.items() if not is_ordinary(term)} or dict(chats)
        self._weights = {term.text: _weight(count, total) for term, count in counted.items()}
        most = _weight(0, total)
        self.telling = {text for text, weight in self._weights.items() if weight >= TELLING * most}
        """The words that a passage must have to be an answer."""
        self.missing = {term.text for term, count in counted.items() if not count}
        """The words that no chat has."""
        self._forms = {term.text: (stem_of(term) or fold(term.text), forms_of(term)) for term in counted}
        self._parts = {term.text for term in counted if term.is_name or not term.text.isascii()}

    def supports(self, text: str, title: str = "") -> bool:
        """Whether a passage can be the answer, in a chat with this title."""
        titled = {word for _, word in self._places(title)}
        folded = fold(text)
        anywhere = {word for word, (begin, _) in self._forms.items() if begin in folded}
        if not self._is_enough(anywhere | titled):  # cheap, and true of most passages
            return False
        return any(self._is_enough(words | titled) for words in self._together(text))

    def _is_enough(self, words: set[str]) -> bool:
        total = sum(self._weights.values())
        return self.telling <= words and sum(self._weights[word] for word in words) >= ENOUGH * total

    def _together(self, text: str) -> Iterator[set[str]]:
        """The sets of words that stand together somewhere in a text."""
        places = sorted(self._places(text))
        inside: Counter[str] = Counter()
        first = 0
        for place, word in places:
            inside[word] += 1
            while places[first][0] < place - TOGETHER:
                inside[places[first][1]] -= 1
                first += 1
            yield {word for word, count in inside.items() if count}

    def _places(self, text: str) -> Iterator[tuple[int, str]]:
        folded = fold(text)
        for word, (begin, forms) in self._forms.items():
            at = folded.find(begin)
            while at >= 0:
                # A name may be part of a longer one, and a script without spaces has no boundaries.
                if word in self._parts or (
                    _is_boundary(text, at)
                    and any(folded.startswith(form, at) and _is_boundary(text, at + len(form)) for form in forms)
                ):
                    yield at, word
                at = folded.find(begin, at + 1)


def forms_of(term: Term) -> list[str]:
    """How a word may be written in an answer, folded."""
    own = fold(term.text)
    stem = stem_of(term)
    return sorted({own, *(stem + ending for ending in FORMS)}) if stem else [own]


def is_ordinary(term: Term) -> bool:
    """Whether a word says nothing of what a question is about, however rare it is."""
    word = term.text.lower()
    return not term.is_name and (word in ORDINARY or stem_of(term) in ORDINARY or any(map(_is_hiragana, word)))


def _is_hiragana(character: str) -> bool:
    return "\u3040" <= character <= "\u309f"


def _weight(count: int, total: int) -> float:
    return math.log(1 + (max(0, total - count) + 0.5) / (count + 0.5))


def _is_boundary(text: str, at: int) -> bool:
    """Whether a word begins or ends here, also in `countTranscriptLines`."""
    if not 0 < at < len(text) or not (text[at - 1].isalpha() and text[at].isalpha()):
        return True
    return text[at].isupper() and not text[at - 1].isupper()


ORDINARY: Final = frozenset(
    """
    able above accept across actually add affect against agree allow almost alone along already although always among
    another anything apart apparently appear apply around ask aside avoid aware away back bad base basically bear beat
    become began begin behind believe belong below best better between beyond big bit both break brief bring broad broke
    brought buy call came care carry catch cause certain certainly chance cheap check choice choose chose chosen clear
    clearly close come common complete completely concern consider contain continue correct correctly cover current
    currently deal decide decision deep depend describe deserve differ different difficult direct directly discuss drop
    due during early easily easy eight either else end enough entirely equal especially even eventually every everyone
    everything everywhere exact exactly example except exist expect explain extra face fact fair fall false far fast
    favour feel fell felt fill final finally fine finish first fit five fix follow force forget forgot forth forward
    four free fresh full fully further gain gave general generally give given go goes going gone good great grow guess
    half hand handle happen hard hardly heard heavy held help high hold hope however huge idea ignore imagine implement
    important improve include indeed instead intend introduce involve item join judge keep kept kind knew lack large
    late lately later latter lead learn least leave led left less lie like likely little live long look lose lost lot
    loud low main mainly many matter maybe mean meant meet mention mere met middle mind miss mistake more moment mostly
    move much must name namely near nearly necessary need neither never new next nice nine none normal normally nothing
    notice number obvious obviously occur odd offer often okay old one open opinion opposite order ordinary original
    originally otherwise ought part particular particularly pass past pay per perfect perhaps pick piece place plain
    plan play plenty point poor possible possibly practice prefer prepare present pretty prevent previous probably
    problem proper properly propose prove provide pull purpose put question quick quickly quiet quite raise ran rare
    rather reach ready real really reason receive recent recently regard relate remain remember remove repeat replace
    require respect rest result return rid right rise rough roughly run safe sat satisfy save saw second see seem seen
    self send sense separate serious set settle seven several shape share sharp short show shown side similar simple
    simply since single sit six size slight slightly slow small solve somebody somehow someone something sometimes
    somewhat somewhere soon sort sound speak special specific spend spent stand start state stay step still stood stop
    straight strange strong stuff succeed sudden suddenly suggest suit sure surely surprise take taken talk tend term
    themselves therefore think third thorough though thought three throw thus tiny today together told tomorrow took
    total touch toward towards track treat tried true trust truth try turn twice two typical unless unlike usual usually
    value various view visit wait walk want watch weak wear well went whatever whenever wherever whether whole wide wish
    within without wonder word work worse worst worth write wrong wrote yes yesterday
    """.split()
)
