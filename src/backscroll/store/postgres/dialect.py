"""Translate the statements that both engines share for PostgreSQL."""

import re
from functools import lru_cache
from typing import Final, NamedTuple


class Translated(NamedTuple):
    """A statement for psycopg, with a name for each parameter."""

    text: str
    names: tuple[str, ...]
    """The names of the parameters in order, where the statement has `?`."""
    arrays: frozenset[str]
    """The parameters that are lists."""


@lru_cache(maxsize=2000)
def translate(statement: str) -> Translated:
    """Return the statement with named parameters, and with PostgreSQL's form of what SQLite writes differently."""
    text = statement.replace("%", "%%")
    names: list[str] = []

    def number(_: re.Match[str]) -> str:
        names.append(f"p{len(names)}")
        return f"%({names[-1]})s"

    text = NAMED.sub(r"%(\1)s", text)
    text = PLACE.sub(number, text)
    arrays = frozenset(LISTED.findall(text))
    text = LISTED.sub(r"= any(%(\1)s)", text)
    for pattern, replacement in REPLACED:
        text = pattern.sub(replacement, text)
    return Translated(text, tuple(names), arrays)


NAMED: Final = re.compile(r"(?<![:\w']):([a-z]\w*)")
PLACE: Final = re.compile(r"\?")
LISTED: Final = re.compile(r"\bin \(select value from json_each\(%\((\w+)\)s\)\)")
REPLACED: Final = (
    (re.compile(r"\blike\b"), "ilike"),  # SQLite's own ignores case
    (re.compile(r"(?<=[\s(])\+(?=[a-z]\w*\.)"), ""),  # keeps SQLite from using an index
    (re.compile(r"\bindexed by \w+"), ""),
    (re.compile(r"\bjson_group_array\(([\w.]+)\)"), r"json_agg(\1)::text"),
    (re.compile(r"\bon conflict \("), "on conflict (build, "),
)
