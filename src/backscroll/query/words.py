"""Terms of a text besides its words: the parts of names, and pairs of characters.

The engine cuts text into words at everything that is no letter or digit, so `snake_case`, `dotted.names` and paths
come apart by themselves. `camelCase` does not, nor do scripts that are written without spaces: their parts are indexed
with the text. Both sides use this module: a text when it is indexed, a word when it is searched for.
"""

import re
import string
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

from backscroll.query.signs import command_word, signed_words

CLIENT_ROWS: Final = ("<command-", "<local-command-", "<bash-")
"""Beginnings of the texts that the client writes when a slash or shell command is typed."""
CLIENT_TAG: Final = re.compile(r"</?(?:command|local-command|bash)-\w+>")
COMMAND_NAME: Final = re.compile(r"<command-name>/?([^<\s]{1,100})</command-name>")
ACCENTED: Final = tuple(zip("ёЁάέήίόύώΆΈΉΊΌΎΏ", "еЕαεηιουωΑΕΗΙΟΥΩ", strict=True))
"""Letters that are often written without their accent; the engine knows the Latin ones by itself."""
CUT_TEXT: Final = "\ua507"
"""Marks a text with a part that has no words: a regular expression may match there. No text has it by chance."""
LONGEST_WORD: Final = 200
"""Longest word to search for: a longer run of letters and digits is none."""


def normal(text: str) -> str:
    """Return the text with one spelling for characters that look alike, such as accented and full-width letters."""
    if text.isascii():
        return text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    for letter, plain in ACCENTED:
        text = text.replace(letter, plain)
    return text


