"""Text of every kind a session holds, cheap enough to fill 20 GB.

Pools of sentences and of code lines are made once, already escaped for JSON; a text is then a slice of a pool closed
by something no pool holds (a hash, a path, an identifier), so that the vocabulary goes on growing with the home.
Nothing here knows about records or files.
"""

import base64
import json
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from bench.generator import words

LANGUAGES = ("en", *words.OTHER_LANGUAGES)
CODE = ("python", "typescript", "go", "markdown")
ENDINGS = {"python": "py", "typescript": "ts", "go": "go", "markdown": "md"}

_VERBS = words.VERBS.split()
_NOUNS = words.NOUNS.split()
_SYLLABLES = words.SYLLABLES.split()
_CODE_TEMPLATES = {
    "python": words.PYTHON,
    "typescript": words.TYPESCRIPT,
    "go": words.GO,
    "markdown": words.MARKDOWN,
    "shell": words.SHELL,
}
# Shares of the whole pool. Code and tool output are most of a home's bytes, so most of the pool.
_SHARES = {"en": 0.30, "python": 0.20, "typescript": 0.12, "go": 0.10, "markdown": 0.04, "shell": 0.18}
_SHARE_OF_OTHER_LANGUAGE = 0.01
# No text holds this character, so one escaping pass can do a whole pool and be split again.
_SEPARATOR = "\x1f"
_LONGEST_BLOB = 1_560_000


def unescape(escaped: str) -> str:
    """The inverse of `escape`."""
    return str(json.loads(f'"{escaped}"'))


