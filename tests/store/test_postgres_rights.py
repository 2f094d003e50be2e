"""The second wall: with the filters of the store taken away, PostgreSQL itself shows nothing that is not allowed."""

from collections.abc import Iterator
from typing import Final

import psycopg
import pytest

from backscroll.errors import BackscrollError, Busy, NoPermission, UsageError
from backscroll.store.postgres import visible
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.indexing import quoted
from backscroll.store.postgres.pool import IDLE
from backscroll.store.postgres.roles import READER, refuse_unsafe_roles
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import EVERYTHING, Scope
from tests.contract.support import HOME, Desk
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


HOSTILE: Final = (
    "delete from files",
    "select 1; delete from files",
    "select 1) as statement; delete from files; --",
    "with gone as (delete from files returning *) select * from gone",
    "select set_config('backscroll.homes', 'all', false)",
    "select set_config('role', 'none', false)",
    "select query_to_xml('select set_config(''backscroll.homes'', ''all'', true)', true, true, '')",
    "select query_to_xml('set role backscroll', true, true, '')",
    "select set_config('backscroll.shared', '{1} {1} {1} {1}', false)",
    "select * from shared_files_rows",
    "select * from words",
    "select * from lexicon",
    "select pg_advisory_lock(1)",
    "select pg_advisory_lock(25203, 1)",
    "select pg_notify('x', 'y')",
    "select * from pg_authid",
    "select pg_read_file('/etc/passwd')",
    "select pg_terminate_backend(pg_backend_pid()) from pg_sleep(0)",
    "select lo_from_bytea(0, 'x')",
    "select nextval('builds_id_seq')",
    "table files for update",
    "set role backscroll",
    "reset role",
    "copy files to stdout",
    "select * into stolen from files",
)


@pytest.mark.parametrize("statement", HOSTILE)
def test_a_statement_of_a_user_changes_neither_rows_nor_rights(stores: tuple[Desk, Desk, Desk], statement: str) -> None:
    _, shared, _ = stores
    before = shared.store.indexed_files()
    reader = shared.store.within(SEEN)
    with pytest.raises(BackscrollError):
        reader.sql(statement, 10, 5.0)
    assert shared.store.indexed_files() == before
    assert reader.sql("select count(*) from v_chats", 1, 5.0).rows == [(2,)]


def test_a_statement_ends_in_time_and_sees_one_organisation(stores: tuple[Desk, Desk, Desk]) -> None:
    _, shared, _ = stores
    with pytest.raises(BackscrollError, match="took longer"):
        shared.reader.sql("select pg_sleep(60)", 1, 0.2)
    assert shared.reader.sql("select count(*) from chats -- a comment", 1, 5.0).rows == [(4,)]
    hidden = shared.store.within(SEEN)
    assert hidden.sql("select distinct machine from v_sessions", 9, 5.0).rows == [(HOME[0],)]
    assert hidden.sql("select distinct org from builds", 9, 5.0).rows == [(shared.store.org,)]  # type: ignore[attr-defined]
    anywhere = " | ".join(f"'{build}=zebra'" for build in range(1, 200))  # also as the indexes of others have it
    for asked in (quoted("zebra"), anywhere):
        given = asked.replace("'", "''")
        for source in (
            f"found('{given}')",
            f"chat_counts(array['{given}'])",
            f"best_passages(array['{given}'], '{{1}}', '{{true}}', 1, 1, 0, 9)",
        ):
            assert hidden.sql(f"select count(*) from {source}", 9, 5.0).rows == [(0,)], source


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


def test_statements_of_users_are_refused_where_they_could_change_their_rights(
    postgres: EmbeddedPostgres, database: str
) -> None:
    from backscroll.store.postgres.migrate import migrate

    migrate(database)
    assert migrate(database) == []
    name = database.partition("dbname=")[2].strip("'")
    store = PgStore(database, 1).start_writing()
    reader = store.within(Scope(frozenset()))
    assert reader.sql("select 1", 1, 5.0).rows == [(1,)]
    with psycopg.connect(postgres.url(SUPERUSER, name)) as connection:
        connection.execute("grant execute on function pg_catalog.set_config(text, text, boolean) to public")
    with pytest.raises(UsageError, match="set_config"):
        reader.sql("select 1", 1, 5.0)
    with psycopg.connect(database) as connection:
        connection.execute("alter table backscroll.files no force row level security")
    store.close()
    IDLE.close()  # each connection looks once
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
