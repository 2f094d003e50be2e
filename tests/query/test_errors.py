"""Invalid queries: the error, its position, and the hint."""

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import UsageError
from backscroll.query.errors import QueryError, cells, point_at
from backscroll.query.parse import MAX_DEPTH, MAX_LENGTH, parse
from backscroll.render.terminal import clean
from tests.query.texts import query_texts

NOW = datetime(2026, 3, 10, 15, 30, tzinfo=UTC)


def error(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse(text, NOW)
    return caught.value


@pytest.mark.parametrize(
    ("text", "spot", "problem", "hint"),
    [
        ('a "b c', '"b', "quotation mark is never closed", 'add a "'),
        ('project:"b c', '"b', "quotation mark is never closed", 'add a "'),
        ('a ""', '""', "nothing between", "write some words"),
        ('"a b"*', "*", "only a word", "fil*"),
        ("a (b c", "(", "never closed", "add a )"),
        ("a b) c", ")", "never opened", "quotation marks"),
        ("a ()", "()", "nothing in these parentheses", "quotation marks"),
        ("a OR", "OR", "nothing after OR", '"OR"'),
        ("(a OR ) b", "OR", "nothing after OR", "remove it"),
        ("OR a", "OR", "nothing before OR", '"OR"'),
        ("a OR OR b", "OR b", "nothing before OR", "remove it"),
        ("a AND", "AND", "nothing after AND", '"AND"'),
        ("a NOT", "NOT", "nothing after NOT", '"NOT"'),
        ("is:(error|)", "|", "nothing after |", "remove it"),
        ("x proejct:shop", "proejct", "no field proejct:", "did you mean project:?"),
        ("tags:x", "tags", "no field tags:", "did you mean tag:?"),
        ("befroe:today", "befroe", "no field befroe:", "did you mean before:?"),
        ("x project: shop", "project", "project: has no value", "project:shop"),
        ('x project:""', "project", "project: has no value", "without a space"),
        ("is:error|", "|", "is: has no value", "is:error"),
        ("is:eror", "eror", "is: does not have", "did you mean is:error? It can be error, agent"),
        ("role:asistant", "asistant", "role: does not have", "did you mean role:assistant?"),
        ("has:(diff OR colours)", "colours", "has: does not have", "it can be image"),
        ("cost:much", "much", "not a number", "cost:>1.50"),
        ("cost:>", ">", "not a number", "cost:>1.50"),
        ("cost:>1k", ">1k", "plain number", "cost:>1.50"),
        ("tokens:-1", "-1", "not a number", "tokens:>=10k"),
        ("tokens:" + "9" * 400, "9", "too large", "tokens:>=10k"),
        ("since:soon", "soon", "not a time", "2026-01-05"),
        ("since:99999999999w", "9", "not a time", "2026-01-05"),
        (f"since:{'9' * 5000}d", "9", "not a time", "2026-01-05"),
        ("after:0001-01-01T00:00+05:00", "0001", "not a time", "2026-01-05"),
        ("after:>2026-01-05", ">", "not take a comparison", "before:2026-01-05"),
        ("x /a(b/", "(", "not valid: missing )", '"/tmp/"'),
        ("/a**/", "*/", "not valid: multiple repeat", '"/tmp/"'),
        ("/a{99999999999999999999}/", "a{", "too complex", '"/tmp/"'),
        ("/a(?=b)/", "(?=", "not supported", "lookaround"),
        ("/(a)\\1/", "\\1", "not supported", "backreferences"),
        (f"/{'a' * 1001}/", "a", "too long", "1,000"),
        ("a OR /tmp/", "/tmp", "cannot be used in an OR", '"/tmp/"'),
        ("-(a /b/)", "/b", "in parentheses after NOT", "/one|other/"),
        ("a \udcff", "\udcff", "not text", "UTF-8"),
    ],
)
def test_errors_point_at_their_position(text: str, spot: str, problem: str, hint: str) -> None:
    found = error(text)
    assert problem in found.problem
    assert hint in found.hint
    assert text.startswith(spot, found.start)


def test_a_query_that_is_too_long_or_too_deep_is_an_error() -> None:
    assert "too long" in error("a " * MAX_LENGTH).problem
    assert "too deep" in error("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1)).problem
    assert "too deep" in error("is:(" + "(" * MAX_DEPTH).problem


def test_a_problem_looks_right_in_a_terminal() -> None:
    found = error("project:shop is:eror timeout")
    assert isinstance(found, UsageError)
    assert f"backscroll: {clean(found.message)}\n  next: {clean(found.hint)}" == (
        "backscroll: is: does not have this value\n"
        "    project:shop is:eror timeout\n"
        "                    ^\n"
        "  next: did you mean is:error? It can be error, agent, abandoned, archived, live, pinned"
    )


@pytest.mark.parametrize(
    ("text", "shown", "column"),
    [
        ("日本 OR", "日本 OR", 5),
        ("a\tb\nOR", "a b OR", 4),
        ("\x1b[1m\x00 OR", "?[1m? OR", 6),
        ("e\u0301 OR", "é OR", 2),
        ("x\u0332y OR", "x\u0332y OR", 3),
        ("\u1112\u1161\u11ab OR", "한 OR", 3),
        ("\u202ex\u2066 OR", "?x? OR", 4),
        ("❤\ufe0f OR", "❤ OR", 2),
    ],
)
def test_the_caret_is_under_the_error_after_any_text(text: str, shown: str, column: int) -> None:
    _, line, caret = clean(error(text).message).split("\n")
    assert line == f"    {shown}"
    assert caret == "    " + " " * column + "^"


def test_of_a_long_query_the_part_around_the_spot_is_shown() -> None:
    _, line, caret = error("word " * 100 + "is:eror " + "word " * 100).message.split("\n")
    assert line.startswith("    ...")
    assert line.endswith("...")
    assert len(line) < 90
    assert line[caret.index("^") :].startswith("eror word")


@given(st.text(), st.data())
def test_the_caret_is_never_outside_of_the_line(text: str, data: st.DataObject) -> None:
    spot = data.draw(st.integers(0, len(text)))
    line, caret = point_at(text, spot).split("\n")
    assert clean(line) == line
    assert caret.strip() == "^"
    assert 4 <= caret.index("^") <= cells(line)
    assert all(unicodedata.category(character) != "Cc" for character in line)


@given(st.one_of(st.text(), query_texts()))
def test_every_error_points_at_a_character_of_the_query(text: str) -> None:
    try:
        parse(text, NOW)
    except QueryError as found:
        assert 0 <= found.start < len(text)
        assert found.problem.isprintable()
        assert found.hint.isprintable()
        assert len(clean(found.message).split("\n")) == 3
