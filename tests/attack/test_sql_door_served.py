"""The SQL door of a server as its users start it: with its own PostgreSQL, or with the address of another."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.remotes import open_remote
from backscroll.team.database.connections import Database
from backscroll.team.operating.server_database import running_address
from backscroll.team.people.context import TeamContext
from backscroll.team.people.sessions import new_key
from tests.attack.sql_statements import MEMORY, SEVERAL
from tests.support.command import run_command
from tests.support.postgres import fresh_database, older_postgres, postgres
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Served

__all__ = ["older_postgres", "postgres"]
pytestmark = pytest.mark.all
SECRET = "zyxsecret"


@contextmanager
def started(folder: Path, *words: str) -> Iterator[str]:
    """`backscroll server` in a process of its own, with as many others as it starts; its address."""
    command = [sys.executable, "-u", "-P", "-m", "backscroll", "server", "--data", str(folder), *words, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            (address,) = re.findall(r"http://\S+", process.stdout.readline())
            yield address
            for process_id in (process.pid, *children(process.pid)):
                assert peak(process_id) < 400_000, "kilobytes"
        finally:
            process.terminate()
            process.communicate()


def children(process: int) -> list[int]:
    """The web processes and the worker of a server."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == process:
                found.append(int(stat.parent.name))
    return found


def peak(process: int) -> int:
    """The most memory that a process had."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    measured = re.search(r"VmHWM:\s+(\d+)", status)
    assert measured
    return int(measured[1])


@pytest.fixture
def folder(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Path]:
    """PostgreSQL may run as another user, who has to get through to it."""
    del postgres
    import tempfile

    with tempfile.TemporaryDirectory(prefix="backscroll-test-", dir="/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name) / "server"
    assert tmp_path


class Agent:
    """Asks the tool `query` with a key of the scope `mcp`."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def query(self, statement: str) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "query", "arguments": {"sql": statement[:20_000], "limit": 100}}}  # fmt: skip
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {self._key}"}
        while True:
            response = httpx.post(f"{self._url}/mcp", json=body, headers=headers, timeout=120, trust_env=False)
            if response.status_code != 429:  # a key may send 120 requests a minute
                break
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()["result"]
        return result


def member_with_a_library(url: str, address: str, folder: Path) -> tuple[Agent, Database]:
    served = Served(TeamContext(Database(address), open_remote(str(folder / "objects")), url), url)
    database = served.context.database
    ada, ben = invited(served, "ada", "ben")
    for person, text in ((ada, "quokka"), (ben, SECRET)):
        machine_of(served, person, folder.parent / person.handle).push(
            S1=f"a <- - user: {text}\nb <- a assistant(m1): yes"
        )
    with database.transaction() as connection:
        keys = [new_key(connection, person, "agent", ["mcp"]) for person in (ada, ben)]
    for browser in served.browsers:
        browser.close()
    agents = [Agent(url, key) for key in keys]
    for agent in agents:
        until(lambda agent=agent: "[[1]]" in json.dumps(agent.query("select 1 from v_chats")))  # type: ignore[misc]
    return agents[0], database


def people(database: Database) -> list[Any]:
    with database.transaction() as connection:
        return connection.execute("select id, handle, role, password from person order by id").fetchall()


def test_a_member_does_not_become_owner_on_a_server_that_was_just_started(folder: Path) -> None:
    with started(folder) as url:
        ada, database = member_with_a_library(url, running_address(folder), folder)
        assert (
            ada.query("select title from v_chats where title like 'q%'")["structuredContent"]["rows"][0][0] == "quokka"
        )
        before = people(database)
        hashes = [row[3] for row in before if row[3]]
        for statement in (*SEVERAL, *MEMORY):
            answer = json.dumps(ada.query(statement.replace("{other}", "1")))
            assert SECRET not in answer
            assert not any(one in answer for one in hashes)
        assert people(database) == before
        database.close()


@pytest.mark.parametrize("version", ["postgres", "older_postgres"])
def test_a_server_with_the_owners_address_never_runs_sql_as_the_owner(
    request: pytest.FixtureRequest, version: str, folder: Path
) -> None:
    server: EmbeddedPostgres = request.getfixturevalue(version)
    with fresh_database(server) as address, started(folder, "--database", address) as url:
        ada, database = member_with_a_library(url, address, folder)
        assert ada.query("select current_user, count(*) from v_chats")["structuredContent"]["rows"] == [
            ["backscroll_sql", 1]
        ]
        before = people(database)
        ada.query(SEVERAL[0])
        assert people(database) == before
        database.close()
        name = str(psycopg.conninfo.conninfo_to_dict(address)["dbname"])
        with psycopg.connect(server.url("postgres", name), autocommit=True) as superuser:
            superuser.execute("grant select on pg_catalog.pg_class to public")
        refused = ada.query("select 1")
        assert refused["isError"]
        assert "SQL is off on this server" in json.dumps(refused)
        assert "backscroll server sql-login" in json.dumps(refused)


def test_the_lines_that_turn_it_on_are_printed() -> None:
    printed = run_command("server", "sql-login").stdout
    assert "create role backscroll_sql" in printed
    assert printed.rstrip().endswith("$$;")
