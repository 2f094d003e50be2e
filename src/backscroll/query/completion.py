"""Completions for a query while it is typed."""

import re
from typing import Final, NamedTuple

from backscroll.query.fields import BY_NAME, FIELDS


class Completion(NamedTuple):
    """A replacement for the text from `start` to the cursor."""

    start: int
    options: list[str]


def completions(text: str, cursor: int) -> list[str]:
    """Return the names of fields, each with its colon, or the choices of a field, that complete the typed text."""
    return complete(text, cursor).options


def complete(text: str, cursor: int) -> Completion:
    """Return the completions, with the start of the text that they replace."""
    before = QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text[: max(0, cursor)])
    if OPEN.search(before):
        return Completion(len(before), [])
    if value := VALUE.search(before):
        return Completion(value.start("typed"), _choices(value["name"].lower(), value["typed"].lower()))
    if name := NAME.search(before):
        typed = name["typed"].lower()
        return Completion(name.start("typed"), [f"{info.name}:" for info in FIELDS if info.name.startswith(typed)])
    return Completion(len(before), [])


def _choices(name: str, typed: str) -> list[str]:
    info = BY_NAME.get(name)
    if info is None:
        return []
    names = [choice.name for choice in info.choices if choice.name.startswith(typed)]
    # Aliases only once the user begins to type them.
    aliases = [alias for choice in info.choices for alias in choice.aliases if typed and alias.startswith(typed)]
    return names + aliases


BEGINNING: Final = r"(?:^|(?<=[\s(])|(?<=[\s(]-)|(?<=\A-))"
QUOTED: Final = re.compile(r'(?:^|(?<=[\s(:|-]))"(?:[^"\\]|\\.)*+"', re.DOTALL)
OPEN: Final = re.compile(r'(?:^|(?<=[\s(:|-]))"')
NAME: Final = re.compile(BEGINNING + r"(?P<typed>[A-Za-z]*)\Z")
VALUE: Final = re.compile(
    BEGINNING + r"(?P<name>[A-Za-z]{1,20}):(?:\((?:[^()]*[\s|-])?|(?:[^\s()|]*\|)*+)(?P<typed>[^\s()|-]*)\Z"
)
