"""Words that stand out: what is said in one place more than elsewhere."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.library.analytics.prompts import prompts
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.topics import LEAST_CHATS, WORDS, log_odds, topics, words_of
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path


def chat(name: str, project: str, day: int, said: Sequence[str], title: str = "") -> dict[str, bytes]:
    """A chat in which these prompts were typed."""
    drawing, parent = f"@ cwd=/home/ada/{project} time=2026-01-{day:02}T10:00\n", "-"
    for number, text in enumerate(said):
        drawing += f"{name}p{number} <- {parent} user: {text}\n"
        drawing += f"{name}a{number} <- {name}p{number} assistant({name}m{number}): done\n"
        parent = f"{name}a{number}"
    drawing += f"ai-title: {title}\n" if title else ""
    return {session_path(name): jsonl(draw(drawing, session=name))}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    shelf = Shelf(tmp_path)
    for number in range(1, 5):
        shelf.write(chat(f"S{number}", "shop", 5, ["please fix the checkout of the cart", "and test the checkout"]))
        shelf.write(chat(f"B{number}", "blog", 14, ["write a post about gardening", "and test the page"], "Gardening"))
    shelf.write(chat("S9", "shop", 6, ["onlyonce onlyonce", "onlyonce again"]))
    shelf.update()
    return shelf.open()


def words(library: Library, by: str = "project", asked: ReportRequest | None = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in topics(library, asked or ReportRequest(zone=UTC), by).as_dicts():
        found.setdefault(row[by], []).append(row["word"])
    return found


def test_a_project_is_told_by_its_own_words(library: Library) -> None:
    found = words(library)
    assert found["/home/ada/shop"] == ["checkout", "cart", "fix"]
    assert {"gardening", "post", "write"} <= {*found["/home/ada/blog"]}
    # What is said everywhere, or in one chat only, does not stand out.
    assert not {"test", "onlyonce", "the", "please"} & {word for some in found.values() for word in some}


def test_a_week_is_told_by_its_own_words(library: Library) -> None:
    found = words(library, "week")
    assert found["2026-W02"][0] == "checkout"
    assert "gardening" in found["2026-W03"]


def test_what_is_chosen_is_compared_with_everything_else(library: Library) -> None:
    asked = ReportRequest(query=library.parse("project:shop"), zone=UTC)
    assert words(library, asked=asked) == {"/home/ada/shop": ["checkout", "cart", "fix"]}
    late = ReportRequest(since=datetime(2026, 1, 10, tzinfo=UTC), zone=UTC)
    assert list(words(library, asked=late)) == ["/home/ada/blog"]


def test_the_shares_are_of_prompts(library: Library) -> None:
    (row,) = (row for row in topics(library, ReportRequest(zone=UTC)).as_dicts() if row["word"] == "checkout")
    assert (row["chats"], row["prompts"], row["here_share"], row["elsewhere_share"]) == (4, 8, 0.8, 0.0)


def test_one_project_alone_has_nothing_to_stand_out_from(tmp_path: Path) -> None:
    shelf = (
        Shelf(tmp_path).write(chat("S1", "shop", 5, ["fix the cart"])).write(chat("S2", "shop", 5, ["fix the cart"]))
    )
    shelf.update()
    with shelf.open() as library:
        assert topics(library, ReportRequest(zone=UTC)).rows == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fix the Menü of <b>carts</b> in src/app.py, see https://x.y/z", ["fix", "menu", "carts"]),
        ("id 4f8c9912 and utf8 of 2026", ["utf8"]),
        ("yes, thanks! I think we want it", []),
        ("八字古籍 の整理", ["八字", "字古", "古籍", "整理"]),
        ("order_test and well-known", ["order_test", "well-known"]),
    ],
)
def test_the_words_of_a_text(text: str, expected: list[str]) -> None:
    assert [*words_of(text)] == expected


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_the_score_is_of_the_side_with_the_larger_share(here: int, more: int, rest: int, others: int) -> None:
    size, other = here + more + 1, rest + others + 1
    score = log_odds(here, size, rest, other)
    assert abs(score + log_odds(rest, other, here, size)) < 1e-9
    if here or rest:
        difference = here / size - rest / other
        assert difference == 0 or (score > 0) == (difference > 0) or abs(score) < 1e-9


def test_real_prompts_have_topics_that_can_be_counted_again(corpus_library: Library) -> None:
    report = topics(corpus_library, ReportRequest(zone=UTC))
    total = prompts(corpus_library, ReportRequest(zone=UTC)).facts["total"]
    assert report.facts["all_prompts"] == report.facts["prompts"] == total["prompts"]
    assert report.rows
    groups: dict[str, int] = {}
    for row in report.as_dicts():
        groups[row["project"]] = groups.get(row["project"], 0) + 1
        assert row["chats"] >= LEAST_CHATS
        assert row["here_share"] > row["elsewhere_share"]
    assert max(groups.values()) <= WORDS
