"""Statements of a member that want what is not theirs: through both walls, and through each of them alone."""

import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from backscroll.errors import BackscrollError, Busy, UsageError
from backscroll.store.postgres import user_sql
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.embedded import DATABASE, SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.prepare import prepare_cluster
from backscroll.store.postgres.sql_session import MOST, MOST_OF_A_PERSON
from backscroll.store.postgres.sql_stream import StatementStream, TookTooLong
from backscroll.store.reader import StatementResult
from tests.attack.sql_calls import calls
from tests.attack.sql_statements import BURNING, MEMORY, OUT, STATEMENTS, WRITABLE
from tests.attack.sql_world import (
    ADA,
    BEN,
    CAT,
    DAN,
    SECRET,
    SEEN,
    World,
    leaks,
    messages_since,
    place_in_log,
    state_of,
    world,
)
from tests.support.postgres import older_postgres, postgres

__all__ = ["older_postgres", "postgres"]

VERSIONS = [pytest.param("postgres", id="18"), pytest.param("older_postgres", id="15", marks=pytest.mark.all)]
WALLS = ["both", "protocol", "login"]


@pytest.fixture(scope="module", params=VERSIONS)
def attacked(request: pytest.FixtureRequest) -> Iterator[World]:
    with world(request.getfixturevalue(request.param)) as made:
        yield made


@pytest.fixture(params=WALLS)
def wall(request: pytest.FixtureRequest, attacked: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which walls stand: both, only that of the protocol, or only that of the login."""
    if request.param == "protocol":
        with psycopg.connect(attacked.url) as connection:
            connection.execute("grant usage on schema backscroll_sql to backscroll_reader")
            connection.execute("grant select on all tables in schema backscroll_sql to backscroll_reader")
            connection.execute("grant execute on all functions in schema backscroll_sql to backscroll_reader")
            connection.execute("grant execute on function backscroll.sql_build() to backscroll_reader")
        monkeypatch.setattr(user_sql, "sql_session", as_reader)
    if request.param == "login":
        monkeypatch.setattr(user_sql, "StatementStream", SimpleProtocol)
    return str(request.param)


@contextmanager
def as_reader(connection: PgConnection, login: str, seconds: float) -> Iterator[psycopg.Connection[Any]]:
    """A session as the reader's role, which a process of the server becomes: without a login of its own."""
    del login
    options = f"-c statement_timeout={int(seconds * 1000)} -c default_transaction_read_only=on -c jit=off"
    with psycopg.connect(connection.address, autocommit=True, options=options) as session:
        session.execute(f"set backscroll.build = '{connection.build}'; set backscroll.homes = 'all'")
        session.execute("set backscroll.sources = '[]'; set backscroll.shared = '{} {} {} {}'")
        session.execute("set search_path = backscroll_sql, backscroll")
        process = session.info.backend_pid
        connection.as_owner().execute(
            "insert into backscroll.sql_sessions (build, process, ends) values (%s, %s, 'infinity')",
            (connection.build, process),
        )
        session.execute("set role backscroll_reader")
        try:
            yield session
        finally:
            connection.as_owner().execute("delete from backscroll.sql_sessions where process = %s", (process,))


class SimpleProtocol(StatementStream):
    """Sends a statement as the server did once: as part of a text that may hold several."""

    def run(self, statement: bytes, limit: int) -> StatementResult:
        self._pgconn.send_query(b"select * from (\n%b\n) as statement limit %d" % (statement, limit))
        rows: list[tuple[Any, ...]] = []
        try:
            while (result := self._next()) is not None:
                columns = range(result.nfields)
                rows += [tuple(result.get_value(row, at) for at in columns) for row in range(result.ntuples)]
        except TimeoutError:
            raise TookTooLong(self._seconds) from None
        finally:
            self._stop()
        return StatementResult([], rows, is_cut=False)


def attempt(world: World, statement: str, seconds: float = 10.0) -> object:
    """What a statement of Ada's gives: an answer or a plain error."""
    try:
        return world.ask(statement, seconds=seconds)
    except BackscrollError as error:
        return f"{error.message} {error.hint}"


def check(world: World, statements: list[str], seconds: float = 10.0) -> None:
    """Run statements; none may bring to light, change or hold anything."""
    before, place = state_of(world), place_in_log(world)
    for statement in statements:
        answer = attempt(world, statement, seconds)
        found = [secret for secret in leaks(world, answer) if secret not in statement]
        assert not found, (statement, answer)
    assert messages_since(world, place) == [], statements
    after = state_of(world)
    if after != before:
        changed = {name: (before.get(name), after.get(name)) for name in after if after[name] != before.get(name)}
        raise AssertionError(f"{changed}\nby one of these: {statements if len(statements) > 1 else statements[0]}")


def test_the_checks_see_what_changes(attacked: World) -> None:
    """Or they would find nothing below."""
    before, place = state_of(attacked), place_in_log(attacked)
    with psycopg.connect(attacked.superuser, autocommit=True) as connection:
        connection.execute("select pg_logical_emit_message(false, 'zyx', 'zyx')")
        connection.execute("select pg_advisory_lock(1)")
        connection.execute("update team.person set role = 'owner' where handle = 'cat'")
        connection.execute("grant select on team.person to backscroll_sql")
        after = state_of(attacked)
        connection.execute("update team.person set role = 'member' where handle = 'cat'")
        connection.execute("revoke select on team.person from backscroll_sql")
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"team.person", "advisory locks", "relations"}
    assert ("LogicalMessage", "MESSAGE") in messages_since(attacked, place)
    assert leaks(attacked, attacked.ask("select title from v_chats", BEN).rows)
    assert not leaks(attacked, attacked.ask("select title from v_chats").rows)