def pairs_of(run: str) -> list[str]:
    """Return the overlapping pairs of characters that index a run without spaces; a single character is itself."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def unspaced_words(run: str) -> list[str]:
    """Return the words to search for in a run without spaces, as far as the script shows them, without particles.

    A word ends where the script changes. A word of four characters or more may be several: it becomes its pairs.
    """
    words = [word for word in _script_run().findall(run) if not PARTICLE.fullmatch(word)]
    return [part for word in words or [run] for part in (pairs_of(word) if len(word) >= LONG_RUN else [word])]


def split_scripts(word: str) -> list[tuple[str, bool]]:
    """Cut a word where its script changes; return each piece with whether it is written without spaces."""
    if word.isascii():
        return [(word, False)] if word else []
    pieces = []
    at = 0
    for run in _unspaced().finditer(word):
        if run.start() > at:
            pieces.append((word[at : run.start()], False))
        pieces.append((run[0], True))
        at = run.end()
    if at < len(word):
        pieces.append((word[at:], False))
    return pieces


class Preparation:
    """Prepares texts to be indexed. Remembers the parts of names: nearly all names of a text are in others too."""

    def __init__(self) -> None:
        self._parts: dict[bytes, str] = {}

    def prepare(self, text: str) -> tuple[str, str]:
        """Return the text with one spelling and without blobs, and its further terms, separated by spaces."""
        text = normal(text)
        size = len(text)
        commands: list[str] = []
        if text.startswith(CLIENT_ROWS):  # otherwise every slash command would match "command", "name" and "args"
            commands = [command_word(name) for name in COMMAND_NAME.findall(text)]
            text = CLIENT_TAG.sub(" ", text)
        if len(text) >= SHORTEST_BLOB and _may_have_blob(text):
            text = BLOB.sub(" ", text)
        if len(text) != size:
            commands.append(CUT_TEXT)
        data = text.encode("utf-8", "surrogatepass")
        classes = data.translate(CLASSES)
        parts = [self._parts_of(data, classes), *sorted(signed_words(text)), *commands]
        if b"U" in classes:
            parts += _unspaced_parts(text)
        return text, " ".join(parts).strip()

    def _parts_of(self, data: bytes, classes: bytes) -> str:
        """Return the parts of the `camelCase` names in a text, found by the classes of its characters."""
        names: dict[bytes, None] = {}
        for change in CLASS_CHANGES:
            at = classes.find(change)
            while at >= 0:
                end = classes.find(b" ", at)
                end = end if end >= 0 else len(classes)
                names[data[classes.rfind(b" ", 0, at) + 1 : end]] = None
                at = classes.find(change, end)
        if len(self._parts) > MAX_REMEMBERED:
            self._parts.clear()
        all_parts = []
        for name in names:
            parts = self._parts.get(name)
            if parts is None:
                words = NAME.findall(name.decode("utf-8", "surrogatepass"))
                parts = " ".join(dict.fromkeys(part for word in words for part in camel_parts(word)))
                self._parts[name] = parts
            all_parts.append(parts)
        return " ".join(filter(None, all_parts))


def camel_parts(name: str) -> list[str]:
    """Return the parts of a `camelCase` name; none for other names."""
    if LOWER_UPPER.search(name) is None or len(name) > LONGEST_WORD:
        return []
    return CAMEL_PART.findall(name)


def _may_have_blob(text: str) -> bool:
    """Whether there may be a run of this many characters without a space: such a run covers one of these places."""
    for at in range(SHORTEST_BLOB - 1, len(text), SHORTEST_BLOB):
        if text[at] in BLOB_LETTERS and text.count(" ", max(0, at - SHORTEST_BLOB), at + SHORTEST_BLOB) < MAX_SPACES:
            return True
    return False


def _unspaced_parts(text: str) -> Iterator[str]:
    beside = 0
    for run in _unspaced().finditer(text):
        characters = run[0]
        if len(characters) > 1:
            # In one piece, so that their order counts.
            yield " ".join(pairs_of(characters))
        yield " ".join(characters)
        # The engine takes text between such characters, without a space, as part of one long word.
        if (before := WORD_BEFORE.search(text, beside, run.start())) is not None:
            yield before[0]
        if (after := _word_after().match(text, run.end())) is not None:
            yield after[0]
        beside = run.end()


# These take milliseconds to compile, and most commands need none of them.


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{LETTERS}]+")


@cache
def _word_after() -> re.Pattern[str]:
    return re.compile(rf"[^\W_{LETTERS}]+")


@cache
def _script_run() -> re.Pattern[str]:
    return re.compile(
        rf"[{HAN_PARTICLES}]|[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+?(?=[{HAN_PARTICLES}]|\Z|[^\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
        r"|[\u30a0-\u30ff\u31f0-\u31ff]+|[\u3040-\u309f]+|[^\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    )


def _classes() -> bytes:
    """Return the class of each byte of UTF-8: lower case `a`, upper case `B`, a digit `0`, a possible first byte of a
    script without spaces `U`, another byte of a character beyond ASCII `x`, and everything else a space."""
    table = bytearray(b" " * 256)
    table[0x80:] = b"x" * 0x80
    for first in (0xE0, 0xE1, *range(0xE3, 0xEE), 0xEF, 0xF0):
        table[first] = ord("U")
    for letters, name in ((string.ascii_lowercase, "a"), (string.ascii_uppercase, "B"), (string.digits, "0")):
        for letter in letters:
            table[ord(letter)] = ord(name)
    return bytes(table)


CLASSES: Final = _classes()
CLASS_CHANGES: Final = (b"aB", b"0B", b"BBa")
"""Ends of the parts of a `camelCase` name, in classes: equivalent to LOWER_UPPER."""
MAX_REMEMBERED: Final = 300_000
LOWER_UPPER: Final = re.compile("[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
NAME: Final = re.compile(r"[^\W_]+")
# HTTPServer → HTTP Server; getUser2Name → get User 2 Name
CAMEL_PART: Final = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Han, kana, bopomofo, hangul, Thai, Lao, Khmer, Myanmar, Tibetan. Hangul has spaces, but its words carry particles.
LETTERS: Final = (
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff\uac00-\ud7af\u1100-\u11ff\u0e00-\u0e7f\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
)
HAN_PARTICLES: Final = "的了吗嗎呢吧啊"
PARTICLE: Final = re.compile(rf"[{HAN_PARTICLES}]|[\u3040-\u309f]{{1,2}}")
"""Particles: single Chinese characters, and up to two characters of hiragana."""
LONG_RUN: Final = 4
# [^\W_]: a letter or digit
WORD_BEFORE: Final = re.compile(r"[^\W_]+\Z")
SHORTEST_BLOB: Final = 400
MAX_SPACES: Final = 20
BLOB_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")
BLOB: Final = re.compile(rf"[A-Za-z0-9+/=_-]{{{SHORTEST_BLOB},}}")
"""Base64 and similar data."""
