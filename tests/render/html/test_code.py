"""Code keeps every character; only colours are added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.code import (
    LANGUAGES,
    LONGEST_LINE,
    MAX_HIGHLIGHTED,
    code,
    highlight,
    highlight_lines,
    language_names,
    load_lexer,
    normalize_text,
    parse_language,
)
from tests.render.html.markup_parser import assert_harmless, look


def test_every_language_has_its_lexer() -> None:
    assert [name for name in sorted(LANGUAGES) if load_lexer(name) is None] == []
    assert set(language_names().aliases.values()) | set(language_names().suffixes.values()) <= LANGUAGES


def test_a_language_is_known_by_its_name() -> None:
    expected = '<span class="c-keyword">return </span><span class="c-number">1</span>'
    assert highlight("return 1", "python") == highlight("return 1", "PY title=x") == expected


@pytest.mark.parametrize(
    "file",
    ["a.py", "/x/y.z/A.PY", "C:\\x\\a.py", "a.rs", "Dockerfile", "/x/Makefile", "a.tsx", "a.cs", "a.jsonl", "a.h"],
)
def test_a_language_is_known_by_a_file(file: str) -> None:
    source = 'FROM x\na: b\nclass A { return "x" }\n# c\n// d\n'
    assert "<span" in highlight(source, file=file)


@pytest.mark.parametrize("name", ["", "klingon", "text", "../../etc", "<script>", "x" * 10_000, "\x00", "None"])
def test_unknown_languages_are_plain(name: str) -> None:
    assert highlight("return <1>", name, f"a.{name}") == "return &lt;1&gt;"


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * MAX_HIGHLIGHTED,
        "x = '" + "a" * LONGEST_LINE,
        "x\n" + "\n" * 50,
        "x" + " " * 600 + "y",
        "/*\n" * 30,
    ],
)
def test_long_or_odd_code_is_plain(text: str) -> None:
    assert "<span" not in highlight(text, "c")
    assert look(highlight(text, "c")).text == normalize_text(text)


def test_what_makes_delicate_lexers_slow_is_plain() -> None:
    assert "<span" in highlight("class a {}", "java")
    assert "<span" not in highlight("class a {}" + "a\n" * 50, "java")
    assert "<span" in highlight("x = 1\n" + "a\n" * 50, "python")


def test_lines_are_numbered_from_the_given_line() -> None:
    shown = code("a\n\nb\n", file="x.txt", first_line=9)
    assert look(shown).values("data-line") == ["9", "10", "11"]
    assert look(shown).text == "a\n\nb"


def test_a_comment_over_several_lines_is_closed_in_each() -> None:
    for line in highlight("/* a\n b */ x", "c").split("\n"):
        assert_harmless(line)


def test_the_language_of_a_fence_is_a_word_or_nothing() -> None:
    assert [parse_language(name) for name in ("Python", "{.js}", " ts file=x", "", "  ", "{}", "x" * 31, "a\x00")] == [
        "python",
        "js",
        "ts",
        "",
        "",
        "",
        "",
        "",
    ]


@given(st.text(st.characters(codec=None), max_size=300), st.sampled_from(sorted(LANGUAGES)))
def test_no_character_is_lost_or_added(text: str, language: str) -> None:
    lines = highlight_lines(text, language)
    assert "\n".join("".join(piece for _, piece in line) for line in lines) == normalize_text(text)
    assert look(highlight(text, language)).text == normalize_text(text)


@given(st.text(st.characters(codec=None)), st.text(max_size=10), st.text(max_size=10))
def test_any_code_is_harmless(text: str, language: str, file: str) -> None:
    assert_harmless(code(text, language, file, first_line=1))
    assert_harmless(code(text, "html", file))
