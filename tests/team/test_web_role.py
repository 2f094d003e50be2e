"""What the role of web processes cannot do, whatever a statement says, and what a process says that starts with the
wrong role. Everything else in these tests runs as it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from starlette.routing import Route

from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.roles import OWNER, READER, WEB
from backscroll.team.database.connections import OPTIONS, Database
from backscroll.team.database.web_role import as_web
from backscroll.team.operating.server_database import prepare
from backscroll.team.serving.app import ROUTES, VIEWER_ROUTES
from tests.support.command import run_command
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.served import PASSWORD, Browser

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


BOTH_VERSIONS = pytest.mark.parametrize("version", ["postgres", "older_postgres"])


@BOTH_VERSIONS
def test_a_web_process_changes_no_table_no_index_and_no_record_of_what_happened(
    request: pytest.FixtureRequest, version: str
) -> None:
    postgres: EmbeddedPostgres = request.getfixturevalue(version)
    with fresh_database(postgres, has_tables=False) as url:
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


@BOTH_VERSIONS
def test_with_an_address_of_each_role_the_server_runs_in_parts(
    request: pytest.FixtureRequest, version: str, tmp_path: Path
) -> None:
    postgres: EmbeddedPostgres = request.getfixturevalue(version)
    routes = [
        route for route in (*ROUTES, *VIEWER_ROUTES) if isinstance(route, Route) and "GET" in (route.methods or ())
    ]
    pages = {route.path for route in routes if "{" not in route.path}
    assert {"/people", "/jobs", "/chats", "/spend", "/search"} <= pages
    with fresh_database(postgres, has_tables=False) as url:
        assert run_command("server", "migrate", "--data", tmp_path, "--database", url).returncode == 0
        with (
            _started(tmp_path, "worker", "--database", url, "--with-parent"),
            _started(tmp_path, "web", "--database", as_web(url), "--port", "0") as web,
        ):
            assert web.stdout
            address, link = re.findall(r"http://\S+", web.stdout.readline() + web.stdout.readline())
            with Browser(address) as browser:
                assert browser.get("/readyz").text == "ready\n"
                welcome = browser.submit("/welcome", link=link.partition("link=")[2], password=PASSWORD)
                assert welcome.url.path == "/devices"
                answers = {path: browser.get(path) for path in sorted(pages - NEED_MORE)}
                assert {path: answer.status_code for path, answer in answers.items() if answer.status_code != 200} == {}
                assert browser.submit("/people", handle="ada", name="Ada", role="member").status_code == 200
                with psycopg.connect(url, autocommit=True, options=OPTIONS) as connection:
                    found = connection.execute("select handle from person order by handle").fetchall()
                    assert found == [("ada",), ("admin",)]
                    until(lambda: connection.execute("select 1 from job").fetchone() is None)  # the worker did it
                    assert connection.execute("select 1 from backscroll.builds where is_current").fetchone()


NEED_MORE = frozenset({"/oidc/start", "/oidc/callback", "/metrics", "/erasures", "/favicon.ico", "/welcome"})
"""Pages that need a provider, a key, a link or a choice."""


@contextmanager
def _started(data: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "backscroll", "server", *words, "--data", data],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_a_process_that_starts_with_the_wrong_role_says_what_is_missing(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    def says(part: str, address: str) -> str:
        done = run_command("server", part, "--data", tmp_path, "--database", address)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        return done.stderr

    with fresh_database(postgres, has_tables=False) as url, _superuser(postgres, url) as superuser:
        said = says("web", as_web(url))
        assert "has no tables of a server yet" in said
        assert "backscroll server migrate" in said
        for part in ("migrate", "worker"):  # before there are tables, and with them
            said = says(part, as_web(url))
            assert f"the role {WEB} does not own the tables" in said
            assert f"connect as {OWNER};" in said
        database = Database(url)
        prepare(database)
        for part in ("migrate", "worker"):
            assert f"the role {WEB} does not own the tables" in says(part, as_web(url))
        superuser.execute(f"revoke insert on team.audit from {WEB}")
        said = says("web", as_web(url))
        assert f"the role {WEB} may not insert in the table team.audit" in said
        assert "run backscroll server migrate as the owner" in said
        prepare(database)
        database.close()
        superuser.execute(f"revoke execute on function pg_catalog.set_config(text, text, boolean) from {WEB}")
        said = says("web", as_web(url))
        assert f"the role {WEB} may not call pg_catalog.set_config" in said
        superuser.execute(_statement_in(said).encode())


@BOTH_VERSIONS
def test_a_role_that_cannot_become_a_reader_is_told_which_grant_it_needs(
    request: pytest.FixtureRequest, version: str, tmp_path: Path
) -> None:
    postgres: EmbeddedPostgres = request.getfixturevalue(version)
    with fresh_database(postgres, has_tables=False) as url, _superuser(postgres, url) as superuser:
        database = Database(url)
        prepare(database)
        database.close()
        superuser.execute(f"revoke {READER} from {WEB}")
        try:
            done = run_command("server", "web", "--data", tmp_path, "--database", as_web(url))
            assert f"the role {WEB} cannot become {READER}" in done.stderr
        finally:
            superuser.execute(_statement_in(done.stderr).encode())
        assert superuser.execute("select pg_has_role(%s, %s, 'member')", (WEB, READER)).fetchone() == (True,)
        row = superuser.execute("select pg_has_role(%s, %s, 'usage')", (WEB, READER)).fetchone()
        assert row == (False,), "it has no rights of a reader before it becomes one"


def _statement_in(said: str) -> str:
    found = re.search(r"run: (grant .+)", said)
    assert found, said
    return found[1]


@contextmanager
def _superuser(postgres: EmbeddedPostgres, url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    database = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
    with psycopg.connect(postgres.url(SUPERUSER, database), autocommit=True) as connection:
        yield connection
