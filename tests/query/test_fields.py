"""The table of fields, and what is made from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.query.completion import complete, completions
from backscroll.query.fields import BY_NAME, FIELDS, FieldInfo, distance, help_lines, meant_field
from backscroll.query.parse import parse
from backscroll.query.tree import Field, leaves
from tests.query.test_errors import NOW
from tests.query.texts import query_texts

STATES = ["error", "agent", "abandoned", "archived", "live", "pinned"]


@pytest.mark.parametrize("info", FIELDS, ids=lambda info: info.name)
def test_every_field_is_described_and_its_example_asks_for_it(info: FieldInfo) -> None:
    assert info.help and info.help.isprintable()
    assert bool(info.choices) == (info.kind == "choice")
    [part] = leaves(parse(info.example, NOW).root)
    assert isinstance(part, Field)
    assert part.name == (info.same_as or info.name)
    for choice in info.choices:
        for name in (choice.name, *choice.aliases):
            [part] = leaves(parse(f"{info.name}:{name}", NOW).root)
            assert part == Field(info.name, "=", choice.name)


def test_no_two_names_are_the_same() -> None:
    assert len(BY_NAME) == len(FIELDS)
    for info in FIELDS:
        names = [name for choice in info.choices for name in (choice.name, *choice.aliases)]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(("value", "about"), [("error", "message"), ("live", "chat"), ("Pinned", "chat")])
def test_the_subject_of_is_depends_on_its_value(value: str, about: str) -> None:
    assert BY_NAME["is"].about_of(value) == about


def test_the_help_has_a_line_for_every_field_and_choice() -> None:
    lines = list(help_lines())
    assert len(lines) == len(FIELDS) + sum(len(info.choices) for info in FIELDS)
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("cost:>1.50 ") and line.endswith("in US dollars") for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pro|", ["project:"]),
        ("foo PRO|", ["project:"]),
        ("a -t|", ["title:", "tag:", "tool:", "tokens:"]),
        ("(a OR pro|", ["project:"]),
        ("foo| bar", []),
        ("is:|", STATES),
        ("is:a| x", ["agent", "abandoned", "archived"]),
        ("-IS:Er|", ["error"]),
        ("is:error,a|", []),
        ("is:(error OR a|", ["agent", "abandoned", "archived"]),
        ("is:(|", STATES),
        ("is:(-l|", ["live"]),
        ("role:us|", ["user"]),
        ("role:p|", ["prompt"]),
        ("project:sh|", []),
        ("http:|", []),
        ('"is:|', []),
        ('project:"is:|', []),
        ('"a b" is:l|', ["live"]),
        ("src/pro|", []),
    ],
)
def test_completions_at_the_cursor(text: str, expected: list[str]) -> None:
    cursor = text.index("|")
    assert completions(text.replace("|", ""), cursor) == expected


def test_after_a_bar_the_choices_start_again() -> None:
    assert completions("is:error|l", 10) == ["live"]


def test_an_empty_place_takes_any_field() -> None:
    assert completions("foo ", 4) == [f"{info.name}:" for info in FIELDS]


@pytest.mark.parametrize(("text", "start"), [("x is:er", 5), ("x pro", 2), ("-pro", 1), ("is:(error OR ag", 13)])
def test_what_a_completion_replaces_begins_where_the_word_does(text: str, start: int) -> None:
    assert complete(text, len(text)).start == start


@given(st.one_of(st.text(), query_texts()), st.integers(-2, 60))
def test_there_is_an_answer_at_every_cursor(text: str, cursor: int) -> None:
    start, options = complete(text, cursor)
    assert 0 <= start <= len(text)
    typed = text[start : max(0, cursor)].lower()
    assert all(option.startswith(typed) for option in options)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("proejct", "project"), ("projects", "project"), ("prjct", "project"), ("tags", "tag"), ("flie", "file")],
        *[("Modle", "model"), ("sesion", "session"), ("token", "tokens"), ("sinse", "since")],
        *[("host", None), ("node", None), ("http", None), ("std", None), ("as", None), ("hash", None), ("x", None)],
    ],
)
def test_a_typo_in_a_name_is_distinguished_from_another_word(word: str, expected: str | None) -> None:
    assert meant_field(word) == expected


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_slips_count_the_same_both_ways(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) == (one == other)
