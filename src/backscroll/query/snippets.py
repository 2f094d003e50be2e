"""The piece of a text that best shows the matches of a query, and their positions in it."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from backscroll.query.signs import name_pattern
from backscroll.query.tree import Phrase, Query, Word, leaves
from backscroll.query.words import normal, split_scripts, unspaced_words

WIDTH: Final = 240
MAX_MATCHES: Final = 120
"""Most matches that are examined: the first ones of a long text are as good as any."""
MAX_EXAMINED: Final = 20_000
"""Most matches that are examined, including those that are only parts of words."""


class Snippet(NamedTuple):
    """A piece of text on one line. `highlights` are the spans of the matches."""

    text: str
    highlights: tuple[tuple[int, int], ...]


class Highlighter:
    """Finds the words of one query in texts."""

    def __init__(self, query: Query, regexes: Sequence["re.Pattern[str]"] = (), *, is_whole: bool = True) -> None:
        """Without `is_whole`, words also match as parts of other words."""
        wanted = [part for part in leaves(query.root) if isinstance(part, Word | Phrase)]
        patterns = list(dict.fromkeys(filter(None, map(_pattern, wanted))))
        self._pattern = re.compile("|".join(f"({pattern})" for pattern in patterns)) if patterns else None
        self._regexes = regexes
        self._is_whole = is_whole

    def snippet(self, text: str, width: int = WIDTH, *, is_said: bool = False) -> Snippet:
        """Return the best piece of the text, of about `width` characters; `is_said` removes the markup of messages."""
        matches = self._matches(text)
        begin, end = _to_words(text, *_window(matches, len(text), width))
        piece = " ".join((without_markup(text[begin:end]) if is_said else text[begin:end]).split())
        before, after = "…" if begin > 0 else "", "…" if end < len(text) else ""
        line = f"{before}{piece}{after}"
        return Snippet(line, tuple((start, stop) for start, stop, _ in self._matches(line)))

    def _found(self, folded: str, text: str) -> list[tuple[int, int, int]]:
        if self._pattern is None:
            return []
        matches = islice(self._pattern.finditer(folded), MAX_EXAMINED)
        whole = (match for match in matches if not self._is_whole or _is_word(text, *match.span()))
        return [(match.start(), match.end(), match.lastindex or 0) for match in islice(whole, MAX_MATCHES)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the positions of the words."""
        return [(start, end) for start, end, _ in self._matches(text)]

    def _matches(self, text: str) -> list[tuple[int, int, int]]:
        """Return each match with the number of its word."""
        matches = self._found(text.lower(), text) if not text.isascii() and len(text.lower()) == len(text) else []
        if not matches:  # removing the accents of a long text costs more than searching it twice
            matches = self._found(fold(text), text)
        for number, regex in enumerate(self._regexes, start=1000):
            first = regex.search(text)
            if first is not None and first.end() > first.start():
                matches.append((first.start(), first.end(), number))
        return sorted(matches)


def marked_texts(query: Query) -> list[str]:
    """Return the texts that a query searches for, in lower case, for a page that highlights them itself."""
    wanted = [part for part in leaves(query.root) if isinstance(part, Word | Phrase)]
    texts = [part.text for part in wanted]
    texts += [
        text for part in wanted if isinstance(part, Word) and not part.is_required for text in _unspaced_parts(part)
    ]
    return list(dict.fromkeys(text.lower() for text in texts if text))


def fold(text: str) -> str:
    """Return the text in lower case without accents, character by character, so that positions stay the same."""
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


@lru_cache(maxsize=20_000)
def _fold_character(character: str) -> str:
    # Decomposition would keep only a part of a syllable of hangul, or of a kana with a voice mark.
    is_whole = "\u3040" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7af"
    plain = unicodedata.normalize("NFKC" if is_whole else "NFKD", character)[:1].lower()[:1]
    return plain or character


