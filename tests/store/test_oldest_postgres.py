"""No statement needs a newer PostgreSQL than a server may have: only `scripts/test --all` starts the oldest one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import backscroll
from tests.support.postgres import OLDEST

SOURCE: Final = Path(backscroll.__file__).parent
FOLDERS: Final = ("store/postgres", "store/search", "store/sql", "team")
SUBQUERY: Final = re.compile(r"\b(?:from|join|lateral)\s*(?=\(\s*(?:select|values|with)\b)")
ALIAS: Final = re.compile(r"\s*(?:as\s+)?(?!(?:cross|group|inner|join|left|limit|on|order|union|where)\b)[a-z_{]")
NEWER: Final = re.compile(
    r"\b(?:any_value|array_(?:agg_sort|reverse|sample|shuffle|sort)|casefold|crc32c?|date_(?:add|subtract)"
    r"|json_(?:arrayagg|exists|objectagg|query|scalar|serialize|table|value)|pg_input_is_valid|random_normal|to_(?:bin|oct)"
    r"|transaction_timeout|uuidv[47])\s*\(|\bis json\b|\bwithout overlaps\b|\breturning (?:old|new)\.|\b\d+_\d{3}\b"
)
"""What came with 16, 17 and 18."""


def statements() -> Iterator[tuple[str, str]]:
    """Every text of the modules that have statements, and the migrations; `{}` stands for what is put into a text."""
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*.sql")):
            yield path.name, path.read_text().lower()
        for path in sorted((SOURCE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.JoinedStr):
                    yield path.name, "".join(str(getattr(part, "value", "{}")) for part in node.values).lower()
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path.name, node.value.lower()


def nameless(statement: str) -> list[str]:
    """The queries inside a statement that have no name; PostgreSQL 16 and SQLite need none."""
    found = []
    for begin in SUBQUERY.finditer(statement):
        depth, at = 0, begin.end()
        while at < len(statement) and (depth or at == begin.end()):
            depth += {"(": 1, ")": -1}.get(statement[at], 0)
            at += 1
        if not depth and at < len(statement) and not ALIAS.match(statement, at):
            found.append(statement[begin.start() : at + 20])
    return found


def test_no_statement_needs_a_newer_postgresql() -> None:
    assert OLDEST == 15
    read = [*statements()]
    assert sum(bool(SUBQUERY.search(text)) for _, text in read) > 5
    assert [(name, query) for name, text in read for query in nameless(text)] == []
    assert [(name, found[0]) for name, text in read if (found := NEWER.search(text))] == []


@pytest.mark.parametrize(
    ("statement", "is_named"),
    [
        ("select a from (select 1 as a) as b where a", True),
        ("select a from (select (1) as a) b", True),
        ("select a from (select 1 as a) where a", False),
        ("select a from x join (select 1 as a) on true", False),
    ],
)
def test_a_query_inside_a_statement_needs_a_name(statement: str, is_named: bool) -> None:
    assert (nameless(statement) == []) is is_named
