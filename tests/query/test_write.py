"""From a tree back to text, and text with one field more."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backscroll.query.errors import QueryError
from backscroll.query.parse import MAX_DEPTH, parse
from backscroll.query.tree import All, Field, Not, Part, Query, Word
from backscroll.query.write import with_field, write
from tests.query.texts import queries, query_texts

NOW = datetime(2026, 3, 10, 15, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a   b ", "a b"),
        ("a AND (b)", "+a +b"),
        ("(a b) +c d", "+a +b +c d"),
        ("+(a OR b) +x:y \\+c ++ +1", "a OR b +x:y \\+c ++ +1"),
        ("rm -rf x", "rm \\-rf x"),
        ("x (a OR b)", "x a OR b"),
        ("(a b) OR c", "a AND b OR c"),
        ("(a (b OR c)) OR d", "(a b OR c) OR d"),
        ("NOT (a OR b)", "-(a OR b)"),
        ("NOT --color", "-\\--color"),
        ("/usr/lib /compact", "/usr/lib \\/compact"),
        ("is:(error|agent)", "is:error OR is:agent"),
        ('project:"shop"', "project:shop"),
        ("since:7d", "after:7d"),
        ("tokens:>=10k", "tokens:>=10k"),
        ("(b OR f( )", "b OR f("),
        ("-(b OR f( )", "-(b OR f( )"),
    ],
)
def test_written_queries_are_plain(text: str, expected: str) -> None:
    assert write(parse(text, NOW)) == expected


@given(st.one_of(queries(), query_texts()))
def test_written_queries_are_parsed_to_the_same_tree(text: str) -> None:
    try:
        query = parse(text, NOW)
    except QueryError:
        assume(False)
    written = write(query)
    assert parse(written, NOW) == query
    assert write(parse(written, NOW)) == written


@pytest.mark.parametrize("piece", ["(x a OR ", "(a AND (b OR c) OR ", "-(x ", "(f( OR "])
def test_written_queries_are_not_nested_deeper_than_typed_ones(piece: str) -> None:
    deep = MAX_DEPTH - piece.count("(b")
    query = parse(piece * deep + "z" + " )" * deep, NOW)
    assert parse(write(query), NOW) == query


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Field("after", ">=", datetime(2026, 1, 5, tzinfo=UTC)), "after:2026-01-05T00:00:00+00:00"),
        (Field("cost", ">", 0.0000001), "cost:>0.0000001"),
        (Field("tokens", "=", 1e6), "tokens:1000000.0"),
        (Field("project", "=", 'a "b"'), 'project:"a \\"b\\""'),
        (Not(Field("is", "=", "error")), "-is:error"),
    ],
)
def test_a_tree_that_was_never_typed_is_written_too(part: Part, expected: str) -> None:
    query = Query("", All((part,)))
    assert write(query) == expected
    assert parse(expected, NOW) == query


@pytest.mark.parametrize(
    ("text", "name", "value", "expected"),
    [
        ("", "project", "shop", "project:shop"),
        ("a OR b", "project", "shop", "project:shop a OR b"),
        ("/compact", "file", "src/", "file:src/ /compact"),
        ("a", "project", "my shop", 'project:"my shop" a'),
        ("a", "project", 'x" OR is:error', 'project:"x\\" OR is:error" a'),
        ("a", "title", "b|c", 'title:"b|c" a'),
        ("a", "file", "//x", 'file:"//x" a'),
        ("a", "cost", ">1", "cost:>1 a"),
        ("a", "since", "2026-01-05 10:00", 'since:"2026-01-05 10:00" a'),
    ],
)
def test_a_field_is_added_with_its_quotation_marks(text: str, name: str, value: str, expected: str) -> None:
    assert with_field(text, name, value) == expected


VISIBLE = st.text(st.characters(exclude_characters="\u00ad\u200b\u2060\ufeff"), min_size=1)
"""Texts without the characters that a query drops, since they come along when something is pasted."""


@given(queries(), VISIBLE)
def test_a_field_that_is_added_asks_for_it_and_for_all_that_was_asked(text: str, value: str) -> None:
    try:
        before = parse(text, NOW)
        longer = with_field(text, "title", value)
    except QueryError:
        assume(False)
    assert parse(longer, NOW).root.parts == (Field("title", "=", value), *before.root.parts)


@pytest.mark.parametrize("text", ["OR b", "a OR", "NOT", '"a', "(a"])
def test_a_field_never_mends_a_broken_query(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        with_field(text, "project", "shop")
    assert caught.value.query == text


@pytest.mark.parametrize(("name", "value"), [("project", ""), ("is", "eror"), ("since", "soon"), ("cost", "much")])
def test_an_invalid_value_is_an_error_at_once(name: str, value: str) -> None:
    with pytest.raises(QueryError):
        with_field("a", name, value)


def test_a_field_that_there_is_not_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="colour"):
        with_field("a", "colour", "red")


def test_parts_are_equal_at_any_position() -> None:
    assert Word("a", start=3, end=4) == Word("a")
