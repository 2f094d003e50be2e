"""The second wall: with the filters of the store taken away, PostgreSQL itself shows nothing that is not allowed."""

from collections.abc import Iterator

import psycopg
import pytest

from backscroll.errors import BackscrollError, Busy, NoPermission
from backscroll.store.postgres import visible
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.indexing import quoted
from backscroll.store.postgres.migrate import migrate
from backscroll.store.postgres.pool import POOLS
from backscroll.store.postgres.roles import READER, refuse_unsafe_roles
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import EVERYTHING
from tests.contract.support import Desk
from tests.contract.test_scope import HIDDEN, NAMED, OTHER, QUESTIONS, RESUMED, SEEN, VISIBLE
from tests.support.postgres import database, migrated, new_organisation, older_migrated, older_postgres, postgres

__all__ = ["database", "migrated", "older_migrated", "older_postgres", "postgres"]


@pytest.fixture(scope="module", params=["migrated", "older_migrated"])
def address(request: pytest.FixtureRequest) -> str:
    """The walls must hold on each version of PostgreSQL."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def stores(address: str) -> Iterator[tuple[Desk, Desk, Desk]]:
    """An organisation that has nothing else, one with files of another home too, and one with the same content."""
    desks = []
    for drawings in (VISIBLE, VISIBLE | HIDDEN, VISIBLE | HIDDEN):
        store = PgStore(address, new_organisation()).start_writing()
        store.use_prices(lambda answer: answer.output * 100, "cheap")
        desk = Desk(store).draw(VISIBLE)
        if drawings != VISIBLE:
            desk.draw(HIDDEN, homes=dict.fromkeys(HIDDEN, OTHER))
        desks.append(desk)
    yield desks[0], desks[1], desks[2]
    for desk in desks:
        desk.store.close()


@pytest.fixture
def unfiltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements as if the store had forgotten every limit."""
    monkeypatch.setattr(visible, "limited", lambda statement, everything: statement)  # noqa: ARG005


@pytest.mark.usefixtures("unfiltered")
@pytest.mark.parametrize("name", QUESTIONS)
def test_row_level_security_alone_hides_other_homes_and_organisations(
    stores: tuple[Desk, Desk, Desk], name: str
) -> None:
    alone, shared, _ = stores
    ask = QUESTIONS[name]
    for scope in (SEEN, NAMED):
        assert ask(shared.store.within(scope)) == ask(alone.reader)


def test_the_filters_alone_hide_other_homes(stores: tuple[Desk, Desk, Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first wall without the second: the owner of the tables sees all of an organisation."""
    alone, shared, _ = stores
    monkeypatch.setattr(PgConnection, "as_reader", lambda connection, _: connection.as_owner())
    hidden = 0
    for table in sorted({*visible.SHADOWS} - {"marks", "shared_calls"}):
        in_one, seen, named, in_all = (
            store.within(scope).rows.execute(f"select count(*) from {table}").fetchone()  # type: ignore[attr-defined]
            for store, scope in (
                (alone.store, EVERYTHING), (shared.store, SEEN), (shared.store, NAMED), (shared.store, EVERYTHING)
            )
        )  # fmt: skip
        assert in_one == seen == named, table
        hidden += in_one != in_all
    assert hidden > 5


def test_the_filters_alone_hide_a_title_that_is_in_another_home(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(PgStore(address, new_organisation()).start_writing()).draw(RESUMED, homes={"S1": OTHER})
    monkeypatch.setattr(PgConnection, "as_reader", lambda connection, _: connection.as_owner())
    for scope, titles in ((SEEN, 0), (EVERYTHING, 1)):
        rows = desk.store.within(scope).rows  # type: ignore[attr-defined]
        assert rows.execute("select count(*) from blocks where role = 'title'").fetchone() == (titles,)
    desk.store.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_organisation_with_the_same_content_changes_no_answer(stores: tuple[Desk, Desk, Desk], name: str) -> None:
    _, one, other = stores
    assert QUESTIONS[name](one.reader) == QUESTIONS[name](other.reader)


def test_what_one_organisation_removes_the_other_keeps(migrated: str) -> None:
    desks = [Desk(PgStore(migrated, new_organisation()).start_writing()).draw(VISIBLE) for _ in range(2)]
    desks[0].remove("S1")
    assert desks[0].finds("mango") == ""
    assert desks[1].finds("mango") == "S1: e"
    desks[0].store.discard()
    assert desks[1].store.problems() == []
    assert desks[1].finds("mango") == "S1: e"
    desks[1].store.close()


def test_the_functions_of_a_search_find_nothing_of_others(stores: tuple[Desk, Desk, Desk]) -> None:
    _, shared, _ = stores
    assert isinstance(shared.store, PgStore)
    reader = shared.store._connection.as_reader(SEEN)
    assert reader.execute("select distinct org from builds").fetchall() == [(shared.store.org,)]
    anywhere = " | ".join(f"'{build}=zebra'" for build in range(1, 200))  # also as the indexes of others have it
    for query in (quoted("zebra"), anywhere):
        for call, value in (
            ("found(%s)", query),
            ("chat_counts(%s)", [query]),
            ("best_passages(%s, '{1}', 1, 9)", [query]),
        ):
            found = reader.execute(f"select count(*) from {call}", (value,)).fetchone()
            assert found == (0,), call


def test_without_rights_in_its_settings_nothing_can_be_read(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"set role {READER}")
        for statement in ("select * from backscroll.files", "select * from backscroll.found()"):
            with pytest.raises(psycopg.Error):
                connection.execute(statement)


def test_a_database_where_the_wall_is_void_is_refused(postgres: EmbeddedPostgres, database: str) -> None:
    name = database.partition("dbname=")[2].strip("'")
    with psycopg.connect(postgres.url(SUPERUSER, name)) as connection, pytest.raises(NoPermission, match="superuser"):
        refuse_unsafe_roles(connection)
    store = PgStore(postgres.url(SUPERUSER, name), 1)
    with pytest.raises(BackscrollError):
        store.start_writing()
    store.close()


def test_a_table_that_does_not_enforce_the_wall_is_refused(database: str) -> None:
    migrate(database)
    assert migrate(database) == []
    with psycopg.connect(database) as connection:
        connection.execute("alter table backscroll.files no force row level security")
    POOLS.close()  # each connection looks once
    store = PgStore(database, 1)
    with pytest.raises(NoPermission, match="files"):
        store.start_writing()
    store.close()


def test_a_connection_that_is_used_again_carries_no_rights(stores: tuple[Desk, Desk, Desk], address: str) -> None:
    _, shared, _ = stores
    assert isinstance(shared.store, PgStore)
    before = PgStore(address, shared.store.org)
    assert before.within(SEEN).homes()
    process = before._connection.raw.info.backend_pid
    before.close()
    other = PgConnection(address)
    assert other.raw.info.backend_pid == process
    assert other.raw.execute("select current_user").fetchone() != (READER,)
    assert other.raw.execute("select count(*) from files").fetchone() == (0,)
    other.close()


def test_a_store_that_is_closed_lets_another_write(migrated: str) -> None:
    number = new_organisation()
    one, other = PgStore(migrated, number).start_writing(), PgStore(migrated, number)
    with pytest.raises(Busy):
        other.start_writing()
    one.close()
    other.start_writing().close()
