"""Names and docstrings that say little become fewer: each limit is what there is, and may only be lowered."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).parents[1] / "src" / "backscroll"
DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
VAGUE_OPENING: Final = re.compile(r"(What|Who|Whom|Whose|How|Its|The same)\b")
OPENING: Final = "docstrings that open with What, Who, How, Its or The same"
SHORT: Final = "docstrings of three words or fewer"
LIMITS: Final = {
    "found": 115,
    "told": 13,
    "shown": 49,
    "asked": 118,
    OPENING: 21,
    SHORT: 62,
    "fmt: skip": 439,
}


@cache
def counts() -> dict[str, int]:
    """Count variables by name, and docstrings and comments by kind, over all modules."""
    number = dict.fromkeys(LIMITS, 0)
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        number["fmt: skip"] += text.count("# fmt: skip")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in number:
                number[node.id] += 1
            elif isinstance(node, ast.arg) and node.arg in number:
                number[node.arg] += 1
            elif isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
                number[OPENING] += bool(VAGUE_OPENING.match(docstring))
                number[SHORT] += len(docstring.split()) <= 3
    return number


@pytest.mark.parametrize("kind", LIMITS)
def test_vague_words_become_fewer(kind: str) -> None:
    assert counts()[kind] <= LIMITS[kind], "write what it is (CONTRIBUTING.md, How we write)"
