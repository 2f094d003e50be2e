"""A `str` is text, an `Html` is markup, and nothing makes one of the other by accident."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.element import NOTHING, Html, el, join, text, trusted
from tests.render.html.markup_parser import look


@given(st.text(st.characters(codec=None)))
def test_text_is_never_markup(words: str) -> None:
    seen = look(el("p", words, title=words))
    assert seen.tags == ["p"]
    assert seen.faults == []
    assert [name for _, name, _ in seen.attributes] == ["title"]


def test_markup_is_taken_as_it_is() -> None:
    assert el("p", el("b", "x & y"), " <z>") == "<p><b>x &amp; y</b> &lt;z&gt;</p>"
    assert trusted("<i>") == Html("<i>") == text(trusted("<i>"))


def test_what_became_of_markup_by_string_methods_is_text_again() -> None:
    assert el("p", el("b", "x") + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"


def test_attributes_are_named_as_in_html() -> None:
    made = el("input", class_="a", data_id=7, for_="q", hidden=True, disabled=False, title=None)
    assert made == '<input class="a" data-id="7" for="q" hidden>'


@pytest.mark.parametrize("name", ["onclick", "onx", "style", "a b", "x>", "", "1a", 'a"b'])
def test_attributes_that_could_do_something_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        el("p", **{name: "x"})


def test_children_may_be_lists_numbers_and_nothing() -> None:
    assert el("p", ["a", ["b", None]], 7, (piece for piece in "cd")) == "<p>ab7cd</p>"
    assert join([], "x") == NOTHING
    assert join(["a", None, "b"], "<") == "a&lt;b"


def test_directions_and_control_characters_do_not_come_through() -> None:
    assert el("p", "a\u202eb\x1b[31mc\x00", title="\u2066x") == '<p title="x">abc</p>'