def _pattern(part: Word | Phrase) -> str:
    """Return the pattern of a word in folded text: its parts with anything but letters and digits between them."""
    is_prefix = isinstance(part, Word) and part.prefix
    if not is_prefix and (name := name_pattern(part.text.lower())):
        return name
    words = [fold(word) for run, _ in split_scripts(part.text) for word in WORDS.findall(run)]
    if not words:
        return ""
    pattern = r"[\W_]*".join(map(re.escape, words))
    if is_prefix:
        return pattern + r"[^\W_]*"
    # The whole word, or else the parts by which a run of a script without spaces is searched.
    parts = dict.fromkeys(map(fold, _unspaced_parts(part))) if isinstance(part, Word) and not part.is_required else {}
    return "|".join([pattern, *map(re.escape, parts)])


def _unspaced_parts(word: Word) -> Iterator[str]:
    for run, is_unspaced in split_scripts(normal(word.text)):
        if is_unspaced:
            yield from unspaced_words(run)


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether this span is a word by itself, or a part of a name: `user` in `getUserName`, not in `users`."""
    return _is_edge(text, start) and _is_edge(text, end)


def _is_edge(text: str, at: int) -> bool:
    """Whether a word or a part of a name begins or ends here."""
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (before.isalnum() and after.isalnum()) or before.isdigit() != after.isdigit():
        return True
    if max(before, after) >= FIRST_UNSPACED:
        return True
    return after.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())


def _window(matches: Iterable[tuple[int, int, int]], size: int, width: int) -> tuple[int, int, int, int]:
    """Return the stretch with the most different words, the first of several; and the start and end of the words."""
    listed = list(matches)
    if not listed or size <= width:
        return 0, min(size, width), size, 0
    best = (0, 0, listed[0])
    last = 0
    for first, match in enumerate(listed):
        last = max(last, first)
        while last + 1 < len(listed) and listed[last + 1][1] - match[0] <= width:
            last += 1
        inside = listed[first : last + 1]
        score = (len({word for _, _, word in inside}), len(inside))
        if score > best[:2]:
            best = (*score, match)
            span = inside[-1][1] - match[0]
    begin = max(0, best[2][0] - max(20, (width - span) // 3))
    return begin, min(size, max(begin + width, best[2][0] + span)), best[2][0], best[2][0] + span


def _to_words(text: str, begin: int, end: int, first: int, last: int) -> tuple[int, int]:
    """Narrow the stretch to cut no word: to a space, or else to the start of a word in a long name or path."""
    if begin > 0 and not text[begin - 1].isspace():
        space = SPACE.search(text, begin, min(begin + LONGEST_UNCUT, end, first))
        begin = space.end() if space else _edge(text, begin, -1)
    if end < len(text) and not text[end].isspace():
        least = max(begin, end - LONGEST_UNCUT, last)
        cut = max(text.rfind(" ", least, end), text.rfind("\n", least, end))
        end = cut if cut > begin else _edge(text, end, 1)
    return begin, end


def _edge(text: str, at: int, step: int) -> int:
    """Return the nearest place in this direction where no word is cut; `at` itself if that is too far."""
    for place in range(at, at + step * LONGEST_UNCUT, step):
        if not 0 < place < len(text) or not (text[place - 1].isalnum() and text[place].isalnum()):
            return place
    return at


def without_markup(text: str) -> str:
    """Return the text without Markdown marks and the tags that the client puts around commands."""
    if "<command-name>" in text:
        text = ANNOUNCED.sub(" ", text)
    return MARKS.sub("", TAGS.sub(" ", text))


WORDS: Final = re.compile(r"[^\W_]+")
SPACE: Final = re.compile(r"\s+")
LONGEST_UNCUT: Final = 60
FIRST_UNSPACED: Final = "\u0e00"
"""Scripts without spaces, and others where words are not examined."""
TAGS: Final = re.compile(
    r"</?(?:command-|local-command-|bash-|system-reminder|user-prompt-submit-hook|tool_use_error|task-notification|output-file|persisted-output"
    r"|ide_opened_file|ide_selection)[\w-]*>"
)
ANNOUNCED: Final = re.compile(r"<command-message>[^<]*</command-message>")
"""The client's message about a command, which only repeats its name."""
MARKS: Final = re.compile(
    r"\*\*|```\w*|`|^[ \t]*(?:#{1,6}|>)[ \t]+|^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+[-: \t]*$|^[ \t]*\||\|[ \t]*$",
    re.MULTILINE,
)
"""Bold, code, headings, quotations, and the lines and edges of tables."""
