"""People's own SQL on PostgreSQL: how it is sent, as whom, within which limits, and where it is off."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from backscroll.errors import BackscrollError, Busy, NoPermission, OutOfMemory, UsageError
from backscroll.store.postgres import sql_session as postgres_sql_session
from backscroll.store.postgres import sql_stream
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.migrate import migrate
from backscroll.store.postgres.roles import SQL_LOGIN
from backscroll.store.postgres.sql_login import login_address, preparation
from backscroll.store.postgres.sql_session import MOST, MOST_OF_A_PERSON, sql_session
from backscroll.store.postgres.sql_stream import StatementStream, TookTooLong
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import EVERYTHING, Scope
from tests.contract.support import Desk
from tests.contract.test_scope import VISIBLE
from tests.support.postgres import database, migrated, new_organisation, older_migrated, older_postgres, postgres
from tests.support.processes import until

__all__ = ["database", "migrated", "older_migrated", "older_postgres", "postgres"]
ENDLESS = "select count(*) from generate_series(1, 100000000000)"


@pytest.fixture(scope="module", params=["migrated", "older_migrated"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def store(address: str) -> Iterator[PgStore]:
    store = PgStore(address, new_organisation())
    Desk(store.start_writing()).draw(VISIBLE)
    yield store
    store.close()


def answer(store: PgStore, statement: str, limit: int = 10, seconds: float = 10.0) -> list[tuple[object, ...]]:
    return store.within(EVERYTHING).sql(statement, limit, seconds).rows


def test_a_percent_sign_is_no_placeholder(store: PgStore) -> None:
    assert answer(store, "select 7 % 2, '%s', 'abc' like 'a%'") == [(1, "%s", True)]
    assert answer(store, "select count(*) from v_chats where title like '%'") == [(2,)]


def test_a_statement_may_end_with_a_semicolon_or_a_comment(store: PgStore) -> None:
    for statement in (
        "select 1;",
        "select 1 -- one",
        "select 1 /* one */",
        "values (1)",
        "with a as (select 1) table a",
    ):
        assert answer(store, statement) == [(1,)], statement


def test_values_are_numbers_texts_truth_values_and_bytes(store: PgStore) -> None:
    (row,) = answer(
        store,
        "select 1, 2.5, 1e20::numeric, 0.5::float8, true, null, 'ü\\n', '\\x00ff'::bytea, array[1, 2],"
        " date '2026-01-02', 'nan'::float8::text, ''",
    )
    assert row[:9] == (1, 2.5, 10**20, 0.5, True, None, "ü\\n", b"\0\xff", "{1,2}")
    assert row[9:] == ("2026-01-02", "NaN", "")
    assert answer(store, "select a.x, b.x, 'x' as x from (select 1 x) a, (select 2 x) b") == [(1, 2, "x")]
    assert answer(store, "select repeat('9', 500)::numeric") == [("9" * 500,)]


def test_statements_are_sent_by_the_extended_protocol_only(store: PgStore, tmp_path: Path) -> None:
    """PostgreSQL takes one statement in a Parse message, and any number in a Query message."""
    trace = tmp_path / "trace"
    connection = store._connection
    with sql_session(connection, login_address(store.address), 5) as session, trace.open("wb") as file:
        session.pgconn.trace(file.fileno())
        assert StatementStream(session, 5).run(b"select 1", 5).rows == [(1,)]
        with pytest.raises(UsageError, match="more than one statement"):
            StatementStream(session, 5).run(b"select 1; select 2", 5)
        session.pgconn.untrace()
    sent = {line.split("\t")[3] for line in trace.read_text().splitlines() if line.split("\t")[1] == "F"}
    assert "Parse" in sent
    assert "Query" not in sent


def test_an_error_names_what_was_typed_and_no_value_of_a_row(store: PgStore) -> None:
    title = str(answer(store, "select title from v_chats where title <> '' limit 1")[0][0])
    for statement in (
        "select cast(title as int) from v_chats where title <> ''",
        "select ('(( ' || title)::tsquery from v_chats where title <> ''",
        "select cast(title || '\" is a word of the server \"' as timestamp) from v_chats where title <> ''",
    ):
        with pytest.raises(UsageError) as raised:
            answer(store, statement)
        assert title not in raised.value.message
        assert "word of the server" not in raised.value.message
    with pytest.raises(UsageError, match='relation "v_chat" does not exist'):
        answer(store, "select 1 from v_chat")


def test_a_part_of_a_library_cannot_be_asked(store: PgStore) -> None:
    with pytest.raises(UsageError, match="whole library"):
        store.within(Scope(frozenset())).sql("select 1", 1, 5.0)


def test_rows_and_bytes_are_limited(store: PgStore) -> None:
    reader = store.within(EVERYTHING)
    cut = reader.sql("select * from generate_series(1, 100) n", 10, 10.0)
    assert (len(cut.rows), cut.is_cut) == (10, True)
    whole = reader.sql("select * from generate_series(1, 10) n", 10, 10.0)
    assert (len(whole.rows), whole.is_cut) == (10, False)
    large = reader.sql("select repeat('x', 3900000) from generate_series(1, 100)", 1000, 60.0)
    assert large.is_cut
    assert 10 < len(large.rows) <= sql_stream.MAX_BYTES // 3_900_000
    with pytest.raises(UsageError, match="more than 4,000,000 bytes"):
        reader.sql("select repeat('x', 4000001)", 10, 10.0)
    with pytest.raises(BackscrollError) as error:
        reader.sql("select ('x' || repeat('y', 20000000))::int", 10, 30.0)
    assert len(error.value.message) < 400


def test_memory_of_the_process_in_postgresql_is_limited(store: PgStore) -> None:
    with pytest.raises(OutOfMemory, match="too much memory"):
        answer(store, "select length(string_agg(repeat('x', 1000), '')) from generate_series(1, 1000000)", seconds=60)


def test_a_statement_lets_others_go_first(store: PgStore) -> None:
    with sql_session(store._connection, login_address(store.address), 5) as session:
        process = session.info.backend_pid
        assert os.getpriority(os.PRIO_PROCESS, process) > os.getpriority(os.PRIO_PROCESS, 0)


def test_a_statement_that_waits_for_a_table_says_so(store: PgStore) -> None:
    with psycopg.connect(store.address) as connection:
        connection.execute("lock table backscroll.chats in access exclusive mode")
        with pytest.raises(Busy, match="rewritten"):
            answer(store, "select * from v_chats")


def test_a_statement_is_stopped_even_if_its_own_limit_is_gone(store: PgStore) -> None:
    with pytest.raises(TookTooLong):
        answer(store, ENDLESS, seconds=0.2)
    connection = store._connection
    with sql_session(connection, login_address(store.address), 5) as session:
        session.execute("set statement_timeout = 0")  # as a statement might, with a wall gone
        process = session.info.backend_pid
        with pytest.raises(TookTooLong):
            StatementStream(session, 0.3).run(ENDLESS.encode(), 5)
        row = session.execute("select 1").fetchone()
        assert row == (1,), "it was cancelled"
    running = "select 1 from pg_stat_activity where pid = %s and usename = %s"
    owner = connection.as_owner()
    until(lambda: owner.execute(running, (process, SQL_LOGIN)).fetchone() is None)


def test_a_process_whose_server_is_gone_ends_by_itself(store: PgStore) -> None:
    connection = store._connection
    with sql_session(connection, login_address(store.address), 60) as session:
        process = session.info.backend_pid
        session.pgconn.send_query_params(ENDLESS.encode(), None)
        session.pgconn.flush()
    owner = connection.as_owner()
    running = "select 1 from pg_stat_activity where pid = %s and usename = %s"
    until(lambda: owner.execute(running, (process, SQL_LOGIN)).fetchone() is None)


def test_a_person_runs_few_statements_at_once_and_a_dead_server_holds_no_place(store: PgStore) -> None:
    stores = [PgStore(store.address, store.org) for _ in range(MOST_OF_A_PERSON)]
    started = [threading.Event() for _ in stores]
    stop = threading.Event()

    def hold(at: int) -> None:
        stores[at].within(EVERYTHING)
        with sql_session(stores[at]._connection, login_address(store.address), 60):
            started[at].set()
            stop.wait(60)
        stores[at].close()

    threads = [threading.Thread(target=hold, args=(at,)) for at in range(len(stores))]
    try:
        for thread, event in zip(threads, started, strict=True):
            thread.start()
            assert event.wait(60)
        with pytest.raises(Busy, match="still running"):
            answer(store, "select 1")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert answer(store, "select 1") == [(1,)]
    owner = store._connection.as_owner()
    for _ in range(MOST):  # a server that died left these: no process has these numbers
        owner.execute(
            "insert into sql_sessions (build, process, ends) select %s, min(n), 'infinity'"
            " from generate_series(-99, -1) n where n not in (select coalesce(process, 0) from sql_sessions)",
            (store._connection.build,),
        )
    assert answer(store, "select 1") == [(1,)]


def test_everyone_together_runs_few_statements_at_once(store: PgStore) -> None:
    owner = store._connection.as_owner()
    for _ in range(MOST):
        owner.execute("insert into sql_sessions (build, ends) values (0, now() + interval '1 hour')")
    try:
        with pytest.raises(Busy, match="other people's"):
            answer(store, "select 1")
    finally:
        owner.execute("delete from sql_sessions where build = 0")


def test_where_the_login_is_missing_or_may_do_more_sql_is_off_and_says_what_to_run(
    postgres: EmbeddedPostgres, database: str
) -> None:
    migrate(database)
    name = database.partition("dbname=")[2].strip("'")
    store = PgStore(database, 1).start_writing()
    assert answer(store, "select 1") == [(1,)]
    with psycopg.connect(postgres.url(SUPERUSER, name), autocommit=True) as superuser:
        for statement, problem in (
            ("grant execute on function pg_catalog.set_config(text, text, boolean) to public", "set_config"),
            ("grant select on pg_catalog.pg_class to public", "pg_class"),
            (f"grant select on backscroll.files to {SQL_LOGIN}", "backscroll.files"),
            (f"grant temporary on database {name} to public", "database"),
            ("grant usage on language plpgsql to public", "plpgsql"),
            ("create function public.f() returns int language sql volatile as 'select 1'", "public.f"),
        ):
            superuser.execute(statement)
            with pytest.raises(NoPermission, match=problem) as error:
                answer(store, "select 1")
            assert "SQL is off" in error.value.message
            assert "backscroll server sql-login" in error.value.hint
            superuser.execute(preparation().encode())
            assert answer(store, "select 1") == [(1,)]
        superuser.execute(f"alter role {SQL_LOGIN} bypassrls")
        with pytest.raises(NoPermission, match="more rights"):
            answer(store, "select 1")
        superuser.execute(f"alter role {SQL_LOGIN} nobypassrls")
        superuser.execute(f"grant backscroll_reader to {SQL_LOGIN}")
        with pytest.raises(NoPermission, match="member of backscroll_reader"):
            answer(store, "select 1")
        superuser.execute(f"revoke backscroll_reader from {SQL_LOGIN}")
        superuser.execute(f"alter role {SQL_LOGIN} rename to zyx")
        try:
            with pytest.raises(NoPermission, match=f"no role {SQL_LOGIN}"):
                answer(store, "select 1")
        finally:
            superuser.execute(f"alter role zyx rename to {SQL_LOGIN}")
    store.close()


def test_a_process_of_someone_else_is_never_given_a_build(store: PgStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler, or another server, may give a number that is that of another statement here."""
    monkeypatch.setattr(postgres_sql_session, "MOST_OF_A_PERSON", 2)
    connection = store._connection
    with sql_session(connection, login_address(store.address), 60) as other:
        before = connection.as_owner().execute("select * from sql_sessions").fetchall()
        process = other.info.backend_pid
        monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _: process))
        with pytest.raises(NoPermission, match="pooler"):
            answer(store, "select count(*) from v_chats")
        assert connection.as_owner().execute("select * from sql_sessions").fetchall() == before


def test_without_the_right_password_sql_is_off(store: PgStore) -> None:
    wrong = login_address(store.address, "wrong").replace("socket", "no-socket")
    other = PgStore(store.address, store.org, wrong)
    with pytest.raises(NoPermission, match="cannot connect as backscroll_sql") as error:
        answer(other, "select 1")
    other.close()
    assert "BACKSCROLL_SQL_PASSWORD" in error.value.hint
    assert "password" not in login_address("host=x user=a password=b")
