"""A search answers from one state of the index, whatever another process writes while it runs."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from backscroll.query.parse import parse
from backscroll.store.batches import Batch
from backscroll.store.local.store import LocalStore
from backscroll.store.reader import EVERYTHING, Facets, PendingCounts, SearchPage, StoreReader
from tests.contract.support import NOW, Desk

HOME: Final = {
    "S1": "a <- - user: the zebra runs\nb <- a assistant: a zebra is striped\ncustom-title: zebra",
    "S2": "c <- - user: another zebra",
}
LEAST_STATEMENTS: Final = 6
"""A search reads rows this often, at least; with fewer, the sweep tries nothing."""


def removes(desk: Desk) -> None:
    """Rows and words."""
    desk.remove("S1")


def removes_rows(desk: Desk) -> None:
    """As an update does before the words follow."""
    batch = Batch()
    batch.removed.append(desk.numbers["S1"])
    batch.stale_chats |= desk.store.chats_of(batch.removed)
    desk.store.write(batch)


def adds(desk: Desk) -> None:
    """Another chat, and words for it."""
    desk.draw({"S3": "d <- - user: a third zebra"})


def adds_rows(desk: Desk) -> None:
    desk.draw({"S3": "d <- - user: a third zebra"}, is_searchable=False)


def grows(desk: Desk) -> None:
    """Read again from its beginning, as a file that was rewritten."""
    desk.remove("S1")
    desk.draw({"S1": HOME["S1"] + "\ne <- b user: one more zebra"})


WRITERS: Final = (removes, removes_rows, adds, adds_rows, grows)
Ask = Callable[[StoreReader], tuple[SearchPage, Facets | None, PendingCounts | None]]


def _page(reader: StoreReader, sort: str) -> SearchPage:
    return reader.search(parse("zebra", NOW), sort=sort, limit=20, offset=0, hits=20)


def asks_by_rank(reader: StoreReader) -> tuple[SearchPage, None, None]:
    return _page(reader, "relevance"), None, None


def asks_by_time(reader: StoreReader) -> tuple[SearchPage, None, None]:
    return _page(reader, "newest"), None, None


def asks_everything(reader: StoreReader) -> tuple[SearchPage, Facets, PendingCounts]:
    with reader.snapshot():
        page = _page(reader, "relevance")
        return page, reader.facets(parse("zebra", NOW), {}), reader.pending()


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("ask", [asks_by_rank, asks_by_time, asks_everything])
def test_a_writer_between_any_two_statements_does_not_divide_an_answer(
    tmp_path: Path, write: Callable[[Desk], None], ask: Ask
) -> None:
    for number in count():
        folder = tmp_path / str(number)
        desk = Desk(LocalStore(folder).start_writing()).draw(HOME)
        reader = LocalStore(folder)
        asked = reader.within(EVERYTHING)
        before = _told(ask(asked))
        has_written = _run_at(reader, number, lambda desk=desk: write(desk))  # type: ignore[misc]
        page, facets, pending = ask(asked)
        reader.connection.exec_trace = None
        _check(page, facets)
        if has_written:
            assert _told((page, facets, pending)) in (before, _told(ask(asked)))
        reader.close()
        desk.store.close()
        if not has_written:
            assert number >= LEAST_STATEMENTS
            return


def _run_at(store: LocalStore, number: int, action: Callable[[], None]) -> list[int]:
    """Run something before a statement of a reader, counted from 0; the list is empty until it has run."""
    counter, done = count(), list[int]()

    def trace(*_: Any) -> bool:  # noqa: ANN401
        if next(counter) == number:
            done.append(number)
            action()
        return True

    store.connection.exec_trace = trace
    return done


def _check(page: SearchPage, facets: Facets | None) -> None:
    """What is counted is shown."""
    assert page.total_chats == len(page.chats)
    assert page.total == sum(chat.found for chat in page.chats)
    assert [len(chat.hits) for chat in page.chats] == [chat.found for chat in page.chats]
    assert facets is None or facets.total == page.total == sum(facets.roles.values())


def _told(answer: tuple[SearchPage, Facets | None, PendingCounts | None]) -> object:
    """The answer without scores, which depend on passages that are not in it."""
    page, facets, pending = answer
    found = sorted((chat.chat.overview.id, sorted(hit.uuid or "" for hit in chat.hits)) for chat in page.chats)
    return found, page.total, facets and sorted(facets.roles.items()), pending
