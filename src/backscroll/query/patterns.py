"""Regular expressions between slashes, as distinct from paths.

A regular expression begins with a slash at the beginning of a term and ends at the next slash that has no backslash
before it, if a space, a closing parenthesis or nothing follows. If anything else follows the next slash, as in
`/usr/lib/x`, the text is a path, and a word. So is a text that begins or ends with a space, as in `a / b / c`, and one
that begins as no expression can: `//`, `/* … */`.
"""

import re
import warnings
from typing import Final, NamedTuple

MAX_PATTERN: Final = 1000


class PatternFault(NamedTuple):
    """A problem of a pattern, and its position there."""

    problem: str
    position: int
    hint: str


def pattern_end(text: str, start: int) -> int | None:
    """Return the end of the expression that begins at this slash, behind its last slash; None if it is a word."""
    closing = _next_slash(text, start)
    if closing is None or _begins_a_word(text, start):
        return None
    if text[closing - 1].isspace() or not ENDED.match(text, closing + 1):
        return None
    return closing + 1


def stays_a_word(word: str) -> bool:
    """Whether a word that begins with a slash is never an expression, whatever text follows."""
    if _begins_a_word(word, 0):
        return True
    closing = _next_slash(word, 0)
    return closing is not None and not ENDED.match(word, closing + 1)


def unescape_slashes(pattern: str) -> str:
    """Return the pattern with plain slashes."""
    return PAIR.sub(lambda pair: "/" if pair[0] == "\\/" else pair[0], pattern)


def escape_slashes(pattern: str) -> str:
    """Return the pattern as written between slashes; the inverse of `unescape_slashes`."""
    return PAIR.sub(lambda pair: "\\/" if pair[0] == "/" else pair[0], pattern)


def find_fault(pattern: str) -> PatternFault | None:
    """Return the problem of a pattern, as far as we can check: RE2 runs it later, and is not available here."""
    if len(pattern) > MAX_PATTERN:
        return PatternFault("this regular expression is too long", 0, f"use at most {MAX_PATTERN:,} characters")
    for match in PIECES.finditer(pattern):
        if match["foreign"]:
            return PatternFault("this is not supported in a regular expression", match.start(), FOREIGN_HINT)
    # Without ignoring case: that takes Python a second for wide ranges, and does not change validity.
    harmless = FLAGS.sub(lambda flags: flags[0].replace("i", "s"), pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(harmless)
    except re.error as error:
        if RE2_ONLY.match(error.msg):
            return None
        return PatternFault(f"this regular expression is not valid: {error.msg}", error.pos or 0, HINT)
    except (OverflowError, RecursionError):
        return PatternFault("this regular expression is too complex", 0, HINT)
    return None


def _begins_a_word(text: str, start: int) -> bool:
    following = text[start + 1 : start + 2]
    return not following or following.isspace() or following in "/)*"


def _next_slash(text: str, start: int) -> int | None:
    match = TO_SLASH.match(text, start + 1)
    return match.end() - 1 if match else None


TO_SLASH: Final = re.compile(r"(?:[^\\/]|\\.)*+/", re.DOTALL)
ENDED: Final = re.compile(r"[\s)]|\Z")
PAIR: Final = re.compile(r"\\.|/", re.DOTALL)
FLAGS: Final = re.compile(r"\(\?[a-z]+")
PIECES: Final = re.compile(r"(?P<foreign>\\[1-9]|\(\?(?:<?[=!]|P=|[(>]))|\\.|\[\^?\]?(?:[^\]\\]|\\.)*+\]", re.DOTALL)
RE2_ONLY: Final = re.compile(r"bad escape \\[pPzQEC]")
HINT: Final = 'correct it, or put it in quotation marks to search for it as text: "/tmp/"'
FOREIGN_HINT: Final = "lookaround and backreferences are not supported; add another word instead"
