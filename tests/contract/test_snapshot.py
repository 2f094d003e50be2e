"""Several questions can be answered from one state of the store."""

from backscroll.query.parse import parse
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, StoreReader
from tests.contract.coverage import covers
from tests.contract.support import NOW, Desk

QUERY = parse("zebra", NOW)


def answers(reader: StoreReader) -> object:
    page = reader.search(QUERY, sort="relevance", limit=20, offset=0, hits=20)
    found = [(chat.chat.overview.id, chat.found, len(chat.hits)) for chat in page.chats]
    facets = reader.facets(QUERY, {})
    chats = [chat.overview.id for chat in reader.chats(None, sort="newest", limit=None, offset=0)]
    return found, page.total, facets.total, reader.pending(), chats, reader.count_chats(None), reader.totals()


@covers("snapshot")
def test_what_is_written_meanwhile_is_seen_afterwards(store: Store) -> None:
    desk = Desk(store).draw({"S1": "a <- - user: the zebra runs", "S2": "b <- - user: another zebra"})
    other = store.clone()
    reader = other.within(EVERYTHING)
    with reader.snapshot():
        before = answers(reader)
        desk.draw({"S3": "c <- - user: a third zebra"})
        desk.remove("S1")
        with reader.snapshot():
            assert answers(reader) == before
        assert answers(reader) == before
    assert answers(reader) == answers(desk.reader) != before
    other.close()


@covers("snapshot")
def test_a_snapshot_may_be_left_with_an_error(store: Store) -> None:
    desk = Desk(store).draw({"S1": "a <- - user: the zebra runs"})
    before = answers(desk.reader)
    try:
        with desk.reader.snapshot():
            raise LookupError
    except LookupError:
        desk.draw({"S2": "b <- - user: another zebra"})
    assert answers(desk.reader) != before