def escape(text: str) -> str:
    """The inside of a JSON string literal, non-ASCII left as it is, the way JSON.stringify writes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


@dataclass(frozen=True, slots=True)
class Lines:
    """A pool of lines, escaped for JSON; `mean` is the bytes per line, including the newline."""

    escaped: list[str]
    mean: float


class GeneratedTexts:
    """The pools for one seed. Callers bring their own `Random`, so two sessions never disturb each other."""

    def __init__(self, seed: int, pool_bytes: int) -> None:
        rng = Random(f"texts {seed}")
        self._names = _Names(rng, vocabulary=max(4000, min(60_000, pool_bytes // 60)))
        self._sentences = {"en": self._make_sentences(rng, int(pool_bytes * _SHARES["en"]))}
        for language in words.OTHER_LANGUAGES:
            self._sentences[language] = _make_foreign_sentences(
                rng, language, int(pool_bytes * _SHARE_OF_OTHER_LANGUAGE), self._names
            )
        self._lines = {
            kind: self._make_lines(rng, templates, int(pool_bytes * _SHARES[kind]))
            for kind, templates in _CODE_TEMPLATES.items()
        }
        self._commands = [escape(rng.choice(words.COMMANDS) % self._names.slots(rng)) for _ in range(2000)]
        self._paths = [self._names.path(rng) for _ in range(3000)]
        self._phrases = [self._names.phrase(rng) for _ in range(3000)]
        blob_bytes = min(_LONGEST_BLOB, max(60_000, pool_bytes))
        self._blob = base64.b64encode(rng.randbytes(blob_bytes * 3 // 4)).decode("ascii")

    def prose(self, rng: Random, length: int, language: str = "en") -> str:
        """About `length` bytes of sentences, escaped."""
        pool = self._sentences[language]
        count = int(length / pool.mean)
        if count < 1:
            return pool.escaped[int(rng.random() * len(pool.escaped))].rstrip()
        text = _slice(rng, pool.escaped, count)
        # The rare half of a real vocabulary: what no pool can hold.
        return f"{''.join(text)}See {self.rare(rng)}."

    def prompt(self, rng: Random, length: int, language: str) -> str:
        """A typed prompt: short, sometimes with emoji, sometimes with pasted output; escaped."""
        text = self.prose(rng, length, language)
        roll = rng.random()
        if roll < 0.06:
            return f"{rng.choice(words.EMOJI)} {text}"
        if roll < 0.16:
            return f"{text}\\n\\n```\\n{self.output(rng, length * 2)}\\n```"
        return text

    def phrase(self, rng: Random) -> str:
        """Two to five words, for titles and descriptions; escaped."""
        return self._phrases[int(rng.random() * len(self._phrases))]

    def command(self, rng: Random) -> str:
        """A shell command; escaped."""
        return self._commands[int(rng.random() * len(self._commands))]

    def path(self, rng: Random) -> str:
        """A path relative to the project, without anything to escape."""
        return self._paths[int(rng.random() * len(self._paths))]

    def output(self, rng: Random, length: int) -> str:
        """About `length` bytes of shell output; escaped."""
        return "\\n".join(self.code(rng, "shell", length))

    def code(self, rng: Random, kind: str, length: int) -> list[str]:
        """About `length` bytes of lines of one kind, escaped, with a rare identifier every forty lines."""
        pool = self._lines[kind]
        lines = _slice(rng, pool.escaped, int(length / pool.mean) + 1)
        for index in range(20, len(lines), 40):
            lines[index] = f"# {self.rare(rng)} {lines[index]}"
        return lines

    def base64(self, rng: Random, length: int) -> str:
        """About `length` characters of base64, at most the longest blob; always a multiple of four."""
        length = min(length, len(self._blob) // 2) & ~3
        start = int(rng.random() * (len(self._blob) - length)) & ~3
        return self._blob[start : start + length]

    def longest_blob(self) -> int:
        """The most that `base64` can give."""
        return len(self._blob) // 2

    def rare(self, rng: Random) -> str:
        """An identifier, hash, number or path that is very likely unique; nothing to escape."""
        roll = rng.random()
        digits = f"{rng.getrandbits(64):016x}"
        if roll < 0.3:
            return digits[:7]
        if roll < 0.6:
            return f"{self._names.snake(rng)}_{digits[:3]}"
        if roll < 0.75:
            return f"{self.path(rng)}:{int(digits[:3], 16)}"
        if roll < 0.9:
            return str(int(digits[:8], 16))
        return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-a{digits[1:4]}-{digits[4:16]}"

    def _make_sentences(self, rng: Random, size: int) -> Lines:
        made: list[str] = []
        left = size
        while left > 0:
            if rng.random() < 0.25:
                sentence = rng.choice(words.SENTENCES) % self._names.slots(rng)
            else:
                picked = self._names.words(rng, 4 + int(rng.random() * 18))
                sentence = " ".join(picked).capitalize() + "."
                if rng.random() < 0.02:
                    sentence += " " + rng.choice(words.EMOJI)
            roll = rng.random()
            sentence += " " if roll < 0.8 else "\n\n" if roll < 0.9 else "\n- "
            made.append(sentence)
            left -= len(sentence)
        return _lines(made)

    def _make_lines(self, rng: Random, templates: list[str], size: int) -> Lines:
        made: list[str] = []
        left = size
        while left > 0:
            block = rng.choice(templates) % self._names.slots(rng)
            made.extend(block.split("\n")[:-1])
            left -= len(block)
        return _lines(made)


class _Names:
    """Words by Zipf's law, and identifiers built from them."""

    def __init__(self, rng: Random, vocabulary: int) -> None:
        known = list(dict.fromkeys((words.COMMON + words.TECHNICAL).split()))
        known += [f"{word}s" for word in known[150:]] + [f"{word}ing" for word in _VERBS]
        tail: dict[str, None] = dict.fromkeys(known)
        while len(tail) < vocabulary:
            roll = rng.random()
            if roll < 0.45:
                tail[self.snake(rng)] = None
            elif roll < 0.65:
                tail[_camel(self.snake(rng))] = None
            else:
                tail["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))] = None
        self._vocabulary = list(tail)
        self._weights = list(accumulate(1 / (rank + 2.7) ** 1.07 for rank in range(len(self._vocabulary))))

    def words(self, rng: Random, count: int) -> list[str]:
        return rng.choices(self._vocabulary, cum_weights=self._weights, k=count)

    def phrase(self, rng: Random) -> str:
        return " ".join(self.words(rng, rng.randint(2, 5)))

    def snake(self, rng: Random) -> str:
        name = f"{_VERBS[int(rng.random() * len(_VERBS))]}_{_NOUNS[int(rng.random() * len(_NOUNS))]}"
        return name if rng.random() < 0.6 else f"{name}_{_NOUNS[int(rng.random() * len(_NOUNS))]}"

    def path(self, rng: Random) -> str:
        folder = rng.choice(("src", "src", "tests", "lib", "cmd", "internal", "web/components", "docs"))
        kind = rng.choice(("py", "py", "ts", "go", "md"))
        return f"{folder}/{rng.choice(_NOUNS)}/{self.snake(rng)}.{kind}"

    def slots(self, rng: Random) -> dict[str, str]:
        name, other = self.snake(rng), self.snake(rng)
        return {
            "a": name,
            "b": other,
            "j": _camel(name),
            "A": _camel(other)[0].upper() + _camel(other)[1:],
            "n": str(int(rng.random() ** 3 * 999) + 1),
            "m": str(int(rng.random() ** 3 * 9999) + 1),
            "h": f"{rng.getrandbits(28):07x}",
            "p": self.path(rng),
            "w": " ".join(self.words(rng, 2 + int(rng.random() * 5))),
        }


def _make_foreign_sentences(rng: Random, language: str, size: int, names: _Names) -> Lines:
    space, stop, text = words.OTHER_LANGUAGES[language]
    vocabulary = text.split()
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(vocabulary))))
    made: list[str] = []
    left = size
    while left > 0 or len(made) < 40:
        sentence = space.join(rng.choices(vocabulary, cum_weights=weights, k=4 + int(rng.random() * 9)))
        if rng.random() < 0.3:
            sentence += f" `{names.snake(rng)}`"
        sentence += stop + (" " if rng.random() < 0.85 else "\n\n")
        made.append(sentence)
        left -= len(sentence.encode())
    return _lines(made)


def _camel(snake: str) -> str:
    first, *rest = snake.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _lines(raw: list[str]) -> Lines:
    escaped = escape(_SEPARATOR.join(raw)).split("\\u001f")
    return Lines(escaped, mean=sum(len(line.encode()) + 2 for line in escaped) / len(escaped))


def _slice(rng: Random, pool: list[str], count: int) -> list[str]:
    count = min(count, len(pool))
    start = int(rng.random() * (len(pool) - count + 1))
    return pool[start : start + count]
