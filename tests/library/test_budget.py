"""Tokens are never undercounted, and no cut text or answer exceeds its budget."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.library.memory.answer_text import Piece, RecallItem, Words, fit, is_said, shingles, tell
from backscroll.library.memory.budget import cut_to, excerpt, in_lines, tokens_of
from backscroll.library.memory.citations import FEWEST_TOKENS, HEADING, Citation, RecalledPassage, cost_of, is_project
from backscroll.library.memory.recall import Recall
from backscroll.query.snippets import Highlighter
from backscroll.query.tree import All, Query, Word
from backscroll.render.recall import recalled_text
from backscroll.render.terminal import clean

ANY = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.sampled_from(
            ["word ", "the parser", "\n", "  ", "日本語", "x=1;", "\x1b[31m", "\u202e", "…", "é", "\ud800", "> "]
        )
    ).map("".join),
)
WORDS = Words(Highlighter(Query("", All((Word("parser"), Word("word"))))), {"parser": 2.0})


@pytest.mark.parametrize(
    ("text", "fewest"),
    [
        ("", 0),
        ("the quick brown fox", 4),
        ("antidisestablishmentarianism", 5),  # tokenizers know parts of words
        ("1234567890", 4),
        ("}}]){{;;", 8),
        ("数据库连接失败", 7),
        ("d41d8cd98f00b204e9800998ecf8427e", 20),
        ("\n\n\n    return", 2),
    ],
)
def test_a_text_is_at_least_so_many_tokens(text: str, fewest: int) -> None:
    assert tokens_of(text) >= fewest


def test_a_sentence_is_not_counted_much_too_long() -> None:
    sentence = "We decided to keep the old parser because the new one loses comments in nested lists."
    assert tokens_of(sentence) <= 2 * len(sentence.split())


@given(ANY, ANY)
def test_two_texts_are_no_more_tokens_than_both(one: str, other: str) -> None:
    assert tokens_of(one + other) <= tokens_of(one) + tokens_of(other)


@given(ANY)
def test_cleaning_a_text_makes_it_no_longer(text: str) -> None:
    assert tokens_of(clean(text)) <= tokens_of(text)


@given(ANY, st.integers(-5, 300), st.integers(0, 4))
def test_what_was_cut_fits_and_is_the_beginning(text: str, tokens: int, a_line: int) -> None:
    cut = cut_to(text, tokens, a_line)
    assert cut == "" or in_lines(cut, a_line) <= tokens
    assert cut == text or text.startswith(cut.removesuffix("…"))


@given(ANY, st.integers(-5, 300), st.integers(0, 4))
def test_an_excerpt_fits(text: str, tokens: int, a_line: int) -> None:
    found = excerpt(text, WORDS.highlighter, tokens, WORDS.weights, a_line)
    assert found == "" or in_lines(found, a_line) <= tokens


def test_an_excerpt_is_where_the_words_are() -> None:
    text = "\n".join(f"line {number} says nothing" for number in range(300))
    text = text.replace("line 200 says nothing", "here the parser has the last word")
    found = excerpt(text, WORDS.highlighter, 60)
    assert "the parser has the last word" in found
    assert found.startswith("…")
    assert found.endswith("…")


def test_an_excerpt_is_found_near_the_end_of_a_long_line() -> None:
    text = "x " * 300_000 + "the parser has the last word" + " y" * 300_000
    assert "the parser has the last word" in excerpt(text, WORDS.highlighter, 60)


def test_of_two_places_that_with_the_worthier_word_is_shown() -> None:
    text = "a word here\n" + "nothing\n" * 200 + "a parser there\n" + "nothing\n" * 200
    assert "parser" in excerpt(text, WORDS.highlighter, 12, {"parser": 2.0, "word": 1.0})
    assert "parser" not in excerpt(text, WORDS.highlighter, 12, {"parser": 1.0, "word": 2.0})


def test_sentences_with_other_telling_words_are_shown_too_if_they_fit() -> None:
    text = "a word here\n" + "nothing\n" * 200 + "a parser there\n" + "nothing\n" * 200
    found = excerpt(text, WORDS.highlighter, 60, {"parser": 1.0, "word": 1.5})
    assert found.index("a word here") < found.index("…a parser there…")
    # A word of little weight is not worth a place of its own.
    assert "parser" not in excerpt(text, WORDS.highlighter, 60, {"parser": 0.2, "word": 1.5})


PIECES = st.lists(st.builds(Piece, st.sampled_from(["", "asked: ", "got Bash: "]), ANY, st.floats(0, 1)), max_size=5)
SOURCES = st.builds(
    Citation,
    chat=st.one_of(st.uuids().map(str), st.text(max_size=50)),
    title=st.text(max_size=60),
    project=st.one_of(st.none(), st.text(max_size=80)),
    message=st.one_of(st.uuids().map(str), st.text(max_size=50)),
    when=st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))),
    role=st.sampled_from(["prompt", "answer", "error", "thinking"]),
    agent=st.one_of(st.none(), st.text(max_size=10)),
)
TELLINGS = st.lists(st.builds(RecallItem, SOURCES, PIECES, st.floats(0, 1), st.just(())), max_size=12)


@given(PIECES, st.integers(0, 400))
def test_texts_that_share_a_room_fit_into_it(pieces: list[Piece], tokens: int) -> None:
    texts = fit(pieces, tokens, WORDS)
    used = [in_lines(piece.label + text, 3) for piece, text in zip(pieces, texts, strict=True) if text]
    assert sum(used) <= tokens


@settings(deadline=None)
@given(TELLINGS, st.integers(FEWEST_TOKENS, 3000), st.integers(100, 1000))
def test_an_answer_is_never_longer_than_its_budget(tellings: list[RecallItem], tokens: int, most: int) -> None:
    passages = tell(tellings, tokens - HEADING, most, WORDS)
    hint = "read one with its chat and message id, or ask for more tokens"
    cost = HEADING + sum(map(cost_of, passages))
    text = recalled_text(Recall("q", passages, 1, 1, cost, True, hint))
    assert tokens_of(text) <= cost <= tokens


def test_a_text_already_shown_is_not_shown_again_as_context() -> None:
    source = Citation("c", "t", None, "m", datetime(2026, 1, 5, tzinfo=UTC), "answer")
    prompt = Piece("asked: ", "why does the parser lose comments in lists", 0.3, is_beside=True)
    first = RecallItem(source, [prompt, Piece("answered: ", "it skips them on purpose", 0.6)], 1.0, ())
    second = RecallItem(source, [prompt, Piece("answered: ", "no word of that any more", 0.6)], 0.5, ())
    one, other = tell([first, second], 1000, 300, WORDS)
    assert one.text.startswith("asked: why does the parser lose comments")
    assert other.text == "answered: no word of that any more"


def test_most_of_a_text_in_another_says_the_same() -> None:
    said = "we keep the old parser because the new one loses comments"
    assert is_said(shingles(said), shingles(f"As I wrote: {said}, so it stays."))
    assert not is_said(shingles(said), shingles("we keep the old lexer since it is fast"))


@pytest.mark.parametrize(
    ("wanted", "project", "is_it"),
    [
        ("/home/ada/shop", "/home/ada/shop", True),
        ("/home/ada/shop/", "/home/ada/shop/web", True),
        ("/home/ada/shop/web", "/home/ada/shop", True),
        ("/home/ada/shop", "/home/ada/shopping", False),
        ("shop", "/home/ada/Shop", True),
        ("shop", None, False),
    ],
)
def test_a_project_is_recognised_by_its_folder_or_part_of_its_name(
    wanted: str, project: str | None, is_it: bool
) -> None:
    assert is_project(wanted, project) is is_it


def test_the_cost_of_a_passage_includes_its_frame() -> None:
    source = Citation("c" * 36, "title", "/home/ada/shop", "m" * 36, None, "prompt")
    assert cost_of(RecalledPassage(source, "one\ntwo", False, 1.0, ())) > cost_of(
        RecalledPassage(source, "one two", False, 1.0, ())
    )
