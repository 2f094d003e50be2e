"""The examples in docs/reference/python.md run, and give the documented results."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import backscroll
from tests.api.test_api import FIRST, SECOND, files_of
from tests.support.homes import write_home

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
ANSWERED = re.compile(r"^(\S.*?)  # → (.+)$", re.MULTILINE)
EXTRAS = {"to_pandas": "pandas", "to_arrow": "pyarrow"}


def test_the_examples_answer_what_the_page_says() -> None:
    write_home(Path.home() / ".claude", files_of(FIRST, SECOND))
    names: dict[str, Any] = {}
    for block in BLOCKS:
        missing = [module for method, module in EXTRAS.items() if method in block and find_spec(module) is None]
        if missing:
            with pytest.raises(backscroll.BackscrollError, match=f"this needs {missing[0]}"):
                exec(block, names)
            continue
        rest: list[str] = []
        for line in block.splitlines():
            if match := ANSWERED.match(line):
                exec("\n".join(rest), names)
                rest = []
                assert repr(eval(match[1], names)) == match[2], line
            else:
                rest.append(line)
        exec("\n".join(rest), names)
    assert sum(len(ANSWERED.findall(block)) for block in BLOCKS) > 20


def test_every_attribute_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    kinds = (
        backscroll.Agent,
        backscroll.Branch,
        backscroll.Call,
        backscroll.Chat,
        backscroll.Message,
        backscroll.Passage,
        backscroll.Result,
        backscroll.Usage,
    )
    assert [(kind.__name__, name) for kind in kinds for name in kind.COLUMNS if f"`{name}`" not in page] == []
