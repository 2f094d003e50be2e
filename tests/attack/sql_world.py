"""Two people on one database, one of whom attacks the other with SQL; and what must be the same afterwards."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.sql import SQL, Identifier

from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import EVERYTHING, StatementResult
from backscroll.team.database.connections import Database
from backscroll.team.operating.server_database import prepare
from tests.contract.support import Desk
from tests.support.postgres import fresh_database

ADA, BEN, CAT, DAN = 1, 2, 3, 4
SECRET: Final = "zyxsecret"
"""In everything of Ben's that a statement could bring to light, and nowhere else."""
SEEN: Final = "quokka"
"""In Ada's titles."""
OF_ADA: Final = {
    "S1": f"""
        @ cwd=/home/ada/shop time=2026-02-01T10:00
        a <- - user: {SEEN} and 17
        b <- a call(m1) t1 Edit {{"file_path": "/home/ada/shop/{SEEN}.py", "old_string": "x", "new_string": "y"}}
        c <- b error t1: no such file
        d <- c assistant(m2): done
        """,
    "S2": f"@ cwd=/home/ada/zoo time=2026-02-02T10:00\ne <- - user: {SEEN} 4 7\nf <- e assistant(m3): yes",
}
OF_BEN: Final = {
    "S1": f"""
        @ cwd=/home/{SECRET}/shop time=2026-03-01T10:00
        a <- - user: {SECRET} 4321
        b <- a call(M1) T1 Edit {{"file_path": "/home/{SECRET}/plan.py", "old_string": "x", "new_string": "y"}}
        c <- b error T1: no such file
        d <- c assistant(M2): done
        """
}
RUNNING: Final = f"select '{SECRET} runs'"
"""What Ben runs meanwhile."""


@dataclass
class World:
    """A database with people and their libraries."""

    postgres: EmbeddedPostgres
    url: str
    web: str
    secrets: tuple[str, ...]
    victim: int
    """The number of a process that runs a statement of Ben."""
    names: dict[str, object]
    """What statements may refer to."""

    @property
    def superuser(self) -> str:
        return self.postgres.url(SUPERUSER, str(psycopg.conninfo.conninfo_to_dict(self.url)["dbname"]))

    def ask(self, statement: str, person: int = ADA, limit: int = 1000, seconds: float = 10.0) -> StatementResult:
        """Run a statement as the server does for a person."""
        store = PgStore(self.web, person)
        try:
            return store.within(EVERYTHING).sql(statement, limit, seconds)
        finally:
            store.close()


@contextmanager
def world(postgres: EmbeddedPostgres) -> Iterator[World]:
    with fresh_database(postgres) as url:
        database = Database(url)
        prepare(database)
        hashed = "argon2id$2$1$19456$feedbeef$8badf00d"
        with database.transaction() as connection:
            connection.execute("insert into org (name) values (%s)", (f"{SECRET} org",))
            for handle, role in (("ada", "member"), ("ben", "owner"), ("cat", "member"), ("dan", "member")):
                connection.execute(
                    "insert into person (org, handle, name, role, password) values (1, %s, %s, %s, %s)",
                    (handle, f"{SECRET} {handle}" if handle == "ben" else handle, role, hashed),
                )
        database.close()
        for person, drawings in ((ADA, OF_ADA), (BEN, OF_BEN), (CAT, {"S1": f"a <- - user: cat {SEEN}"})):
            desk = Desk(PgStore(url, person).start_writing()).draw(drawings)
            desk.store.close()
        superuser = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        with psycopg.connect(postgres.url(SUPERUSER, superuser), autocommit=True) as connection:
            connection.execute("create extension pg_walinspect")
            connection.execute("alter system set wal_keep_size = '512MB'")  # messages_since reads what others removed
            connection.execute("select pg_reload_conf()")
        web = url.replace("user='backscroll'", "user='backscroll_web'")
        login = url.replace("user='backscroll'", "user='backscroll_sql'")
        with psycopg.connect(login, autocommit=True) as running:
            running.execute(RUNNING)
            victim = running.info.backend_pid
            names: dict[str, object] = {"victim": victim}
            with psycopg.connect(url) as connection:
                for name, person in (("own", ADA), ("other", BEN)):
                    row = connection.execute("select id from backscroll.builds where org = %s", (person,)).fetchone()
                    assert row
                    names[name] = row[0]
            yield World(postgres, url, web, (SECRET, hashed, "4321"), victim, names)


