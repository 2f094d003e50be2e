"""Validation errors of msgspec, in plain words."""

import re
from typing import Final

LONGEST_NAME: Final = 80
PLAIN: Final = (
    (r"Expected `str` of length >= 1\b", "must not be empty"),
    (r"Expected `\w+` of length <= (\d+)", r"must be at most \1 long"),
    (r"Expected `\w+` <= (-?\d+)", r"must be at most \1"),
    (r"Expected `\w+` >= (-?\d+)", r"must be at least \1"),
    (r"Expected `int`, got `\w+`", "must be a whole number"),
    (r"Expected `(?:str|str \| null)`, got `\w+`", "must be text"),
    (r"Expected `bool`, got `\w+`", "must be true or false"),
    (r"Invalid enum value (.*)", r"cannot be \1"),
)
"""Patterns of msgspec's messages, and the same in plain words."""


def validation_message(problem: str, *, missing: str, unknown: str) -> str:
    """Return msgspec's message in plain words, with the name of the wrong value first.

    `missing` and `unknown` are the messages for a missing and for an unknown name.
    """
    what, _, where = problem.partition(" - at `$.")
    for start, words in (("Object missing required field ", missing), ("Object contains unknown field ", unknown)):
        if what.startswith(start):
            return f"{what.removeprefix(start).strip('`')[:LONGEST_NAME]} {words}"
    if not where:
        return what
    for pattern, plain in PLAIN:
        if match := re.fullmatch(pattern, what):
            return f"{where.strip('`')} {match.expand(plain)}"
    return f"{where.strip('`')}: {what[:1].lower()}{what[1:]}"
