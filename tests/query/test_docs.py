"""The reference of the query language is true: its tables are those of the code, and its examples are queries."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backscroll.query.errors import QueryError
from backscroll.query.fields import FIELDS, FieldInfo
from backscroll.query.parse import MAX_DEPTH, MAX_LENGTH, parse
from backscroll.query.patterns import MAX_PATTERN

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "query.md").read_text(encoding="utf-8")
NOW = datetime(2026, 3, 10, 15, 30, tzinfo=UTC)


def fields_table() -> str:
    rows = [f"| `{info.name}` | {info.kind} | {info.about} | {info.help} | `{info.example}` |" for info in FIELDS]
    return "\n".join(["| field | kind | about | meaning | example |", "|---|---|---|---|---|", *rows])


def choices_table(info: FieldInfo) -> str:
    rows = []
    for choice in info.choices:
        others = ", ".join(f"`{info.name}:{alias}`" for alias in choice.aliases)
        rows.append(f"| `{info.name}:{choice.name}` | {choice.about or info.about} | {choice.help} | {others} |")
    return "\n".join([f"| `{info.name}` | about | meaning | also |", "|---|---|---|---|", *rows])


def rows_after(heading: str) -> list[tuple[str, str]]:
    """The first two columns of the table in this section, where both are code."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `` ?(.+?) ?`` \| `` ?(.+?) ?`` \|", section.replace("\\|", "|"), re.MULTILINE)


def test_the_table_of_fields_is_the_one_in_the_code() -> None:
    assert fields_table() in PAGE, f"put this into docs/reference/query.md:\n{fields_table()}"


@pytest.mark.parametrize("info", [info for info in FIELDS if info.choices], ids=lambda info: info.name)
def test_the_choices_of_a_field_are_those_in_the_code(info: FieldInfo) -> None:
    assert choices_table(info) in PAGE, f"put this into docs/reference/query.md:\n{choices_table(info)}"


def test_every_example_is_a_query() -> None:
    examples = "\n".join(re.findall(r"```query\n(.*?)```", PAGE, re.DOTALL)).splitlines()
    assert len(examples) > 5
    for line in examples:
        parse(line.split("   ")[0], NOW)


@pytest.mark.parametrize(("written", "meant"), rows_after("How it is read"))
def test_documented_synonyms_are_equal(written: str, meant: str) -> None:
    assert parse(written, NOW) == parse(meant, NOW)


def test_there_are_such_pairs() -> None:
    assert len(rows_after("How it is read")) > 5


def test_an_error_looks_as_the_page_shows_it() -> None:
    with pytest.raises(QueryError) as caught:
        parse("timeout proejct:shop", NOW)
    assert f"backscroll: {caught.value.message}\n  next: {caught.value.hint}\n" in PAGE


@pytest.mark.parametrize("limit", [MAX_LENGTH, MAX_PATTERN, MAX_DEPTH])
def test_the_limits_are_those_in_the_code(limit: int) -> None:
    assert f"{limit:,}" in PAGE.split("## Limits\n", 1)[1]
