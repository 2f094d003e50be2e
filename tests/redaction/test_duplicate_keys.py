"""A key that stands twice in an object hides no secret: what a reader does not see is not given away either."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.library.sharing.share import redactor, rows_of
from backscroll.redaction.duplicate_keys import has_duplicate_keys
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.team.arrival.masks import ArrivalMasks
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

TOKEN = b"ghp_" + b"a1B2" * 9
FIELDS = st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=9), max_size=4)
JSON = st.recursive(FIELDS, lambda inner: st.dictionaries(st.text(max_size=3), inner | st.lists(inner), max_size=3))


def with_twin(line: bytes) -> bytes:
    """The text of a prompt stands twice, and the first one is a secret."""
    twin = b'"content":"%s","content":' % TOKEN
    assert line.count(b'"content":') == 1
    return line.replace(b'"content":', twin)


LINES = jsonl(draw("@ cwd=/home/ada/shop\na <- - user: hello \u00e9\nb <- a user: bye"))
LINE = with_twin(LINES.splitlines()[0])


def shared(tmp_path: Path) -> bytes:
    shelf = Shelf(tmp_path).write({session_path("S1"): LINE + b"\n" + LINES.splitlines()[1] + b"\n"})
    shelf.update()
    with shelf.open() as library:
        return b"".join(rows_of(library, session_uuid("S1"), redactor())).splitlines()[0]


WAYS: dict[str, Callable[[Path], bytes | None]] = {
    "export": shared,
    "sync": lambda _: Outgoing(b"key").line(SyncMode.REDACTED, LINE, is_json=True),
    "team server": lambda _: ArrivalMasks().segment("a.jsonl", LINE),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_before_a_second_value_is_gone_and_the_value_that_counts_is_left(tmp_path: Path, way: str) -> None:
    found = WAYS[way](tmp_path)
    assert found is not None
    assert TOKEN not in found
    assert json.loads(found)["message"]["content"] == "hello \u00e9"
    assert len(found) == len(LINE) or way != "team server"


@given(JSON, st.integers(0, 3))
def test_lines_without_twins_stay_as_they_are_written(value: dict[str, Any], way: int) -> None:
    line = [
        msgspec.json.encode(value), json.dumps(value).encode(), json.dumps(value, indent=1).encode(),
        json.dumps(value, separators=(" , ", " : "), ensure_ascii=False).encode("utf-8", "surrogatepass"),
    ][way]  # fmt: skip
    assert not has_duplicate_keys(line, value)


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1,"a":1}', b'{"a":{"b":[{"c":1,"c":2}]}}', b'{"a":1, "\\u0061":2}', b'[{"a":1 , "a" : 2}]',
        b'{"a":1}{"a":2}', b'{"a":1',
    ],
)  # fmt: skip
def test_duplicate_keys_are_found_wherever_they_are_and_however_they_are_written(line: bytes) -> None:
    try:
        value = json.loads(line)
    except ValueError:
        value = {"a": 1}
    assert has_duplicate_keys(line, value)


def test_numbers_that_only_python_holds_are_no_twins() -> None:
    line = b'{"a":%d}' % 10**40
    assert not has_duplicate_keys(line, json.loads(line))
