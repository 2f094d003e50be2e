"""Queries and their trees, in small tables."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.query.errors import QueryError
from backscroll.query.parse import MAX_DEPTH, MAX_LENGTH, parse
from backscroll.query.tree import All, Either, Field, Not, Part, Phrase, Query, Regex, Word, leaves
from tests.query.texts import query_texts

NOW = datetime(2026, 3, 10, 15, 30, tzinfo=timezone(timedelta(hours=2)))


def check(text: str, *expected: Part) -> None:
    assert parse(text, NOW).root == All(expected)


def word(text: str) -> Word:
    return Word(text)


def must(text: str) -> Word:
    return Word(text, is_required=True)


def field(name: str, value: str) -> Field:
    return Field(name, "=", value)


def both(*texts: str) -> All:
    return All(tuple(Word(text) for text in texts))


def either(*texts: str) -> Either:
    return Either(tuple(Word(text) for text in texts))


@pytest.mark.parametrize(
    "text",
    [
        "getUserName snake_case dotted.name ENOENT",
        "src/a/b.py ./x ~/y a/ C:\\Users\\ada \\d \\\\server",
        "日本語 größe 🦀 naïve",
        "std::vector foo::bar http://x.y 12:30 TypeError: file:///etc tool::x key=value",
        "localhost:8080 host:8080 node:fs proejct: proejct::x is_ok:x",
        "foo() main(args) f(g(x)) parse(",
        'it\'s 5" a"b"',
        "--color -- - a-b *",
        "or and not oR ORDER ANDROID a|b",
        "// //x / /",
        "=> && != #12 @ada $HOME",
    ],
)
def test_a_word_is_kept_as_it_was_typed(text: str) -> None:
    check(text, *map(word, text.split()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deprec*", Word("deprec", prefix=True)),
        ("a**", Word("a*", prefix=True)),
        ("*", word("*")),
        ('"not found"', Phrase("not found")),
        ('"say \\"yes\\" \\\\ or \\d"', Phrase('say "yes" \\ or \\d')),
        ('"OR"', Phrase("OR")),
        ("-draft", Not(word("draft"))),
        ("NOT draft", Not(word("draft"))),
        ("NOT(draft)", Not(word("draft"))),
        ("NOT NOT draft", word("draft")),
        ("-(-draft)", word("draft")),
        ('-"first draft"', Not(Phrase("first draft"))),
        ("-(a b)", Not(both("a", "b"))),
        ("\\-rf", word("-rf")),
        ("\\/tmp/", word("/tmp/")),
        ('\\"x', word('"x')),
        ("\\(x)", word("(x)")),
        ("-\\-rf", Not(word("-rf"))),
    ],
)
def test_a_mark_means_something_at_the_beginning_of_a_term(text: str, expected: Part) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a OR b", [either("a", "b")]),
        ("a OR b OR c", [either("a", "b", "c")]),
        ("a OR (b OR c)", [either("a", "b", "c")]),
        ("x a OR b y", [word("x"), either("a", "b"), word("y")]),
        ("a AND b", [must("a"), must("b")]),
        ("+a b", [must("a"), word("b")]),
        ("+a +b", [must("a"), must("b")]),
        ("(a) (b)", [must("a"), must("b")]),
        ("+(a OR b) c", [either("a", "b"), word("c")]),
        ('+"a b" +is:error', [Phrase("a b"), field("is", "error")]),
        ("-+a", [Not(word("a"))]),
        ("+1 ++ \\+c c++", [word("+1"), word("++"), word("+c"), word("c++")]),
        ("a AND b OR c AND d", [Either((both("a", "b"), both("c", "d")))]),
        ("(a b) OR c", [Either((both("a", "b"), word("c")))]),
        ("(a (b)) c", [must("a"), must("b"), word("c")]),
        ("a OR -b", [Either((word("a"), Not(word("b"))))]),
        ("(a OR f(x))", [either("a", "f(x)")]),
        ("a\tOR\nb\u3000c", [either("a", "b"), word("c")]),
    ],
)
def test_or_joins_its_neighbours_and_and_joins_closer(text: str, expected: list[Part]) -> None:
    check(text, *expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/time ?out/", [Regex("time ?out")]),
        ("x /a+/ y", [word("x"), Regex("a+"), word("y")]),
        ("-/a+/", [Not(Regex("a+"))]),
        ("(/a+/)", [Regex("a+")]),
        ("/a\\/b\\\\/", [Regex("a/b\\\\")]),
        ("/\\p{Han}+/", [Regex("\\p{Han}+")]),
        ("/(?i)error/", [Regex("(?i)error")]),
        ("/usr/", [Regex("usr")]),
        ("/usr/lib", [word("/usr/lib")]),
        ("/usr/lib/", [word("/usr/lib/")]),
        ("/usr/lib/x or /a/", [word("/usr/lib/x"), word("or"), Regex("a")]),
        ("/compact", [word("/compact")]),
        ("/clear /compact", [word("/clear"), word("/compact")]),
        ("a / b / c", [word("a"), word("/"), word("b"), word("/"), word("c")]),
        ("/* x */", [Word("/", prefix=True), word("x"), word("*/")]),
        ('"/usr/"', [Phrase("/usr/")]),
        ("src/a/", [word("src/a/")]),
        ("/x/i", [word("/x/i")]),
    ],
)
def test_an_expression_is_distinguished_from_a_path_by_its_next_slash(text: str, expected: list[Part]) -> None:
    check(text, *expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("project:shop", field("project", "shop")),
        ("Project:Shop", field("project", "Shop")),
        ('project:"my shop"', field("project", "my shop")),
        ("project:-home-ada", field("project", "-home-ada")),
        ("file:/src/a.py", field("file", "/src/a.py")),
        ("title:f(x)", field("title", "f(x)")),
        ("tool:mcp__github", field("tool", "mcp__github")),
        ("role:user", field("role", "prompt")),
        ("role:ASSISTANT", field("role", "answer")),
        ("-is:error", Not(field("is", "error"))),
        ("session:4f8c", field("session", "4f8c")),
        ("cost:>1", Field("cost", ">", 1.0)),
        ("cost:<$0.5", Field("cost", "<", 0.5)),
        ("cost:2", Field("cost", "=", 2.0)),
        ("tokens:>=10k", Field("tokens", ">=", 10_000.0)),
        ("tokens:<=1.1M", Field("tokens", "<=", 1_100_000.0)),
        ("tokens:1,000_000", Field("tokens", "=", 1_000_000.0)),
        ("is:(error OR agent)", Either((field("is", "error"), field("is", "agent")))),
        ("is:(error | agent)", Either((field("is", "error"), field("is", "agent")))),
        ("is:error|agent", Either((field("is", "error"), field("is", "agent")))),
        ('project:"a|b"|c', Either((field("project", "a|b"), field("project", "c")))),
        ("is:((error) | agent OR live)", Either(tuple(field("is", name) for name in ("error", "agent", "live")))),
        ("-has:(image|diff)", Not(Either((field("has", "image"), field("has", "diff"))))),
    ],
)
def test_a_field_has_a_value_or_several(text: str, expected: Part) -> None:
    check(text, expected)


def test_values_in_parentheses_side_by_side_are_all_asked_for() -> None:
    check("is:(error -agent)", field("is", "error"), Not(field("is", "agent")))


@pytest.mark.parametrize(
    ("text", "comparison", "expected"),
    [
        ("after:2026-01-05", ">=", datetime(2026, 1, 4, 22, tzinfo=UTC)),
        ("since:2026-01-05", ">=", datetime(2026, 1, 4, 22, tzinfo=UTC)),
        ("before:2026-01-05", "<", datetime(2026, 1, 4, 22, tzinfo=UTC)),
        ("since:7d", ">=", datetime(2026, 3, 3, 13, 30, tzinfo=UTC)),
        ("before:today", "<", datetime(2026, 3, 9, 22, tzinfo=UTC)),
        ('after:"2026-01-05 10:00Z"', ">=", datetime(2026, 1, 5, 10, tzinfo=UTC)),
    ],
)
def test_a_day_is_its_beginning_in_the_zone_of_now(text: str, comparison: str, expected: datetime) -> None:
    [part] = parse(text, NOW).root.parts
    assert isinstance(part, Field)
    assert (part.name, part.comparison, part.value) == (
        "before" if comparison == "<" else "after",
        comparison,
        expected,
    )


def test_one_day_is_after_it_began_and_before_the_next() -> None:
    after, before = (part for part in leaves(parse("after:2026-01-05 before:2026-01-06", NOW).root))
    assert isinstance(after, Field) and isinstance(before, Field)
    assert isinstance(after.value, datetime) and isinstance(before.value, datetime)
    assert before.value - after.value == timedelta(days=1)


def test_every_part_has_its_position() -> None:
    text = '-foo* "a b" /c+/ is:error project:(x OR "y z")'
    found = [text[part.start : part.end] for part in leaves(parse(text, NOW).root, negated=True)]
    assert found == ["foo*", '"a b"', "/c+/", "is:error", "x", '"y z"']


def test_the_words_are_those_that_are_looked_for() -> None:
    query = parse('a -b (c* OR "d e") -(f g) a title:h /i/ -(-j)', NOW)
    assert query.words == ("a", "c", "d e", "j")


@pytest.mark.parametrize(("text", "expected"), [("", True), (" \n", True), ("-a", False), ("is:error", False)])
def test_a_query_is_empty_when_it_asks_for_nothing(text: str, expected: bool) -> None:
    assert parse(text, NOW).is_empty is expected


@given(st.one_of(st.text(), query_texts()))
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    try:
        assert isinstance(parse(text, NOW), Query)
    except QueryError as error:
        assert error.hint


@given(st.one_of(st.text(), query_texts()))
def test_the_tree_is_flat_and_its_positions_are_in_the_text(text: str) -> None:
    try:
        query = parse(text, NOW)
    except QueryError:
        return
    assert_flat(query.root)
    for leaf in leaves(query.root, negated=True):
        assert 0 <= leaf.start < leaf.end <= len(text)


def assert_flat(part: Part) -> None:
    match part:
        case Not(inner):
            assert not isinstance(inner, Not)
            assert_flat(inner)
        case All(parts) | Either(parts):
            for inner in parts:
                assert type(inner) is not type(part)
                assert not isinstance(inner, All | Either) or len(inner.parts) > 1
                assert_flat(inner)


def test_parentheses_may_be_nested_up_to_the_limit() -> None:
    check("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH, must("a"))
    deepest = "(x a OR -" * MAX_DEPTH + "b" + ")" * MAX_DEPTH
    assert len(list(leaves(parse(deepest, NOW).root, negated=True))) == 2 * MAX_DEPTH + 1


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "-(",
        "NOT ",
        "NOT(",
        "is:(",
        "a OR ",
        "/",
        "/ ",
        "/\\",
        '"',
        '\\"',
        "|",
        "is:error|",
        "f(",
        "-",
        "a/b ",
        "[",
        "a:",
    ],
)
def test_a_long_and_nasty_text_is_no_danger(piece: str) -> None:
    text = (piece * MAX_LENGTH)[:MAX_LENGTH]
    try:
        parse(text, NOW)
    except QueryError as error:
        assert len(error.message) < 400


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("rm -rf", "rf"),
        ("ls -la src", "la"),
        ("tail -f prices.txt", "f"),
        ("sudo tar -xzf a.tgz", "xzf"),
        ("go build -ldflags key", "ldflags"),
        ("find . -name x -type f", "name type"),
        ("npm i -g", "g"),
        ("docker run -i -t x", "i t"),
        ("-1.234,56", "1.234,56"),
        ("kill -9", "9"),
        ("docker -compose", ""),
        ("timeout -test", ""),
        ("cache -redis -is:agent", ""),
        ("style -css", ""),
        ("a -b", ""),
        ("-draft", ""),
        ("rm NOT rf", ""),
        ('rm -"rf"', ""),
    ],
)
def test_a_dash_excludes_unless_it_begins_an_option_and_then_it_is_said(text: str, flags: str) -> None:
    query = parse(text, NOW)
    words = [leaf.text for leaf in leaves(query.root) if isinstance(leaf, Word)]
    assert [name for name in words if name.startswith("-")] == [f"-{name}" for name in flags.split()]
    assert list(query.notes) == [
        f"searching for -{name} as text; write NOT {name} to leave it out" for name in flags.split()
    ]


@pytest.mark.parametrize("text", ["=>", "&& ||", '"!="', "… is:error", "😀"])
def test_a_query_of_signs_says_how_to_search_for_them(text: str) -> None:
    notes = parse(text, NOW).notes
    assert notes
    for note in notes:
        pattern = note.rpartition(" ")[2]
        assert parse(pattern, NOW).root.parts[0] == Regex(pattern.strip("/"), 0, len(pattern))


@pytest.mark.parametrize("text", ["find . x", "a => b", "is:error", "/=>/", "C#"])
def test_other_queries_say_nothing_about_signs(text: str) -> None:
    assert parse(text, NOW).notes == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foo AND =>", "=> has no letters or digits, so no word is like it; search for /=>/"),
        ('flaky "=> |"', "=> | has no letters or digits, so no word is like it; search for /=> \\|/"),
        ("🤔 explain", "🤔 has no letters or digits, so no word is like it; search for /🤔/"),
    ],
)
def test_signs_that_are_meant_are_said_beside_words_too(text: str, said: str) -> None:
    assert parse(text, NOW).notes == (said,)


@pytest.mark.parametrize("text", ["“flaky test”", "„flaky test“", "«flaky test»", '“flaky test"'])
def test_typographic_quotation_marks_make_a_phrase(text: str) -> None:
    check(f"a {text} b", word("a"), Phrase("flaky test"), word("b"))


@pytest.mark.parametrize("text", ["“", "“flaky", "“”", "5”", "«»"])
def test_typographic_quotation_marks_that_enclose_nothing_are_signs(text: str) -> None:
    check(text, word(text))


def test_what_cannot_be_seen_is_no_part_of_a_word() -> None:
    check("docker\u200bfile \ufeffsoft\u00adware", word("dockerfile"), word("software"))
