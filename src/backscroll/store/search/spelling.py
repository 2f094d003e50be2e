"""Correct misspelt words: find words of the index that are one or two typing errors away."""

import string
from collections.abc import Iterable, Iterator
from typing import Final

from backscroll.query.fields import distance
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.forms import forms_of

ALPHABETS: Final = (string.ascii_lowercase, "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρστυφχψως")
"""Words with other letters are not corrected."""
MIN_WORD_LENGTH: Final = 4
"""Shorter words have too many neighbours."""
SHORTEST_KNOWN: Final = 5
"""The least length of a word that is in the index, but hardly ever; shorter ones have too many neighbours."""
NEARLY_UNKNOWN: Final = 2
"""A word in at most this many passages may be a typing error."""
MORE_FREQUENT: Final = 50
"""The factor by which the other word must then be more frequent."""
SHORTEST_FAR: Final = 7
"""The least letters of a word with two slips."""
MAX_CORRECTIONS: Final = 2
"""The number of words that are offered: the most frequent ones."""
MAX_NEAR_WORDS: Final = 100
"""The number of words with two slips that are counted."""
MAX_TERMS: Final = 20_000
"""The number of words of the index that are compared for two slips."""


def corrections(words: WordEngine, word: str) -> list[str]:
    """Return the words that were probably meant; none if the word is known, or no word is near it.

    Only what the reader may see decides: the number of visible passages with a word.
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
        ranked = sorted((-frequency(other), other) for other in words.known(others))
        return [other for count, other in ranked[:MAX_CORRECTIONS] if -count >= least]

    near = most_frequent(_one_slip(word, letters))
    if near or known:
        return near
    if also := most_frequent(forms_of(word)):
        return also
    # The engine still knows the words of deleted passages: only existing passages may decide.
    likely = sorted(
        (slips, -frequency(near_word), near_word) for slips, near_word in _two_slips(words, word)[:MAX_NEAR_WORDS]
    )
    return [near_word for _, count, near_word in likely if count][:MAX_CORRECTIONS]


def _one_slip(word: str, letters: str) -> Iterator[str]:
    """Yield every word that is one slip away: a letter too many, missing, wrong, or swapped with its neighbour."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters if letter != after[0])
        if len(after) > 1 and after[0] != after[1]:
            yield before + after[1] + after[0] + after[2:]
        yield from (before + letter + after for letter in letters)


def _two_slips(words: WordEngine, word: str) -> list[tuple[int, str]]:
    """Return words with the same beginning, with the number of slips, the nearest first."""
    if len(word) < SHORTEST_FAR:
        return []
    letters = set(word)
    near = [
        other
        for other, _ in words.endings(word[:2], MAX_TERMS)
        if abs(len(other) - len(word)) <= 2 and len(letters ^ set(other)) <= 4 and other.isalpha()
    ]
    return [candidate for candidate in sorted((distance(word, other), other) for other in near) if candidate[0] <= 2]
