"""The piece of a text that is shown for a match."""

import re
from datetime import UTC, datetime
from typing import Final

import pytest

from backscroll.query.parse import parse
from backscroll.query.snippets import Highlighter

NOW: Final = datetime(2026, 1, 5, tzinfo=UTC)
MARKED: Final = (
    "<command-name>/rename</command-name>\n## Why **the parser** fails\n> use `lark` instead\n```py\nimport lark\n```"
)


def test_a_snippet_of_what_was_said_has_no_markup() -> None:
    snippet = Highlighter(parse("lark", NOW)).snippet(MARKED, is_said=True)
    assert snippet.text == "/rename Why the parser fails use lark instead import lark"
    assert [snippet.text[start:end] for start, end in snippet.highlights] == ["lark", "lark"]


def test_a_snippet_of_a_tool_result_is_unchanged() -> None:
    assert Highlighter(parse("lark", NOW)).snippet(MARKED).text == " ".join(MARKED.split())


def test_a_snippet_cuts_no_word() -> None:
    text = " ".join(["internationalisation/of/every/message/there/is"] * 40 + ["zebra"] + ["telecommunications"] * 40)
    for width in range(30, 200, 7):
        words = Highlighter(parse("zebra", NOW)).snippet(text, width).text.strip("…").split()
        assert "zebra" in words
        assert set(words) <= set(text.split()), width


def test_a_snippet_has_a_command_as_it_was_typed() -> None:
    name, message = "<command-name>/review</command-name>", "<command-message>review</command-message>"
    for text in (f"{message}\n{name}", f"{name}\n{message}"):
        shown = Highlighter(parse("review", NOW)).snippet(f"{text}\n<command-args>this</command-args>", is_said=True)
        assert shown.text == "/review this"


@pytest.mark.parametrize(
    ("query", "text", "highlighted"),
    [
        ("test", "the latest test of Testing, testTest and test_2", ["test", "test", "Test", "test"]),
        ("a", "a banana", ["a"]),
        ("server", "HTTPServer and HTTPServers", ["Server"]),
        ("pars*", "parse sparse", ["parse"]),
        ("c++", "c and c++ and C++", ["c++", "C++"]),
        (".env", "env.RepoDir, foo.env, .env-x and .env", [".env"]),
        ("--no-verify", "no-verify, push --no-verify", ["--no-verify"]),
        ("$HOME", "HOME and $HOME/.config", ["$HOME"]),
        ("八字古籍整理", "请帮我整理八字古籍", ["整理", "八字", "古籍"]),
        ("数据库连接", "数据库连接超时", ["数据库连接"]),
        ("데이터", "대여탕, 데이터베이스", ["데이터"]),
        ("データベース接続", "テーマ、データベースの接続", ["デー", "タベ", "ース", "接続"]),
        ("+古籍整理", "请帮我整理八字古籍", []),
        ("елка", "Ёлка", ["Ёлка"]),
        ("漢字", "この漢字です", ["漢字"]),
        ("grun", "Das Grün", ["Grün"]),
        ("tieng viet", "tiếng Việt", ["tiếng", "Việt"]),
    ],
)
def test_a_part_of_a_word_is_no_match(query: str, text: str, highlighted: list[str]) -> None:
    assert [text[start:end] for start, end in Highlighter(parse(query, NOW)).spans(text)] == highlighted


def test_a_snippet_keeps_what_was_found_in_a_long_name() -> None:
    text = f"{'and so on ' * 40}/home/.entire/tmp/pre-prompt-of-the-next-<session-id>.json {'and so on ' * 40}"
    snippet = Highlighter(parse("session_id", NOW)).snippet(text)
    assert [snippet.text[start:end] for start, end in snippet.highlights] == ["session-id"]


@pytest.mark.parametrize("edge", ["getEveryHookNameThereIs", "worktrees/2/mise-tasks/lint/hook/gofmtOfAll.go"])
def test_a_snippet_cuts_a_long_name_between_its_words(edge: str) -> None:
    words = set(re.findall("[A-Za-z0-9]+", f"zebra {edge}"))
    for width in range(30, 60):
        text = f"{edge}/zebra/{edge}/{edge}"
        shown = Highlighter(parse("zebra", NOW)).snippet(f"{'x' * 70}/{text}", width).text
        assert set(re.findall("[A-Za-z0-9]+", shown)) <= words | {"x" * 70}, width


def test_a_snippet_of_a_table_has_its_cells() -> None:
    table = "Changes:\n| File | Change |\n|------|:------:|\n| a.go | zebra |\n"
    shown = Highlighter(parse("zebra", NOW)).snippet(table, is_said=True)
    assert shown.text == "Changes: File | Change a.go | zebra"
