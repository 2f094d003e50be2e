"""What others share is asked as one library: the answers are those of their libraries, opened one by one."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import pytest

from backscroll.errors import UsageError
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.library.searching.search import FoundChat
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.people.teams import teammates
from backscroll.team.reading.shared_library import open_shared_by, opener_of_all
from backscroll.team.reading.shares import shared_with
from tests.support.samples import some
from tests.team.demo_served import DemoServed

QUERIES = (
    "shop", "flaky", "Dockerfile OR ledger", "test*", "/[Dd]ocker\\w+/", '"the order"', "the -shop",
    "tool:bash", "role:prompt", "is:error", "project:shop", "owner:ada shop", "owner:team the", "flakky", "nowhere",
)  # fmt: skip
HANDLES = ["ada", "ben", "liz"]
EVER = {"ever": datetime(2000, 1, 1, tzinfo=UTC)}


def test_what_others_share_cannot_be_asked_with_sql(demo: DemoServed) -> None:
    """A statement would read the whole library of its owner."""
    for handle in HANDLES:
        with _opened(demo, handle) as (together, each):
            assert together.sql("select count(*) > 0 from v_chats").rows == [(True,)]
            assert len(each) > 1
            for library in each[1:]:
                with pytest.raises(UsageError, match="what others share"):
                    library.sql("select 1")


@contextmanager
def _opened(demo: DemoServed, handle: str) -> Iterator[tuple[Library, list[Library]]]:
    """What a person sees, and the libraries that this is made of: their own, and what each other person shares."""
    context, person = demo.served.context, demo.person(handle)
    libraries = Libraries(demo.folder / "server", context.database)
    with context.database.transaction() as connection:
        shared = shared_with(connection, person)
        mates = teammates(connection, person)
    by_owner: dict[str, set[str]] = {}
    for one in shared:
        by_owner.setdefault(one.owner, set()).add(one.chat)
    with ExitStack() as stack:
        opener = opener_of_all(libraries, handle, mates, by_owner)
        together = stack.enter_context(opener(libraries.settings(handle), []))
        each = [stack.enter_context(libraries.to_read(handle))]
        for owner, chats in by_owner.items():
            each.append(stack.enter_context(open_shared_by(libraries, handle, owner, chats)))
        yield together, each


def _wanted(each: list[Library], demo: DemoServed, handle: str, query: str) -> list[Library]:
    """The libraries that a query is about; who is in a team, no library knows for itself."""
    if "owner:team" not in query:
        return each
    with demo.served.context.database.transaction() as connection:
        mates = teammates(connection, demo.person(handle))
    return [each[0], *(one for one in each[1:] if {chat.machines[0].split("/")[0] for chat in one.chats()} <= mates)]


@pytest.mark.parametrize("handle", HANDLES)
def test_a_search_of_everyone_finds_what_each_library_has(demo: DemoServed, handle: str) -> None:
    with _opened(demo, handle) as (together, each):
        for query in some(QUERIES, HANDLES.index(handle), share=3):  # each of them is asked by someone
            wanted = _wanted(each, demo, handle, query)
            for sort in ("relevance", "newest", "oldest"):
                found = together.search(query, sort=sort, limit=100)
                parts = [library.search(query, sort=sort, limit=100) for library in wanted]
                assert found.total_chats == sum(part.total_chats for part in parts), query
                assert found.total == sum(part.total for part in parts), query
                assert _chats(found.chats) == Counter(one for part in parts for one in _chats(part.chats).elements())
                if sort != "relevance":
                    shown = {one: texts for part in parts for one, texts in _texts(part.chats).items()}
                    assert _texts(found.chats) == shown, query
            asked = together.parse(query)
            if "/" not in query:
                counted = together.facets(asked, EVER)
                sums = [library.facets(asked, EVER) for library in wanted]
                for name in ("total", "roles", "since", "projects", "models", "machines"):
                    expected = [getattr(one, name) for one in sums]
                    if name == "total":
                        assert counted.total == sum(expected)
                    else:
                        assert Counter(getattr(counted, name)) == sum(map(Counter, expected), Counter()), (query, name)


@pytest.mark.parametrize("handle", HANDLES)
def test_a_list_of_everyone_has_what_each_library_has(demo: DemoServed, handle: str) -> None:
    with _opened(demo, handle) as (together, each):
        for query in ("", "shop", "owner:team", "owner:liz", "cost:>0", "is:error", "project:shop"):
            wanted = _wanted(each, demo, handle, query)
            expected = Counter(_named(chat) for library in wanted for chat in library.chats(query))
            assert Counter(map(_named, together.chats(query))) == expected, query
            assert together.count_chats(query) == expected.total()


def test_texts_of_others_are_read_in_their_archives(demo: DemoServed) -> None:
    with _opened(demo, "ben") as (together, _):
        found = together.search("owner:ada flaky", limit=1).chats[0]
        assert all(passage.snippet.text.strip() for passage in found.passages)
        assert "flaky" in together.text(found.passages[0].hit).lower()


def _named(chat: StoredChat) -> tuple[object, ...]:
    return chat.overview.id, chat.machines, chat.cost, chat.tokens


def _chats(found: list[FoundChat]) -> "Counter[tuple[object, ...]]":
    return Counter((one.chat.overview.id, one.chat.machines, one.found) for one in found)


def _texts(found: list[FoundChat]) -> dict[tuple[object, ...], list[str]]:
    return {
        (one.chat.overview.id, one.chat.machines): [passage.snippet.text for passage in one.passages] for one in found
    }
