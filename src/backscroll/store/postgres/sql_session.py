"""A session of `backscroll_sql` for one statement: a place among those that run, a fresh connection, and its build.

Nothing is left of a statement when its connection is closed: no setting, no temporary table, no prepared statement. The
server writes down which build the process reads, over its own connection. The places are rows too, so that they are
counted over all processes of a server.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from backscroll import system
from backscroll.errors import Busy, NoPermission
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.roles import SQL_LOGIN
from backscroll.store.postgres.sql_login import VIEWS_SCHEMA, require_safe_login

Session = psycopg.Connection[tuple[Any, ...]]
MOST_OF_A_PERSON: Final = max(1, min(2, system.usable_cores() - 1))
"""The most statements of one person that run at once. One core is left for everyone else."""
MOST: Final = 8
"""The most statements that run at once."""
CONNECT_SECONDS: Final = 10
SPARE_SECONDS: Final = 30
"""The time that a statement keeps its place beyond its time limit if the server that runs it dies."""
MEMORY: Final = 192 << 20
"""The memory of the process that runs the statement, if it is on this machine."""
NAME: Final = "backscroll sql {}"
"""The application name of a session, with the number of its place."""
PLACES: Final = 0x6273_716C
"""The lock under which places are counted."""
SETTINGS: Final = {
    "search_path": VIEWS_SCHEMA,
    "default_transaction_read_only": "on",
    "work_mem": "16MB",
    "hash_mem_multiplier": "1",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "lock_timeout": "1s",
    "idle_session_timeout": "60s",
    "client_connection_check_interval": "1s",
    "timezone": "UTC",
}
"""If a server dies, its statements do not run on; and a statement uses one process only."""


@contextmanager
def sql_session(connection: PgConnection, login: str, seconds: float) -> Iterator[Session]:
    """Open a connection as the login, for a statement of at most `seconds` on the build of `connection`."""
    number = _take_place(connection, seconds)
    is_over = True
    try:
        session = _connect(login, number, connection.build or 0, seconds)
        try:
            _register(connection, number, session)
            yield session
        finally:
            is_over = session.closed or session.info.transaction_status == TransactionStatus.IDLE
            session.close()
    finally:
        _give_place_back(connection, number, is_over=is_over)


def _take_place(connection: PgConnection, seconds: float) -> int:
    """Take a place and return its number; Busy if all are taken."""
    raw = connection.as_owner()
    with translate_errors():
        require_safe_login(raw)
        with raw.transaction():
            raw.execute("select pg_advisory_xact_lock(%s)", (PLACES,))
            raw.execute(REMOVE_ENDED, (SQL_LOGIN,))
            own, everyone = raw.execute(COUNT, (connection.build,)).fetchone() or (0, 0)
            if own >= MOST_OF_A_PERSON:
                raise Busy(f"{_counted(own)} still running", "wait for it to end, and try again")
            if everyone >= MOST:
                raise Busy("other people's SQL statements are running", "try again in a moment")
            row = raw.execute(TAKE, (connection.build, seconds + SPARE_SECONDS)).fetchone()
    assert row is not None  # noqa: S101 - it returns what it inserted
    return int(row[0])


def _counted(running: int) -> str:
    return "your SQL statement is" if running == 1 else f"{running} of your SQL statements are"


def _connect(login: str, number: int, build: int, seconds: float) -> Session:
    settings = {**SETTINGS, "statement_timeout": str(max(1, int(seconds * 1000))), "backscroll.build": str(build)}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    try:
        return psycopg.connect(
            login, autocommit=True, options=options, application_name=NAME.format(number),
            client_encoding="utf8", connect_timeout=CONNECT_SECONDS,
        )  # fmt: skip
    except psycopg.OperationalError as error:
        # Not the address: users read this, who need not know where the database is.
        reason = str(error).rpartition("FATAL:")[2].strip().splitlines()[0][:300] if "FATAL:" in str(error) else ""
        if "too many connections" in reason:
            raise Busy("too many SQL statements are running", "try again in a moment") from error
        raise NoPermission(
            f"SQL is off on this server: cannot connect as {SQL_LOGIN}: {reason or 'the database does not answer'}",
            "an operator gives its password to server web in BACKSCROLL_SQL_PASSWORD",
        ) from error


def _register(connection: PgConnection, number: int, session: Session) -> None:
    """Write down which build the process of a session reads.

    Through a pooler, or with several hosts in the address, the number may be that of another statement's process here.
    So that process must have the name of this session.
    """
    process = session.info.backend_pid
    raw = connection.as_owner()
    with translate_errors(), raw.transaction():
        if raw.execute(IS_OURS, (process, SQL_LOGIN, NAME.format(number))).fetchone() is None:
            raise NoPermission(
                "SQL is off on this server: it does not reach PostgreSQL itself, but a pooler or another server",
                "an operator gives server web the address of PostgreSQL",
            )
        raw.execute("delete from backscroll.sql_sessions where process = %s", (process,))
        raw.execute("update backscroll.sql_sessions set process = %s where number = %s", (process, number))
    system.restrain_child_of_server(session.fileno(), process, MEMORY)


def _give_place_back(connection: PgConnection, number: int, *, is_over: bool) -> None:
    """Free the place of a statement. One that does not stop keeps its place until it ends, and reads nothing more."""
    with suppress(psycopg.Error):
        connection.as_owner().execute(REMOVE if is_over else EXPIRE, (number,))


REMOVE_ENDED: Final = """
delete from backscroll.sql_sessions s where case when process is null then ends < clock_timestamp()
  else not exists (select from pg_stat_activity a where a.pid = s.process and a.usename = %s) end
"""
COUNT: Final = "select count(*) filter (where build = %s), count(*) from backscroll.sql_sessions"
TAKE: Final = """
insert into backscroll.sql_sessions (build, ends) values (%s, clock_timestamp() + make_interval(secs => %s))
returning number
"""
IS_OURS: Final = """
select 1 from pg_stat_activity
where pid = %s and usename = %s and application_name = %s and datname = current_database()
"""
REMOVE: Final = "delete from backscroll.sql_sessions where number = %s"
EXPIRE: Final = "update backscroll.sql_sessions set ends = clock_timestamp() where number = %s"
