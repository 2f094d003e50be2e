"""The planted set: 150 secrets in realistic surroundings, from `secrets.txt`, with values from a seeded generator."""

import base64
import json
import random
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("secrets.txt")
LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
DIGITS: Final = "0123456789"
WORD: Final = LOWER + LOWER.upper() + DIGITS
WINDOW: Final = 8
"""A secret leaks if this many of its characters in a row are still there."""

ALPHABETS: Final = {
    "word": WORD,
    "lower": LOWER + DIGITS,
    "upper": LOWER.upper() + "234567",
    "hex": DIGITS + "abcdef",
    "digits": DIGITS,
    "text": WORD + "-_",
    "b64": WORD + "+/",
}
WORDS: Final = (
    "anchor basket copper dragon ember falcon garden harbor island jacket kettle ladder marble needle orchid pepper "
    "quartz ribbon saddle timber umbrella velvet walnut yellow zipper"
).split()


class PlantedCase(NamedTuple):
    """One text with its secrets."""

    number: int
    title: str
    text: str
    secrets: tuple[str, ...]

    @property
    def is_for_tuning(self) -> bool:
        return self.number % 2 == 1

    def leaks(self, redacted: str) -> list[str]:
        """The secrets of which something is left in a text made from this one."""
        return [secret for secret in self.secrets if any(piece in redacted for piece in windows(secret))]


def windows(secret: str) -> list[str]:
    """All runs of characters that give a secret away."""
    lines = [line for line in secret.split("\n") if line]
    return [line[at : at + WINDOW] for line in lines for at in range(max(1, len(line) - WINDOW + 1)) if len(line) > at]


def planted_set(seed: int = 1) -> list[PlantedCase]:
    """Every case, with values that depend on the seed only."""
    blocks = re.split(r"^=== ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    cases = []
    for number, block in enumerate(blocks, start=1):
        head, _, body = block.partition("\n")
        title, _, rest = head.partition(" | ")
        options = rest.partition(" | ")[2].split()
        draw = random.Random(f"{seed} {number} {title}")
        secrets: list[str] = []

        def fill(match: re.Match[str], draw: random.Random = draw, secrets: list[str] = secrets) -> str:
            secrets.append(value(draw, match[1], int(match[2] or 0)))
            return secrets[-1]

        text = re.sub(r"‹([a-z0-9]+)(?: ([0-9]+))?›", fill, body.rstrip("\n"))
        cases.append(PlantedCase(number, title, _presented(text, options), tuple(secrets)))
    return cases


def value(draw: random.Random, kind: str, size: int) -> str:
    """A value of one kind. Drawn ones always have a digit and a letter, as real ones practically do."""
    if kind in ALPHABETS:
        while True:
            text = "".join(draw.choices(ALPHABETS[kind], k=size))
            if kind == "digits" or (re.search("[0-9]", text) and re.search("[A-Za-z]", text)):
                return text
    makers: dict[str, Callable[[], str]] = {
        "password": lambda: _password(draw),
        "slashed": lambda: f"{value(draw, 'word', 6)}/{value(draw, 'word', 9)}",
        "phrase": lambda: " ".join(draw.sample(WORDS, size)),
        "account": lambda: base64.b64encode(f"ada:{_password(draw)}".encode()).decode(),
        "discord": lambda: base64.b64encode(str(draw.randrange(10**17, 10**18)).encode()).decode(),
        "pem": lambda: "\n".join(value(draw, "b64", 64) for _ in range(size)),
    }
    return makers[kind]()


def _password(draw: random.Random) -> str:
    """What a person or a password manager would choose."""
    if draw.random() < 0.5:
        return f"{draw.choice(WORDS).title()}{draw.choice(WORDS)}{draw.randrange(10, 100)}{draw.choice('!#*+?')}"
    return value(draw, "word", draw.choice([10, 12, 16]))


def _presented(text: str, options: list[str]) -> str:
    """The text as a tool would show it: escaped, numbered, or broken at the edge of a terminal."""
    for place, option in enumerate(options):
        if option == "json":
            text = json.dumps(text)
        elif option == "numbered":
            text = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(text.split("\n"), start=2))
        elif option == "wrap":
            width, indent = int(options[place + 1]), "    " if "indent" in options else ""
            text = "\n".join(
                indent + line[start : start + width]
                for line in text.split("\n")
                for start in range(0, len(line), width)
            )
    return textwrap.dedent(text)
