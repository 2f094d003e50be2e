"""Correct misspelt words: find words of the index that are one or two typing errors away."""

import string
from collections.abc import Iterable, Iterator
from typing import Final

from backscroll.query.fields import distance
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.forms import forms_of

ALPHABETS: Final = (string.ascii_lowercase, "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρστυφχψως")
"""Words of other letters are not corrected."""
MIN_WORD_LENGTH: Final = 4
"""Shorter words have too many neighbours."""
SHORTEST_KNOWN: Final = 5
"""The same for a word that is in the index, but almost never."""
NEARLY_UNKNOWN: Final = 2
"""A word in at most this many passages may be a typing error."""
MORE_FREQUENT: Final = 50
"""How many times more frequent the other word must be then."""
SHORTEST_FAR: Final = 7
"""The least letters of a word with two slips."""
MAX_CORRECTIONS: Final = 2
"""How many words are offered: the most frequent ones."""
MAX_NEAR_WORDS: Final = 100
"""How many words with two slips are counted."""
MAX_TERMS: Final = 20_000
"""How many words of the index are compared for two slips."""


def corrections(words: WordEngine, word: str) -> list[str]:
    """The words that were probably meant; none if the word is known, or nothing is near it.

    Only what the asker may see decides: in how many visible passages a word is.
    """
    frequency = words.visible_frequency
    letters = next((letters for letters in ALPHABETS if set(word) <= set(letters)), "")
    if len(word) < MIN_WORD_LENGTH or not letters:
        return []
    known = frequency(word) if words.known([word]) else 0
    if known > NEARLY_UNKNOWN or (known and len(word) < SHORTEST_KNOWN):
        return []
    least = known * MORE_FREQUENT or 1

    def most_frequent(others: Iterable[str]) -> list[str]:
        found = sorted((-frequency(one), one) for one in words.known(others))
        return [one for count, one in found[:MAX_CORRECTIONS] if -count >= least]

    near = most_frequent(_one_slip(word, letters))
    if near or known:
        return near
    if also := most_frequent(forms_of(word)):
        return also
    # The engine still knows the words of deleted passages: only what is there may decide.
    likely = sorted((slips, -frequency(one), one) for slips, one in _two_slips(words, word)[:MAX_NEAR_WORDS])
    return [one for _, count, one in likely if count][:MAX_CORRECTIONS]


def _one_slip(word: str, letters: str) -> Iterator[str]:
    """Every word that one slip makes of a word: a letter too many, missing, wrong, or changed with its neighbour."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters if letter != after[0])
        if len(after) > 1 and after[0] != after[1]:
            yield before + after[1] + after[0] + after[2:]
        yield from (before + letter + after for letter in letters)


def _two_slips(words: WordEngine, word: str) -> list[tuple[int, str]]:
    """The words that begin alike, with the number of slips, the nearest first."""
    if len(word) < SHORTEST_FAR:
        return []
    letters = set(word)
    near = [
        other
        for other, _ in words.endings(word[:2], MAX_TERMS)
        if abs(len(other) - len(word)) <= 2 and len(letters ^ set(other)) <= 4 and other.isalpha()
    ]
    return [found for found in sorted((distance(word, other), other) for other in near) if found[0] <= 2]