def leaks(world: World, text: object) -> list[str]:
    """The secrets in an answer or in an error."""
    shown = json.dumps(text, default=str) if not isinstance(text, str) else text
    return [secret for secret in world.secrets if secret in shown]


def state_of(world: World) -> dict[str, str]:
    """Everything that a statement could change or hold, by name: rows, roles, rights, settings, locks, processes."""
    state = {}
    with psycopg.connect(world.superuser, autocommit=True) as connection:
        connection.execute("set row_security = off")
        for schema, table in connection.execute(TABLES).fetchall():
            rows = connection.execute(SQL(ROWS).format(Identifier(schema, table))).fetchone()
            state[f"{schema}.{table}"] = str(rows)
        for name, statement in OTHERS.items():
            state[name] = _digest(connection.execute(statement.encode()).fetchall())
    return state


def place_in_log(world: World) -> str:
    """How far PostgreSQL's log is written."""
    with psycopg.connect(world.superuser) as connection:
        row = connection.execute("select pg_current_wal_insert_lsn()::text").fetchone()
    assert row
    return str(row[0])


def messages_since(world: World, place: str) -> list[tuple[Any, ...]]:
    """Messages and sequences that were written to the log: nothing of the server writes any meanwhile."""
    with psycopg.connect(world.superuser) as connection:
        connection.execute("select pg_switch_wal()")
        return connection.execute(LOGGED, (place,)).fetchall()


def _digest(rows: list[Any]) -> str:
    text = repr(rows)
    return text if len(text) < 400 else hashlib.sha256(text.encode()).hexdigest()


TABLES: Final = """
select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'S') and n.nspname in ('team', 'backscroll', 'backscroll_sql', 'public')
  and c.relname !~ '^sql_sessions'
"""
ROWS: Final = """
select count(*), md5(string_agg(t.x, '|' order by t.x)) from (select to_jsonb(r)::text x from (select * from {}) r) t
"""
OTHERS: Final = {
    "roles": "select r::text, a.rolpassword from pg_roles r join pg_authid a using (oid) order by 1",
    "memberships": "select m::text from pg_auth_members m order by 1",
    "settings of roles": "select s::text from pg_db_role_setting s order by 1",
    "databases": "select datname, datacl::text from pg_database where datname !~ '^test' order by 1",
    "schemas": "select nspname, nspacl::text from pg_namespace where nspname !~ '^pg_(temp|toast_temp)' order by 1",
    "relations": "select relname, relkind, relacl::text, reloptions::text, relrowsecurity, relforcerowsecurity"
    " from pg_class where relnamespace::regnamespace::text !~ '^pg_(temp|toast)' order by 1, 2",
    "functions": "select oid::regprocedure::text, proacl::text, prosrc from pg_proc order by 1",
    "policies": "select p::text from pg_policies p order by 1",
    "settings": "select name, setting from pg_settings"
    " where source not in ('session', 'client', 'override') order by 1",
    "large objects": "select oid from pg_largeobject_metadata order by 1",
    "prepared transactions": "select gid from pg_prepared_xacts",
    "replication": "select slot_name from pg_replication_slots",
    "advisory locks": "select classid, objid, objsubid from pg_locks where locktype = 'advisory'"
    " and database = (select oid from pg_database where datname = current_database()) order by 1, 2",
    "locks of statements": "select l.locktype, l.mode from pg_locks l join pg_stat_activity a using (pid)"
    " where a.usename = 'backscroll_sql' order by 1",
    "processes of statements": "select pid from pg_stat_activity where usename = 'backscroll_sql'"
    " and datname = current_database() order by 1",
    "sessions": "select count(*) from backscroll.sql_sessions",
}


LOGGED: Final = """
select resource_manager, record_type from pg_get_wal_records_info(%s, pg_current_wal_flush_lsn())
where resource_manager in ('LogicalMessage', 'Sequence', 'Database', 'Tablespace', 'RelMap')
"""
__all__ = [
    "ADA",
    "BEN",
    "CAT",
    "DAN",
    "SECRET",
    "SEEN",
    "World",
    "leaks",
    "messages_since",
    "place_in_log",
    "state_of",
    "world",
]
