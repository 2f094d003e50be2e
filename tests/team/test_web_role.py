"""What the role of web processes cannot do, whatever a statement says. Everything else in these tests runs as it."""

import psycopg
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.store.postgres.roles import OWNER
from backscroll.team.database import OPTIONS, Database
from backscroll.team.serve import prepare
from backscroll.team.web_role import as_web
from tests.support.postgres import fresh_database

FORBIDDEN = (
    "drop table person",
    "truncate web_session",
    "alter table person disable row level security",
    "create table more (id int)",
    "drop policy own_org on person",
    "delete from audit",
    "update audit set actor = 'nobody'",
    "delete from erasure",
    "update erasure set done = null",
    "delete from person",
    "delete from org",
    "delete from device",
    "delete from hold",
    "delete from access",
    "delete from migrations",
    "insert into backscroll.builds (org, is_current, content) values (1, true, 1)",
    "delete from backscroll.builds",
    "update backscroll.marks set value = ''",
    "select * from backscroll.records",
    "select * from backscroll.blocks",
    f"set role {OWNER}",
    "grant backscroll to backscroll_web",
    "alter role backscroll_web superuser",
)


@pytest.mark.parametrize("version", ["postgres", "older_postgres"])
def test_a_web_process_changes_no_table_no_index_and_no_record_of_what_happened(
    request: pytest.FixtureRequest, version: str
) -> None:
    postgres: EmbeddedPostgres = request.getfixturevalue(version)
    with fresh_database(postgres) as url:
        database = Database(url)
        prepare(database)
        assert prepare(database) == []  # again, as with every start
        database.close()
        with psycopg.connect(as_web(url), autocommit=True, options=OPTIONS) as connection:
            for statement in FORBIDDEN:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)
            connection.execute("insert into org (name) values ('Zoo')")
            for name, value in (("build", "0"), ("homes", "all"), ("sources", "[]")):
                connection.execute(f"set backscroll.{name} = '{value}'")
            connection.execute("set role backscroll_reader")
            assert connection.execute("select * from backscroll.records").fetchall() == []
