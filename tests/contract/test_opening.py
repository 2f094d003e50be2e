"""How a store begins, is rebuilt while others read it, and ends."""

import pytest

from backscroll.errors import Busy, NothingFound
from backscroll.query.parse import parse
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING
from tests.contract.coverage import covers
from tests.contract.support import NOW, Desk

HELLO = {"S1": "a <- - user: hello"}


def count(store: Store) -> int:
    return len(store.within(EVERYTHING).chats(parse("", NOW), sort="newest", limit=None, offset=0))


@covers("exists", "start_writing", "close")
def test_a_store_exists_from_the_moment_that_it_is_written(closed_store: Store) -> None:
    found = [closed_store.exists]
    closed_store.start_writing()
    found.append(closed_store.exists)
    closed_store.close()
    found.append(closed_store.exists)
    assert found == [False, True, True]


@covers("problems", "take_notices", "size")
def test_a_missing_store_has_no_problems(closed_store: Store) -> None:
    with pytest.raises(NothingFound):
        closed_store.problems()
    assert closed_store.size() == 0
    Desk(closed_store.start_writing()).draw(HELLO)
    assert (closed_store.problems(), closed_store.take_notices()) == ([], [])
    assert closed_store.size() > 0


@covers("start_writing", "clone")
def test_one_writes_at_a_time(store: Store) -> None:
    with pytest.raises(Busy):
        store.clone().start_writing()
    store.close()
    other = store.clone()
    other.start_writing()
    other.close()


@covers("clone")
def test_others_see_what_was_written(desk: Desk) -> None:
    desk.draw(HELLO)
    other = desk.store.clone()
    assert count(other) == 1
    desk.draw({"S2": "b <- - user: else"})
    assert count(other) == 2
    other.close()


@covers("close")
def test_who_asks_goes_on_after_the_store_was_closed(desk: Desk) -> None:
    desk.draw(HELLO)
    reader = desk.reader
    assert reader.totals().chats == 1
    desk.store.close()
    assert reader.search(parse("hello", NOW), sort="relevance", limit=5, offset=0, hits=1).total_chats == 1
    assert reader.totals().chats == 1


@covers("rebuilding", "renew")
def test_readers_have_the_old_store_until_the_new_one_is_complete(desk: Desk) -> None:
    desk.draw(HELLO)
    reader = desk.store.clone()
    assert count(reader) == 1
    with desk.store.rebuilding():
        Desk(desk.store).draw({"S2": "b <- - user: else", "S3": "c <- - user: more"})
        assert (count(reader), count(desk.store)) == (1, 2)
    reader.renew()
    assert (count(reader), count(desk.store)) == (2, 2)
    reader.close()


@covers("rebuilding")
def test_a_rebuild_that_fails_leaves_the_store_as_it_was(desk: Desk) -> None:
    desk.draw(HELLO)
    with pytest.raises(ZeroDivisionError), desk.store.rebuilding():
        Desk(desk.store).draw({"S2": "b <- - user: else"})
        raise ZeroDivisionError
    desk.store.close()
    assert sorted(desk.store.indexed_files()) == ["S1"]


@covers("remove_superseded")
def test_removing_old_generations_keeps_the_one_in_use(desk: Desk) -> None:
    desk.draw(HELLO)
    desk.store.remove_superseded()
    assert desk.finds("hello") == "S1: a title"


@covers("discard")
def test_nothing_is_left_of_a_store_that_was_discarded(desk: Desk) -> None:
    desk.draw(HELLO)
    desk.store.discard()
    assert not desk.store.exists
    assert desk.store.size() == 0
