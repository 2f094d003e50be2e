"""Other forms of an English word: `leaks`, `leaked` and `leaking` for `leak`. They count for the rank only."""

from functools import lru_cache
from typing import Final

from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

MIN_STEM_LENGTH: Final = 3
ENDINGS: Final = (
    "", "s", "es", "ed", "ing", "er", "ers", "ion", "ions", "ation", "ations", "ment", "ments", "ly", "able", "al",
)  # fmt: skip
VOWELS: Final = frozenset("aeiouwxy")
STEMMER: Final = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer("english")).build()


@lru_cache(maxsize=1000)
def forms_of(word: str) -> tuple[str, ...]:
    """Return other forms that a word in lower case may have, without the word itself: its stem with the usual endings.

    These are guesses: most are in no text. Only words with the same stem are among them, and none for a name that is
    not plain letters.
    """
    if len(word) < MIN_STEM_LENGTH or not (word.isascii() and word.isalpha()):
        return ()
    stem = _stem(word)
    if len(stem) < MIN_STEM_LENGTH:
        return ()
    bases = [stem, stem + "e"]
    if stem[-1] == "i":
        bases += [stem[:-1] + "y"]  # copi: copy
    if stem[-1] not in VOWELS:
        bases += [stem + stem[-1]]  # run: running
    forms = dict.fromkeys(base + ending for base in bases for ending in ENDINGS)
    return tuple(form for form in forms if form != word and _stem(form) == stem)


def _stem(word: str) -> str:
    return str(STEMMER.analyze(word)[0])
