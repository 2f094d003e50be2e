"""How long the highlighting of one block can take, for every language that is highlighted, with texts made to be slow.

    python -m bench.hostile_lexers [--size 39000] [--limit 10] [LANGUAGE]...

Highlighting stops when its time is over, but it looks at the clock only between tokens. Here it is to stop after
`SOON`, so that what takes longer is a lexer that was not asked for a token meanwhile. Each language is tried in a
process of its own, which is killed after `limit` CPU seconds with one text. Prints the language, the text, and the CPU
seconds for half the size and for all of it, where the latter are more than `WORTH_TELLING`; exits with 1 if any are.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Final

from backscroll.render.html import time_limit
from backscroll.render.html.code import DELICATE, LANGUAGES, highlight_with_note, language_names, load_lexer

SOON: Final = 0.05
WORTH_TELLING: Final = 1.0
UNITS: Final = (
    '"', "'", "`", '\\"', '"\\', "\\", "(", "[", "{", "{{", "<", "<a ", "<!--", "/*", "#", "#{", "$(", "{%", "@a ", ":",
    ":a ", "=", "a=", "a b", "a.", "a,", "a(", "a<", "1", "1.", "- ", "*", "_", "|", "a", "\t", " a", "A", "a\n ",
    "a:\n", "\\\n", "#\n", "'\n", '"\n', "(\n", "{\n", "$a\n", "<a\n", "/*\n",
)  # fmt: skip
CLOSING: Final = {"/*": "*/", "/*\n": "*/\n", "<!--": "-->", "[": "]"}
"""Highlighting is not even tried where too many of these are open, so they are all closed, at the end."""


def texts(size: int, width: int) -> Iterator[tuple[str, str]]:
    """Texts of about that many characters, in lines of at most that width, and what they are called."""
    for unit in UNITS:
        end = CLOSING.get(unit, "")
        count = size // (len(unit) + len(end))
        yield unit, _folded(unit * count, width) + _folded(end * count, width)
    yield "one of each", "\n".join(UNITS[at % len(UNITS)].strip() * 3 for at in range(size // 6))


def _folded(text: str, width: int) -> str:
    if "\n" in text:
        return text
    return "\n".join(text[at : at + width] for at in range(0, len(text), width)) + "\n"


def word_for(language: str) -> str:
    """The language name in a fence: one word."""
    return next(word for word, name in language_names().aliases.items() if name == language and " " not in word)


def attempt(language: str, size: int, skip: int, limit: int, out: int) -> None:
    """Try the texts after the first `skip` in this process; each may take `limit` seconds."""
    word = word_for(language)
    for _, text in islice(texts(size, 290 if language in DELICATE else 900), skip, None):
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        resource.setrlimit(resource.RLIMIT_CPU, (int(used) + limit, resource.RLIM_INFINITY))
        begun = time.process_time()
        with time_limit.timed(time.thread_time):
            highlight_with_note(text, word)
        os.write(out, json.dumps(time.process_time() - begun).encode() + b"\n")


def seconds_of(language: str, size: int, limit: int) -> dict[str, float]:
    """The time of each text; the limit if it was reached."""
    names = [*UNITS, "one of each"]
    took: list[float] = []
    while len(took) < len(names):
        reads, writes = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                attempt(language, size, len(took), limit, writes)
            finally:
                os._exit(0)
        os.close(writes)
        with os.fdopen(reads, encoding="ascii") as told:
            took += map(json.loads, told)
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            took.append(float(limit))
    return dict(zip(names, took, strict=True))


def main() -> int:
    """Try all languages, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE")
    parser.add_argument("--size", type=int, default=39_000)
    parser.add_argument("--limit", type=int, default=10)
    asked = parser.parse_args()
    time_limit.LONGEST_BLOCK = SOON  # type: ignore[misc]
    is_slow = False
    for language in asked.languages or sorted(LANGUAGES):
        load_lexer(language)  # loaded here, so that loading it is not measured
        large = seconds_of(language, asked.size, asked.limit)
        slow = {unit: seconds for unit, seconds in large.items() if seconds > WORTH_TELLING}
        small = seconds_of(language, asked.size // 2, asked.limit) if slow else {}
        for unit, seconds in slow.items():
            sys.stdout.write(f"{language}: {unit!r}: {small[unit]:.2f} s, twice as many {seconds:.2f} s\n")
        sys.stdout.write(f"{language}: {max(large.values()):.2f} s at most\n")
        sys.stdout.flush()
        is_slow = is_slow or bool(slow)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