@pytest.mark.all
def test_with_both_walls_gone_the_attack_succeeds(postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it did once: so the walls are what holds."""
    monkeypatch.setattr(user_sql, "sql_session", as_reader)
    monkeypatch.setattr(user_sql, "StatementStream", SimpleProtocol)
    escape = f"{OUT}{WRITABLE}reset role; set team.org = 'all'; "
    with world(postgres) as open_to_all:
        with pytest.raises(AssertionError, match="argon2id"):
            check(open_to_all, [f"{escape}select * from (select password from team.person"])
        with pytest.raises(AssertionError, match=r"team\.person"):
            check(
                open_to_all, [f"{escape}update person set role = 'owner' where handle = 'ada'; select * from (select 1"]
            )


def test_the_statement_that_left_once(attacked: World) -> None:
    """It made its writer an owner, and read every password."""
    escape = STATEMENTS[0]
    check(attacked, [escape])
    with pytest.raises(UsageError, match="syntax error"):
        attacked.ask(escape)


@pytest.mark.all
def test_no_statement_of_the_list_leaves(attacked: World, wall: str) -> None:
    assert len(STATEMENTS) >= 150
    check(attacked, [statement.format(**attacked.names, secret=SECRET) for statement in STATEMENTS])
    if wall != "login":  # there values are not read
        assert attacked.ask("select count(*) from v_chats").rows == [(2,)]


def test_some_statements_of_the_list_do_not_leave(attacked: World) -> None:
    check(attacked, [statement.format(**attacked.names, secret=SECRET) for statement in STATEMENTS[::20]])


@pytest.mark.all
@pytest.mark.usefixtures("wall")
def test_what_burns_ends_at_its_time_limit(attacked: World) -> None:
    check(attacked, list(BURNING), seconds=0.5)


@pytest.mark.all
def test_memory_bombs_do_not_grow_the_process(attacked: World) -> None:
    before = peak()
    check(attacked, list(MEMORY))
    assert peak() - before < 200_000, "kilobytes"


def peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found
    return int(found[1])


@pytest.mark.all
@pytest.mark.usefixtures("wall")
def test_calls_of_all_functions_change_nothing(attacked: World) -> None:
    """Each function of the catalogue, with arguments of the right types, wherever a statement may call it."""
    made = calls(attacked.superuser, random.Random(33), attacked.names)
    for start in range(0, len(made), 200):
        check(attacked, made[start : start + 200], seconds=2.0)


@pytest.mark.all
def test_with_the_first_wall_gone_a_statement_may_hurt_its_login_but_nobody_else(
    attacked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL lets a role change itself. Our own starts by taking that back."""
    for change in ("set search_path = team", "set default_transaction_read_only = off", "set statement_timeout = 0",
                   "set work_mem = '2GB'", "set backscroll.build = '{own}'", "password 'zyx'"):  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setattr(user_sql, "StatementStream", SimpleProtocol)
            words = f"{OUT}{WRITABLE}alter role backscroll_sql {change}; select * from (select 1"
            attempt(attacked, words.format(**attacked.names))
        assert SECRET in str(attacked.ask("select title from v_chats", BEN).rows)
        assert attacked.ask("select count(*) from v_chats where title like '%' || $$zyx$$ || '%'").rows == [(0,)]
    with psycopg.connect(attacked.superuser, autocommit=True) as connection:
        count = "select count(*) from pg_db_role_setting join pg_roles r on r.oid = setrole where rolname = %s"
        assert connection.execute(f"{count} and array_length(setconfig, 1) > 1", ("backscroll_sql",)).fetchone() == (1,)
        prepare_cluster(attacked.postgres.url(SUPERUSER, "postgres"), DATABASE)
        assert connection.execute(f"{count} and array_length(setconfig, 1) > 1", ("backscroll_sql",)).fetchone() == (0,)
        connection.execute("alter role backscroll_sql password null")


def test_some_calls_of_functions_change_nothing(attacked: World) -> None:
    choose = random.Random(33)
    check(attacked, choose.sample(calls(attacked.superuser, choose, attacked.names), 15))


@pytest.mark.all
def test_forty_statements_at_once_run_few_at_a_time_and_each_reads_its_own(attacked: World) -> None:
    people = {ADA: 2, BEN: 1, CAT: 1}
    running: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        with psycopg.connect(attacked.superuser, autocommit=True) as connection:
            while not stop.is_set():
                row = connection.execute(RUNNING).fetchone()
                running.append(row[0] if row else 0)

    def ask(number: int) -> str:
        person = list(people)[number % 3]
        wait = "(select count(*) from generate_series(1, 300000))"
        try:
            rows = attacked.ask(f"select title, {wait} from v_chats", person).rows
        except Busy as busy:
            assert "running" in busy.message
            return "busy"
        assert len(rows) == people[person]
        assert all((SECRET in title) == (person == BEN) for title, _ in rows)
        return "answered"

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(40) as threads:
            answers = Counter(threads.map(ask, range(40)))
    finally:
        stop.set()
        watcher.join()
    assert answers["answered"] >= len(people)
    assert answers["answered"] + answers["busy"] == 40
    assert max(running) <= min(MOST, MOST_OF_A_PERSON * len(people))
    assert DAN not in people
    assert SEEN in str(attacked.ask("select title from v_chats").rows)


RUNNING = "select count(*) from pg_stat_activity where application_name like 'backscroll sql %' and state = 'active'"
