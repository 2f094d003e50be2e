"""The time limit of highlighting. The clock of these tests advances by the same amount whenever it is read."""

from itertools import count
from typing import Final

import pytest
from pygments.lexer import DelegatingLexer

from backscroll.render.html.code import (
    BLOCK_TOO_SLOW,
    LANGUAGES,
    LONGEST_UNTIMED,
    MAX_ERRORS,
    MAX_HIGHLIGHTED,
    PAGE_TOO_SLOW,
    code,
    get_lexer,
    highlight,
    load_lexer,
    tokenize_long,
    tokenize_short,
)
from backscroll.render.html.prose import prose
from backscroll.render.html.time_limit import LONGEST_BLOCK, LONGEST_PAGE, Clock, timed
from tests.render.html.markup_parser import look
from tests.support.cases import for_each

SOURCE: Final = "return 1\n" * 300


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    """What was coloured before is not known."""
    tokenize_short.cache_clear()
    tokenize_long.cache_clear()


def clock(step: float) -> Clock:
    return map(step.__mul__, count()).__next__


def test_code_highlighted_in_time_has_colours_and_no_note() -> None:
    with timed(clock(0.0)):
        assert "c-keyword" in code(SOURCE, "python")
        assert "code-note" not in code(SOURCE, "python")


def test_a_block_that_takes_too_long_is_plain_and_says_so() -> None:
    with timed(clock(LONGEST_BLOCK / 3)):
        shown = look(code(SOURCE, "python"))
    assert shown.text == SOURCE.rstrip() + BLOCK_TOO_SLOW


def test_it_is_not_tried_again() -> None:
    with timed(clock(LONGEST_BLOCK / 3)):
        code(SOURCE, "python")
    with timed(clock(0.0)):
        assert BLOCK_TOO_SLOW in code(SOURCE, "python")


def test_a_page_that_has_taken_its_time_is_plain_from_there_on() -> None:
    blocks = [f"return {number}\n" * 40 for number in range(8)]
    with timed(clock(LONGEST_PAGE / 8)):  # one block takes two looks or three
        notes = [PAGE_TOO_SLOW in code(source, "python") for source in blocks]
    assert notes == sorted(notes)
    assert (notes[0], notes[-1]) == (False, True)
    with timed(clock(0.0)):
        assert "c-keyword" in code(blocks[-1], "python"), "the block itself was not at fault"


def test_everything_on_a_page_shares_its_time_limit() -> None:
    with timed(clock(LONGEST_PAGE)):
        code("return 1", "python")
        with timed(clock(0.0)):
            assert PAGE_TOO_SLOW in code("return 2", "python")


def test_a_fence_in_prose_says_so_too() -> None:
    with timed(clock(LONGEST_BLOCK / 3)):
        assert BLOCK_TOO_SLOW in look(prose(f"```python\n{SOURCE}```")).text


def test_without_a_clock_only_short_code_is_coloured() -> None:
    long = "x = 1\n" * (LONGEST_UNTIMED // 6 + 1)
    assert "<span" in highlight(long[:LONGEST_UNTIMED], "python")
    assert "<span" not in highlight(long, "python")
    with timed(clock(0.0)):
        assert "<span" in highlight(long, "python")
        assert "<span" not in highlight("x = 1\n" * (MAX_HIGHLIGHTED // 6 + 1), "python")


@pytest.mark.parametrize("language", ["js", "go", "perl", "java", "rust"])
def test_quotes_without_end_are_given_up(language: str) -> None:
    reads = []
    ticking = clock(0.0)

    def counted() -> float:
        reads.append(1)
        return ticking()

    source = "\n".join(['\\"' * 400] * 25)
    with timed(counted):
        assert look(code(source, language)).text == source
    # Read once for 32 tokens: either there are few errors, or it stopped early.
    assert len(reads) < 4 + max(2 * MAX_ERRORS, len(source)) / 32


def test_every_lexer_gives_tokens_as_it_goes_so_that_it_can_be_stopped() -> None:
    def check_lexer(language: str) -> None:
        lexer = load_lexer(language)
        assert lexer is not None
        assert not isinstance(lexer, DelegatingLexer), "it looks through all of a text twice before its first token"

    for_each(sorted(LANGUAGES), check_lexer)


@pytest.mark.parametrize(
    ("language", "cousin"),
    [("html+django", "HTML"), ("html+jinja", "HTML"), ("htmldjango", "HTML"), ("pycon", "Python")],
)
def test_what_has_no_such_lexer_has_the_colours_of_a_cousin(language: str, cousin: str) -> None:
    lexer = get_lexer(language, "")
    assert lexer is not None
    assert lexer.name == cousin
