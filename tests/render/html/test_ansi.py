"""The final terminal output, without control sequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.ansi import MAX_STYLED, terminal_html
from tests.render.html.markup_parser import assert_harmless, look


def shown(text: str) -> str:
    """What is in the block."""
    return terminal_html(text).removeprefix('<pre class="terminal" tabindex="0">').removesuffix("</pre>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain <b>", "plain &lt;b&gt;"),
        ("\x1b[31mred\x1b[0m no", '<span class="t-front-1">red</span> no'),
        (
            "\x1b[1;4;92mx\x1b[22;24my\x1b[39mz",
            '<span class="t-bold t-underline t-front-10">x</span><span class="t-front-10">y</span>z',
        ),
        ("\x1b[44mx\x1b[49my", '<span class="t-back-4">x</span>y'),
        ("\x1b[7mx\x1b[27my", '<span class="t-inverse">x</span>y'),
        ("\x1b[7;31mx", '<span class="t-back-1">x</span>'),
        ("\x1b[2;3;9mx\x1b[my", '<span class="t-dim t-italic t-strike">x</span>y'),
        ("\x1b[38;5;9mx", '<span class="t-front-9">x</span>'),
        ("\x1b[38;5;196mx", '<span class="t-front-9">x</span>'),
        ("\x1b[38;5;232mx", '<span class="t-front-0">x</span>'),
        ("\x1b[38;2;250;250;250mx", '<span class="t-front-15">x</span>'),
        ("\x1b[38:2::0:0:230mx", '<span class="t-front-4">x</span>'),
        ("\x1b[48;2;0;200;0;1mx", '<span class="t-bold t-back-2">x</span>'),
        ("\x1b[38;5;999mx", "x"),
        ("\x1b[38mx\x1b[38;5mx\x1b[38;2;1mx", "xxx"),
        ("\x9b31mx", '<span class="t-front-1">x</span>'),
        ("\x1b[999999999999999999mx", "x"),
        ("\x1b[31ma\nb\x1b[0m\nc", '<span class="t-front-1">a</span>\n<span class="t-front-1">b</span>\nc'),
    ],
)
def test_colours_become_classes(text: str, expected: str) -> None:
    assert shown(text) == expected


PIECES = st.sampled_from(
    ["\x1b[31m", "\x1b[1m", "\x1b[0m", "\x9b4m", "\x1b[5A", "\x1b]0;t\x07", "K", "a<b", "ü", "\t", "\x00", "\n"]
)


@given(st.lists(PIECES).map("".join))
def test_lines_that_are_not_overwritten_look_the_same_as_cell_by_cell(text: str) -> None:
    erased = "\n".join(f"{line}\x1b[K" for line in text.split("\n"))  # erases nothing: there is nothing behind the end
    assert shown(f"\x1b[m{text}") == shown(f"\x1b[m{erased}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%\r50%\r100%", "100%"),
        ("abcdef\rxy", "xycdef"),
        ("abcdef\rxy\x1b[K", "xy"),
        ("abcdef\x1b[2K\rxy", "xy"),
        ("abcdef\x1b[1K\rxy", "xycdef"),
        ("abc\b\bX", "aXc"),
        ("\b\b\bx", "x"),
        ("line\r\nnext\r\n", "line\nnext\n"),
        ("\x1b[31mab\r\x1b[32mc", '<span class="t-front-2">c</span><span class="t-front-1">b</span>'),
    ],
)
def test_what_was_overwritten_is_gone(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b]0;title\x07", "\x1b]8;;https://evil.test\x1b\\", "\x1b]52;c;aGk=\x07", "\x1b[2J", "\x1b[10A", "\x1b[?25l",
        "\x1bP+q544e\x1b\\", "\x1b_apc\x1b\\", "\x1bc", "\x07", "\x00", "\u202e", "\x9d0;x\x9c", "\x1b(B", "\x1b[31;>m",
    ],
)  # fmt: skip
def test_all_other_sequences_are_dropped(sequence: str) -> None:
    assert shown(f"a{sequence}b\rc") == "cb"


def test_very_long_output_has_no_colours_but_all_its_text() -> None:
    assert look(terminal_html("\x1b[31mab\r" * MAX_STYLED)).text == "ab" * MAX_STYLED


@given(
    st.text(st.sampled_from("ab<&\"'\x1b\x9b[]m;:0123478K\r\b\n\t\x07\u202e\ud800"))
    | st.text(st.characters(codec=None))
)
def test_any_output_is_harmless(text: str) -> None:
    assert_harmless(terminal_html(text))


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert look(terminal_html(f"\x1b[1m{text}\x1b[0m")).text == text
