"""Where an error was met before, and what came after it until the same thing went well."""

import math
import re
from collections import Counter
from typing import Final, NamedTuple

from backscroll.library import Library
from backscroll.library.analytics.calls import Call, calls_of, threads_of
from backscroll.library.analytics.errors import WITHIN, Kinds
from backscroll.library.analytics.reports import Asked
from backscroll.library.texts import Texts

SEARCHED: Final = 6_000
"""How much of an error is looked at from its beginning, and as much from its end."""
LEAST_ALIKE: Final = 0.6
MOST_STEPS: Final = 4
LONGEST_STEP: Final = 400
LONGEST_ERROR: Final = 2_000


class Pattern(NamedTuple):
    """Errors that are alike."""

    signature: str
    alike: float
    """How much of it is in what was asked, from 0 to 1."""
    errors: list[tuple[Call, list[Call]]]
    """Each with the calls that follow it, the latest first."""


class Solution(NamedTuple):
    """What was done after an error."""

    is_solved: bool
    tries: int
    steps: list[tuple[Call, str]]
    """The calls that lead to where it went well, the last of them being that, with what they were given."""


def patterns_like(library: Library, text: str, asked: Asked, *, without: frozenset[str]) -> list[Pattern]:
    """The patterns of errors that an error is likely to be one of, the likeliest first."""
    found: dict[str, list[tuple[Call, list[Call]]]] = {}
    for thread in threads_of(calls_of(library, asked)):
        for place, call in enumerate(thread):
            if call.state == "error" and call.signature and call.chat_id not in without:
                errors = found.setdefault(call.signature, [])
                errors.append((call, thread[place + 1 : place + 1 + WITHIN]))
    words = {signature: _words(PLACEHOLDER.sub(" ", signature)) for signature in found}
    counts = Counter(word for known in words.values() for word in known)
    if len(text) > 2 * SEARCHED:
        text = f"{text[:SEARCHED]}\n{text[-SEARCHED:]}"
    given = _words(text)
    ranked = []
    for signature, known in words.items():
        worth = {word: math.log(1 + len(words) / counts[word]) for word in known}
        met = sum(worth[word] for word in known & given)
        alike = met / sum(worth.values()) if worth else float(signature in text)
        if alike >= LEAST_ALIKE:
            errors = sorted(found[signature], key=lambda one: -(one[0].time or 0))
            ranked.append((alike * alike * (met or 1), Pattern(signature, round(alike, 2), errors)))
    ranked.sort(key=lambda one: (-one[0], one[1].signature))
    return [pattern for _, pattern in ranked]


class Solutions:
    """Finds out how errors were solved. Reads from the transcripts, so it is used for one answer and closed."""

    def __init__(self, library: Library) -> None:
        self._texts = Texts(lambda: library.archive)
        self._kinds = Kinds(self._texts)

    def close(self) -> None:
        """Let go of the files."""
        self._texts.close()

    def of(self, call: Call, following: list[Call]) -> Solution:
        """What was done after an error, until the same call on the same thing went well."""
        tries = 0
        for place, other in enumerate(following):
            state = self._kinds.next_try(call, [other])
            tries += state is not None
            if state == "done":
                steps = following[: place + 1][-MOST_STEPS:]
                return Solution(True, tries, [(step, self._given(step)) for step in steps])
        return Solution(False, tries, [])

    def text(self, call: Call) -> str:
        """What the tool said was wrong."""
        if call.result_path is None or call.result_start is None or call.result_length is None:
            return ""
        found = self._texts.text(call.result_path, call.result_start, call.result_length, call.result_block or 0)
        return found[:LONGEST_ERROR]

    def _given(self, call: Call) -> str:
        return self._texts.text(call.path, call.start, call.length, call.block)[:LONGEST_STEP]


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text))


WORD: Final = re.compile(r"[^\W_]{2,}")
PLACEHOLDER: Final = re.compile(r"<(?:path|name|n|id|url|time|hex)>")
