"""A line too long to hold is read with its long strings cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.records import long_lines
from backscroll.records.content import Image
from backscroll.records.decode import Problem, value_of
from backscroll.records.kinds import User
from backscroll.records.long_lines import cut_strings, decode_long_line


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_lines, "LONGEST_STRING", 20)
    monkeypatch.setattr(long_lines, "LONGEST_REMAINDER", 1000)


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_an_image_is_cut_and_the_rest_is_whole(size: int) -> None:
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 500}}
    line = json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}).encode()
    (record,) = decode_long_line(in_pieces(line, size))
    assert isinstance(record, User)
    assert record.uuid == "u"
    assert record.message is not None
    image = record.message.content[0]
    assert isinstance(image, Image)
    assert image.source is not None
    assert value_of(image.source.data) == "A" * 20 + " …[480 bytes cut]"


def test_a_line_that_stays_long_is_a_problem() -> None:
    line = json.dumps({"type": "user", "numbers": list(range(1000))}).encode()
    (problem,) = decode_long_line([line])
    assert isinstance(problem, Problem)
    assert problem.kind == "too-long"


def test_glued_objects_are_read_there_too() -> None:
    line = json.dumps({"type": "user", "cwd": "x" * 50}).encode()
    assert len(list(decode_long_line([line + line]))) == 2


def test_a_string_that_never_ends_is_damage() -> None:
    (problem,) = decode_long_line([b'{"type":"user","cwd":"', b"x" * 200])
    assert isinstance(problem, Problem)
    assert problem.kind == "damaged"


def test_a_quote_ends_no_string_if_its_backslash_came_with_the_piece_before() -> None:
    line = json.dumps(['a "quote" and "another"', "A" * 50]).encode()
    for size in range(1, len(line)):
        assert json.loads(b"".join(cut_strings(in_pieces(line, size))))[1] == "A" * 20 + " …[30 bytes cut]"


texts = st.text(alphabet='ab"\\é😀\n\x01', max_size=60)


@given(
    st.recursive(texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)),
    st.booleans(),
    st.integers(1, 40),
)
def test_cut_wherever_it_comes_in_pieces_it_stays_json(value: Any, ascii_only: bool, size: int) -> None:  # noqa: ANN401
    line = json.dumps(value, ensure_ascii=ascii_only).encode()
    cut = b"".join(cut_strings(in_pieces(line, size)))
    assert cut == b"".join(cut_strings([line]))
    check_same(json.loads(cut), value)


def check_same(cut: Any, value: Any) -> None:  # noqa: ANN401
    """Equal, but for strings that were cut: those begin as they did."""
    if isinstance(value, str):
        if cut != value:
            head, mark, _ = cut.partition(" …[")
            assert mark
            # Half of a pair may stay where an escaped character was cut in two.
            assert value.startswith(head.rstrip("\ud83d"))
    elif isinstance(value, list):
        assert len(cut) == len(value)
        for left, right in zip(cut, value, strict=True):
            check_same(left, right)
    else:
        assert len(cut) <= len(value)  # names that were cut may have become equal
