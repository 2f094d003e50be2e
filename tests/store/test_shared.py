"""What several people share, asked as one index: the answers are those of each of their indexes together."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Final

import psycopg
import pytest

from backscroll.errors import UsageError
from backscroll.store.postgres import shared_rows
from backscroll.store.postgres.roles import SHARED_READER
from backscroll.store.postgres.shared import SharedStore
from backscroll.store.postgres.sql_query import SHIFT
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import Hit, Scope, StoredChat, StoreReader
from tests.contract.support import Desk
from tests.contract.test_scope import FIELDS, HIDDEN, VISIBLE, WORDS, query
from tests.support.drawings import session_uuid
from tests.support.postgres import database, migrated, new_organisation, postgres
from tests.support.samples import some

__all__ = ["database", "migrated", "postgres"]

MORE: Final = {
    "S6": """
        @ cwd=/home/eve/bank time=2026-02-03T10:00
        a <- - user: the quagga of the parser
        b <- a assistant(m9): a quagga, and pears
        """,
    "S7": """
        @ cwd=/home/eve/bank time=2026-02-04T10:00
        c <- - user: grapefruit
        d <- c assistant(m8): parsers of grapefruit
        """,
}
SHARED: Final = ({"S1", "S2"}, {"S2", "S4", "S4/x1"}, {"S6"})
"""The files that the first three people share: the second has copies of what the first has, and shares other chats."""
WALLS: Final = ["both walls", "row-level security alone"]
SORTS: Final = ["relevance", "newest", "oldest"]
ORDERS: Final = ("newest", "oldest", "title", "messages", "cost", "active")


@pytest.fixture(scope="module")
def desks(migrated: str) -> Iterator[list[Desk]]:
    """Four people: the last one has the same and shares nothing."""
    made = []
    for drawings in (VISIBLE | HIDDEN, VISIBLE | HIDDEN, MORE, VISIBLE | HIDDEN | MORE):
        store = PgStore(migrated, new_organisation()).start_writing()
        store.use_prices(lambda answer: answer.output * 100, "cheap")
        made.append(Desk(store).draw(drawings, abandoned="D"))
    made[0].draw({"S9": "z <- - user: a later zebra"}, is_searchable=False)
    made[2].draw({"S6/y": "y <- - user: not yet searchable"}, is_searchable=False)
    yield made
    for desk in made:
        desk.store.close()


def _number(desk: Desk) -> int:
    assert isinstance(desk.store, PgStore)
    return desk.store.org


def _shared_store(desks: list[Desk]) -> SharedStore:
    given = {
        _number(desk): {session_uuid(name) for name in names if "/" not in name}
        for desk, names in zip(desks, SHARED, strict=False)
    }
    return SharedStore(desks[0].store.address, given)  # type: ignore[attr-defined]


@pytest.fixture
def together(desks: list[Desk]) -> Iterator[StoreReader]:
    store = _shared_store(desks)
    yield store.within(Scope(None))
    store.close()


@pytest.fixture
def each(desks: list[Desk]) -> list[StoreReader]:
    """The same asked one by one, as the owner of each index lets see it."""
    names = (*SHARED[:2], {"S6", "S6/y"})
    return [
        desk.store.within(Scope(frozenset(), sources=frozenset(shared)))
        for desk, shared in zip(desks, names, strict=False)
    ]


@pytest.fixture(params=WALLS)
def walls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """With the limits of the store, and as if it had forgotten them: two cases, and the number of this one."""
    if request.param != "both walls":
        for table in shared_rows.SHADOWS:
            rows = f"select * from backscroll.shared_{table}_rows"
            monkeypatch.setitem(shared_rows.SHADOWS, table, rows)
    shared_rows.limited_to_shared.cache_clear()
    yield WALLS.index(request.param)
    shared_rows.limited_to_shared.cache_clear()


def _chat(chat: StoredChat) -> StoredChat:
    """Without its id, which is another in each index."""
    return chat._replace(key=0)


def _hit(hit: Hit) -> Hit:
    return hit._replace(chat=0, block=0, score=0.0)


def _found(reader: StoreReader, text: str, sort: str) -> tuple[int, int, list[Any]]:
    page = reader.search(query(text), sort=sort, limit=50, offset=0, hits=50)
    chats = [(_chat(one.chat), one.found, sorted(map(_hit, one.hits), key=repr)) for one in page.chats]
    return page.total_chats, page.total, sorted(chats, key=repr)


def _facets(reader: StoreReader, text: str) -> dict[str, Any]:
    found = reader.facets(query(text), {"ever": 0, "later": 1_770_000_000_000_000})
    return {name: Counter(value) if isinstance(value, Mapping) else value for name, value in found._asdict().items()}


MORE_WORDS: Final = (
    *(word for word in WORDS if word != "parser mangoes"),  # corrected where one shares no mangoes: see below
    "quagga", "grapefruit", "parser OR quagga OR mangoes", '"zebra parser"', "+parser quagga", "pears -quagga",
    "parser project:bank", "is:abandoned", "is:agent", "before:2026-02-02 parser", "tool:edit parser", "more text",
    "grap*", "has:diff parser", "model:opus",
)  # fmt: skip


@pytest.mark.parametrize("sort", SORTS)
def test_a_search_finds_what_is_found_in_each(
    walls: int, together: StoreReader, each: list[StoreReader], sort: str
) -> None:
    for text in some(MORE_WORDS, walls + SORTS.index(sort), share=3):  # each of them in one order or another
        parts = [_found(reader, text, sort) for reader in each]
        expected = (
            sum(part[0] for part in parts),
            sum(part[1] for part in parts),
            sorted((chat for part in parts for chat in part[2]), key=repr),
        )
        assert _found(together, text, sort) == expected, text


def test_facets_are_the_sums_of_each(walls: int, together: StoreReader, each: list[StoreReader]) -> None:
    for text in some(MORE_WORDS, walls, share=2):
        expected: dict[str, Any] = {}
        for part in (_facets(reader, text) for reader in each):
            expected = {name: expected[name] + value if expected else value for name, value in part.items()}
        assert _facets(together, text) == expected, text


def test_a_list_has_the_chats_of_each(walls: int, together: StoreReader, each: list[StoreReader]) -> None:
    asked = (*FIELDS, "parser project:bank", "is:agent", "before:2026-02-02")
    for text, sort in some([*product(asked, ORDERS)], walls, share=5):  # more orders than that: each text in some
        wanted = query(text)
        expected = [_chat(one) for reader in each for one in reader.chats(wanted, sort=sort, limit=None, offset=0)]
        whole = together.chats(wanted, sort=sort, limit=None, offset=0)
        assert sorted(map(_chat, whole), key=repr) == sorted(expected, key=repr), (text, sort)
        assert together.count_chats(wanted) == len(expected)
        pages = [together.chats(wanted, sort=sort, limit=1, offset=at) for at in range(len(expected))]
        assert [chat.key for page in pages for chat in page] == [chat.key for chat in whole], (text, sort)


def _by_hit(reader: StoreReader) -> list[Any]:
    """The surroundings of everything that can be found."""
    hits = list(reader.passages(query("a OR the OR no OR mangoes OR make OR quagga OR parser OR lexer")))
    blocks = {hit.block: _hit(hit) for hit in hits}
    around = [one._replace(block=0) for one in reader.turn_passages(blocks)]
    return sorted([*around, *(reader.following_steps(block, 100, 100) for block in blocks)], key=repr)


QUESTIONS: Final[Mapping[str, Callable[[StoreReader], Any]]] = {
    "passages": lambda reader: [_hit(hit) for hit in reader.passages(query("parser OR zebra OR mangoes OR quagga"))],
    "patterns": lambda reader: [_hit(hit) for hit in reader.passages(query("/par.er/"), oldest_first=True)],
    "homes": lambda reader: list(reader.homes()),
    "named": lambda reader: [_chat(chat) for chat in reader.named(session_uuid(f"S{n}") for n in range(9))],
    "find": lambda reader: [_chat(chat) for n in range(9) for chat in reader.find(session_uuid(f"S{n}")[:11])],
    "surroundings": _by_hit,
}  # fmt: skip


@pytest.mark.usefixtures("walls")
@pytest.mark.parametrize("name", QUESTIONS)
def test_other_questions_are_answered_from_each(together: StoreReader, each: list[StoreReader], name: str) -> None:
    ask = QUESTIONS[name]
    expected = [answer for reader in each for answer in ask(reader)]
    found = ask(together)
    if name == "homes":
        expected = list(dict.fromkeys(expected))
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert found or name == "find"


@pytest.mark.usefixtures("walls")
def test_numbers_are_of_what_is_shared(together: StoreReader, each: list[StoreReader]) -> None:
    assert together.totals() == tuple(map(sum, zip(*(reader.totals() for reader in each), strict=True)))
    assert together.pending().passages == sum(reader.pending().passages for reader in each) > 0


@pytest.mark.usefixtures("walls")
def test_no_word_is_offered_that_is_not_shared(together: StoreReader) -> None:
    assert together.similar("quaga") == ["quagga"]
    assert together.similar("zebraa") == []
    assert together.similar("grapefruits") == []
    page = together.search(query("quaga"), sort="relevance", limit=5, offset=0, hits=1)
    assert [one.also for one in page.corrections] == [("quagga",)]
    assert together.search(query("zebra"), sort="relevance", limit=5, offset=0, hits=1).total == 0


def test_a_word_that_someone_shares_is_not_taken_for_misspelt(together: StoreReader, each: list[StoreReader]) -> None:
    def corrected(reader: StoreReader) -> list[tuple[str, ...]]:
        page = reader.search(query("parser mangoes"), sort="relevance", limit=5, offset=0, hits=1)
        return [one.also for one in page.corrections]

    assert [corrected(reader) for reader in each][:2] == [[("mango",)], []]
    assert corrected(together) == []


def test_someone_who_shares_no_more_is_gone_at_once(desks: list[Desk]) -> None:
    address, numbers = desks[0].store.address, [_number(desk) for desk in desks]  # type: ignore[attr-defined]
    store = SharedStore(address, {numbers[2]: {session_uuid("S6")}})
    reader = store.within(Scope(None))
    assert {chat.key >> SHIFT for chat in reader.chats(None, sort="newest", limit=9, offset=0)}
    store.close()
    for shared in ({}, {numbers[2]: set[str]()}, {numbers[2]: {session_uuid("S1")}}, {0: {session_uuid("S6")}}):
        store = SharedStore(address, shared)
        reader = store.within(Scope(None))
        assert reader.chats(None, sort="newest", limit=9, offset=0) == []
        assert reader.search(query("quagga"), sort="relevance", limit=9, offset=0, hits=1).total == 0
        assert reader.pending().passages == 0
        store.close()


def test_it_cannot_be_written_nor_asked_with_sql(desks: list[Desk], together: StoreReader) -> None:
    with pytest.raises(UsageError, match="SQL"):
        together.sql("select 1", 1, 1.0)
    with pytest.raises(NotImplementedError):
        _shared_store(desks).start_writing()
    with pytest.raises(NotImplementedError, match="spent"):
        shared_rows.limited_to_shared("select * from spent")


def test_without_rights_in_its_settings_its_role_reads_nothing(migrated: str) -> None:
    with psycopg.connect(migrated, autocommit=True) as connection:
        connection.execute(f"set role {SHARED_READER}")
        for table in ("words", "lexicon", "spent", "counted"):
            with pytest.raises(psycopg.Error):
                connection.execute(f"select * from backscroll.{table}")
        connection.execute("reset role")
        connection.execute("set backscroll.build = '0'; set backscroll.homes = 'all'; set backscroll.sources = '[]'")
        connection.execute(f"set role {SHARED_READER}")
        for table in ("files", "chats", "records", "blocks", "marks", "builds", "spent", "shared_blocks_rows"):
            assert connection.execute(f"select count(*) from backscroll.{table}").fetchone() == (0,)
        assert connection.execute("select count(*) from backscroll.found()").fetchone() == (0,)
