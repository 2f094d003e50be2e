"""A real team server for a benchmark: PostgreSQL, web processes and workers, each a process of its own, and people."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.team.arrival.devices import Credential, new_device
from backscroll.team.database.connections import Database
from backscroll.team.database.web_role import as_web
from backscroll.team.operating.server_database import prepare
from backscroll.team.people.accounts import Person, new_person, people
from backscroll.team.people.invitations import first_link
from backscroll.team.people.sessions import begin_session
from backscroll.team.people.teams import new_team, set_members
from bench.peers import free_port

READY_SECONDS = 60.0
TEAM_SIZE = 10


@dataclass
class LoadServer:
    """A server that runs."""

    postgres: EmbeddedPostgres
    database: Database
    folder: Path
    urls: list[str] = field(default_factory=list)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def superuser(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that sees every row: for counting, never for what is measured."""
        return psycopg.connect(
            self.postgres.url(SUPERUSER), autocommit=True, options="-c search_path=backscroll,team,public"
        )

    def pids(self) -> dict[str, list[int]]:
        """The processes by what they are; those of PostgreSQL together, and those at one address."""
        main = int((self.folder / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        return {**{name: _family(process.pid) for name, process in self.processes.items()}, "postgres": _family(main)}


def _family(main: int) -> list[int]:
    found = [main]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(") ")[2].split()[1]) == main:
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


@contextmanager
def running_server(folder: Path, *, webs: int = 1, workers: int = 1) -> Iterator[LoadServer]:
    """PostgreSQL with the settings that `backscroll server` gives it, web processes and workers on it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    folder.chmod(0o711)
    with ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres"))
        database = Database(postgres.url())
        stack.callback(database.close)
        prepare(database)
        server = LoadServer(postgres, database, folder)
        for number in range(workers):
            _start(stack, server, f"worker {number + 1}", "worker")
        for _ in range(webs):
            start_web(stack, server)
        yield server


def start_web(stack: ExitStack, server: LoadServer) -> str:
    """Start one more web process; returns where it answers."""
    port = free_port()
    _start(stack, server, f"web {len(server.urls) + 1}", "web", "--port", str(port))
    url = f"http://127.0.0.1:{port}"
    _wait_for(url)
    server.urls.append(url)
    return url


def _start(stack: ExitStack, server: LoadServer, name: str, *words: str) -> None:
    command = [sys.executable, "-P", "-m", "backscroll", "server", *words, "--data", str(server.folder / "data")]
    address = as_web(server.database.address) if words[0] == "web" else server.database.address
    command += ["--objects", str(server.folder / "objects"), "--database", address]
    log = stack.enter_context((server.folder / f"{name.replace(' ', '-')}.log").open("ab"))
    environment = {**os.environ, "BACKSCROLL_LIBRARY": str(server.folder / "unused")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    server.processes[name] = process

    def stop() -> None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(stop)


def _wait_for(url: str) -> None:
    until = time.monotonic() + READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def have_people(database: Database, count: int) -> list[Person]:
    """So many people in one organisation, in teams of ten; those of an earlier run are used again."""
    handles = [f"p{number:04}" for number in range(count)]
    with database.transaction() as connection:
        first_link(connection)
        row = connection.execute("select id from org order by id limit 1").fetchone()
        assert row is not None
        org = int(row[0])
        known = {person.handle: person for person in people(connection, org)}
        for handle in handles:
            if handle not in known:
                new_person(connection, org, handle, handle.upper())
        known = {person.handle: person for person in people(connection, org)}
        for first in range(0, count, TEAM_SIZE):
            name = f"team {first // TEAM_SIZE + 1}"
            if not connection.execute("select 1 from team where org = %s and name = %s", (org, name)).fetchone():
                team = new_team(connection, known["admin"], name)
                set_members(connection, known["admin"], team, handles[first : first + TEAM_SIZE])
        known = {person.handle: person for person in people(connection, org)}
    return [known[handle] for handle in handles]


def connect_devices(database: Database, owners: list[Person], machine: str) -> list[Credential]:
    """A new device for each of these people."""
    with database.transaction() as connection:
        return [new_device(connection, owner, machine) for owner in owners]


def sign_in(database: Database, readers: list[Person]) -> list[str]:
    """A session of each of these people."""
    with database.transaction() as connection:
        return [begin_session(connection, reader, "bench") for reader in readers]
