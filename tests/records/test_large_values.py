"""Values with very many parts are recognised and cut without decoding them."""

import json
from typing import Any

import pytest

from backscroll.records.large_values import is_large, without_large_values

MOST = 3
NOTE = "cut {bytes}, over {most}"


def cut(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    return json.loads(without_large_values(json.dumps(value).encode(), NOTE, MOST))


@pytest.mark.parametrize(
    "value", [[1] * 4, {"a": [1, 2], "b": [3, 4]}, ["a,b,c,d,e"] * 4, [], "[,,,,,]", 5, {"\\": '"[,,,,'}]
)
def test_what_has_few_parts_stays_as_it_is(value: Any) -> None:  # noqa: ANN401
    assert not is_large(json.dumps(value).encode(), MOST)
    assert cut(value) == value


@pytest.mark.parametrize("value", [[1] * 5, [{}] * 5, ["a"] * 5, {str(number): 1 for number in range(5)}, [[1, 2]] * 3])
def test_what_has_too_many_is_a_note_that_says_how_much_it_was(value: Any) -> None:  # noqa: ANN401
    data = json.dumps(value).encode()
    assert is_large(data, MOST)
    assert cut(value) == f"cut {len(data)}, over 3"


def test_only_the_innermost_is_cut() -> None:
    many = [1] * 5
    told = f"cut {len(json.dumps(many))}, over 3"
    assert cut({"a": {"b": many, "c": "x"}, "d": [many, [1]]}) == {"a": {"b": told, "c": "x"}, "d": [told, [1]]}


def test_what_was_cut_inside_of_something_that_is_cut_too_goes_with_it() -> None:
    value = [[1] * 5, 1, 2, 3, 4]
    assert cut({"a": 1, "b": value, "c": 2}) == {"a": 1, "b": f"cut {len(json.dumps(value))}, over 3", "c": 2}


@pytest.mark.parametrize("data", [b"]]}", b"[[[", b'{"a": [1, 2, 3, 4, 5', b'"unfinished [', b""])
def test_invalid_json_is_harmless(data: bytes) -> None:
    assert without_large_values(data, NOTE, MOST) == data
