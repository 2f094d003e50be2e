"""How much room a text takes, cut, filled and wrapped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.cells import cells, certain, cut, wrap
from backscroll.render.picker import fitted, wrapped

TEXTS = st.text(st.sampled_from("ab \t日本語한é\u0301👍🏽❤\ufe0fไย"), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("abc", 3), ("日本", 4), ("한글", 4), ("👍", 2), ("e\u0301", 1), ("ไทย", 3), ("", 0), ("ｆｕｌｌ", 8), ("…·│", 3)],
)
def test_wide_characters_take_two_columns_and_accents_none(text: str, expected: int) -> None:
    assert cells(text) == expected


def test_what_terminals_disagree_about_is_left_out() -> None:
    assert certain("👍🏽 ❤\ufe0f cafe\u0301") == "👍 ❤ café"


def test_a_cut_text_says_so() -> None:
    assert (cut("日本語", 6), cut("日本語", 5), cut("日本語", 4), cut("abc", 0)) == ("日本語", "日本…", "日…", "")


@given(TEXTS, st.integers(0, 30))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width


@given(TEXTS, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = [text[start:end] for start, end in wrap(text, width)]
    assert all(cells(line.rstrip()) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.lists(st.tuples(st.sampled_from(["plain", "match"]), TEXTS), max_size=4), st.integers(1, 40))
def test_a_fitted_line_has_exactly_its_width(pieces: list[tuple[str, str]], width: int) -> None:
    assert sum(cells(text) for _, text in fitted(pieces, width)) == width


@given(st.lists(st.tuples(st.sampled_from(["plain", "match"]), TEXTS), max_size=4), st.integers(4, 40))
def test_pieces_keep_their_looks_when_they_are_wrapped(pieces: list[tuple[str, str]], width: int) -> None:
    def shown(parts: list[tuple[str, str]]) -> str:
        return "".join("".join(text.split()) for look, text in parts if look == "match")

    lines = list(wrapped([(look, certain(text)) for look, text in pieces], width))
    assert shown([piece for line in lines for piece in line]) == shown([(look, certain(text)) for look, text in pieces])


def test_long_texts_are_cut_after_so_many_lines() -> None:
    lines = list(wrapped([("plain", "one two three four five")], 9, 2))
    assert ["".join(text for _, text in line) for line in lines] == ["one two", "three…"]
