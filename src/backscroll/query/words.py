"""What a text is found by beyond the words that stand in it: the parts of names, and pairs of characters.

The engine cuts text into words at everything that is no letter or digit, so `snake_case`, `dotted.names` and paths
come apart by themselves. `camelCase` does not, nor do scripts that are written without spaces. Both sides use what is
here: a text when it is indexed, a word when it is searched for.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

LONGEST_WORD: Final = 200
"""A longer run of letters and digits is no word that anybody would look for."""


def normal(text: str) -> str:
    """The text with one spelling for what looks the same, such as letters with accents and full-width letters."""
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text)


def pairs_of(run: str) -> list[str]:
    """The overlapping pairs of characters that a run without spaces is found by; one character is its own."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def split_scripts(word: str) -> list[tuple[str, bool]]:
    """The word cut where its script changes, each piece with whether it is written without spaces."""
    pieces = []
    at = 0
    for run in UNSPACED.finditer(word):
        if run.start() > at:
            pieces.append((word[at : run.start()], False))
        pieces.append((run[0], True))
        at = run.end()
    if at < len(word):
        pieces.append((word[at:], False))
    return pieces


class Prepared(NamedTuple):
    """A text as it is indexed: its words, and the parts that it is found by besides, with spaces between."""

    text: str
    parts: str


class Preparation:
    """Prepares texts. Remembers words it has met: nearly all of a text's words are in other texts too."""

    def __init__(self) -> None:
        self._plain: set[str] = set()
        self._known: dict[str, str] = {}

    def prepare(self, text: str) -> Prepared:
        """The text with one spelling, without blobs, and with its parts."""
        text = normal(text)
        words = set(text.split())
        if len(text) >= SHORTEST_BLOB and any(len(word) >= SHORTEST_BLOB for word in words):
            text = BLOB.sub(" ", text)
        parts = dict.fromkeys(self._camel(words)) if LOWER_UPPER.search(text) else {}
        if not text.isascii():
            parts |= dict.fromkeys(_unspaced_parts(text))
        return Prepared(text, " ".join(parts))

    def _camel(self, words: set[str]) -> Iterator[str]:
        if len(self._plain) > MOST_REMEMBERED:
            self._plain.clear()
            self._known.clear()
        for word in words - self._plain:
            parts = self._known.get(word)
            if parts is None:
                parts = " ".join(camel_parts(word))
                if not parts:
                    self._plain.add(word)
                    continue
                self._known[word] = parts
            yield parts


def camel_parts(word: str) -> list[str]:
    """The parts of the `camelCase` names in a word; none where there is no such name."""
    parts = []
    for name in NAME.findall(word):
        if LOWER_UPPER.search(name) and len(name) <= LONGEST_WORD:
            parts += CAMEL_PART.findall(name)
    return parts


def _unspaced_parts(text: str) -> Iterator[str]:
    beside = 0
    for run in UNSPACED.finditer(text):
        characters = run[0]
        if len(characters) > 1:
            # In one piece, so that their order counts.
            yield " ".join(pairs_of(characters))
        yield " ".join(characters)
        # What stands between such characters without a space is part of one long word to the engine.
        if (before := WORD_BEFORE.search(text, beside, run.start())) is not None:
            yield before[0]
        if (after := WORD_AFTER.match(text, run.end())) is not None:
            yield after[0]
        beside = run.end()


MOST_REMEMBERED: Final = 300_000
LOWER_UPPER: Final = re.compile("[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
NAME: Final = re.compile("[A-Za-z0-9]+")
# HTTPServer → HTTP Server; getUser2Name → get User 2 Name
CAMEL_PART: Final = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Han, kana, bopomofo, hangul, Thai, Lao, Khmer, Myanmar, Tibetan. Hangul has spaces, but its words carry particles.
LETTERS: Final = (
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff\uac00-\ud7af\u1100-\u11ff\u0e00-\u0e7f\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
)
UNSPACED: Final = re.compile(f"[{LETTERS}]+")
# [^\W_]: a letter or digit
WORD_BEFORE: Final = re.compile(r"[^\W_]+\Z")
WORD_AFTER: Final = re.compile(rf"[^\W_{LETTERS}]+")
SHORTEST_BLOB: Final = 400
BLOB: Final = re.compile(rf"[A-Za-z0-9+/=_-]{{{SHORTEST_BLOB},}}")
"""Base64 and the like, which nobody reads."""
