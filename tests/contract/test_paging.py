"""Pages of results: for any query and home, every chat is on one page, in one order, and counted once."""

from random import Random
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.store.reader import ChatHits, PagePosition, chat_digest
from tests.contract.conftest import NewStore
from tests.contract.support import Desk, is_tried

VOCABULARY: Final = ("the", "not", "test", "tests", "flaky", "parser", "getUserName", "retry", "漢字", "zebra")
COMMONNESS: Final = (60, 40, 20, 8, 6, 5, 3, 2, 2, 1)
SORTS: Final = ("relevance", "newest", "oldest")
MANY: Final = 100


def home(seed: int, chats: int, messages: int) -> dict[str, str]:
    """Chats of frequent and rare words: some with more matches than compete for the best."""
    random = Random(seed)

    def text() -> str:
        return " ".join(random.choices(VOCABULARY, COMMONNESS, k=random.randint(1, 12)))

    drawings = {}
    for number in range(chats):
        lines, before = [f"@ time=2026-01-{number % 28 + 1:02}T10:{number % 60:02}"], "-"
        for place in range(random.randint(1, messages)):
            who = "user" if place % 2 == 0 else "assistant"
            lines.append(f"m{number}x{place} <- {before} {who}: {text()}")
            before = f"m{number}x{place}"
        drawings[f"S{number}"] = "\n".join([*lines, f"custom-title: {text()}"])
    return drawings


@pytest.fixture(scope="module")
def many(new_store: NewStore) -> Desk:
    return Desk(new_store()).draw(home(seed=1, chats=MANY, messages=16))


WORD: Final = st.sampled_from(VOCABULARY)
TERM: Final = st.one_of(
    WORD,
    WORD.map(lambda word: f"{word[:2]}*"),
    WORD.map(lambda word: f"-{word}"),
    WORD.map(lambda word: f"+{word}"),
    st.tuples(WORD, WORD).map(lambda words: f'"{words[0]} {words[1]}"'),
    st.tuples(WORD, WORD).map(lambda words: f"({words[0]} OR {words[1]})"),
    st.sampled_from(["role:answer", "is:agent", "after:2026-01-10"]),
)
QUERY: Final = st.lists(TERM, min_size=1, max_size=5).map(" ".join)


def names(chats: list[ChatHits]) -> list[str]:
    return [chat.chat.overview.id for chat in chats]


def walked(desk: Desk, query: str, sort: str, limit: int) -> list[str]:
    """Page by page with a position, to the end."""
    after, seen = None, []
    while True:
        page = desk.ask(query, sort=sort, limit=limit, hits=1, after=after)
        seen += names(page.chats)
        if not page.left:
            return seen
        assert page.chats
        after = PagePosition(page.newest, frozenset(map(chat_digest, seen)))


@given(query=QUERY, sort=st.sampled_from(SORTS), limit=st.integers(1, 40), offset=st.integers(0, 120))
def test_a_limit_only_limits_what_is_shown(many: Desk, query: str, sort: str, limit: int, offset: int) -> None:
    if not is_tried(many.store, query, sort, limit, offset):
        return
    whole = many.ask(query, sort=sort, limit=1000, hits=1)
    part = many.ask(query, sort=sort, limit=limit, offset=offset, hits=2)
    assert names(part.chats) == names(whole.chats)[offset : offset + limit]
    assert (part.total_chats, part.total) == (whole.total_chats, whole.total)
    assert part.left == max(0, whole.total_chats - offset - limit)
    assert whole.total_chats == len(whole.chats)
    assert whole.total == sum(chat.found for chat in whole.chats)
    assert all(chat.hits for chat in whole.chats)


@given(query=QUERY, sort=st.sampled_from(SORTS), limit=st.integers(3, 40))
def test_pages_one_after_the_other_are_the_whole(many: Desk, query: str, sort: str, limit: int) -> None:
    if not is_tried(many.store, query, sort, limit):
        return
    assert walked(many, query, sort, limit) == names(many.ask(query, sort=sort, limit=1000, hits=1).chats)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000), chats=st.integers(1, 12), query=QUERY, sort=st.sampled_from(SORTS))
def test_the_same_holds_for_any_home(desk: Desk, seed: int, chats: int, query: str, sort: str) -> None:
    if not is_tried(desk.store, seed, chats, query, sort):
        return
    desk.clear()
    desk.draw(home(seed, chats, messages=5))
    whole = desk.ask(query, sort=sort, limit=1000, hits=1)
    assert walked(desk, query, sort, 2) == names(whole.chats)
    assert whole.total_chats == len(whole.chats)


@pytest.mark.parametrize("sort", SORTS)
def test_what_arrives_meanwhile_shifts_no_page(new_store: NewStore, sort: str) -> None:
    desk = Desk(new_store()).draw(home(seed=2, chats=30, messages=4))
    query = "test the parser"
    whole = names(desk.ask(query, sort=sort, limit=1000).chats)
    first = desk.ask(query, sort=sort, limit=5)
    seen = names(first.chats)
    desk.draw({"N1": "n1 <- - user: test the parser", "N2": "@ time=2020-01-01T10:00\nn2 <- - user: test the parser"})
    assert desk.ask(query, sort=sort, limit=5).total_chats == first.total_chats + 2
    while True:
        page = desk.ask(query, sort=sort, limit=5, after=PagePosition(first.newest, frozenset(map(chat_digest, seen))))
        assert page.total_chats == first.total_chats
        seen += names(page.chats)
        if not page.left:
            break
    assert len(seen) == len(whole)
    assert set(seen) == set(whole)
