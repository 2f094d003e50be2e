"""Processes that are killed, a database that restarts, objects that cannot be reached: nothing is lost or doubled."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO

import pytest

from backscroll.errors import BackscrollError, Busy, StorageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.objects import ROOT
from backscroll.sync.remotes import Folder, RemoteObject, open_remote
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.keeping.erasures import ask_erasure
from backscroll.team.operating.worker import Worker
from backscroll.team.people.accounts import Person, person_of
from tests.support.postgres import fresh_database, running_postgres
from tests.support.processes import until
from tests.support.samples import some
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Served, serving

FOUND = "@ cwd=/home/dev/shop\na <- - user: why is the zyxparser slow\nb <- a assistant(m1): it reads lines twice"
MORE = f"{FOUND}\nc <- b user: then make the zyxparser read them once\nd <- c assistant(m2): done"
OTHER = "@ cwd=/home/dev/zoo\ne <- - user: feed the zyxquokka\nf <- e assistant(m3): it is fed"
NUMBERS = count(1)
DYING = "tests.team.dying"


@dataclass
class Server:
    """A server whose worker is run by the tests."""

    served: Served
    data: Path
    address: str
    machines: Path
    worker: Worker

    def new_machine(self) -> Machine:
        (person,) = invited(self.served, f"p{next(NUMBERS)}")
        return machine_of(self.served, person, self.machines)

    def person(self, machine: Machine) -> Person:
        with self.served.context.database.transaction() as connection:
            return person_of(connection, 1, machine.device.name.partition("/")[0])

    def owner(self) -> Person:
        with self.served.context.database.transaction() as connection:
            return person_of(connection, 1, "admin")

    def finish(self) -> None:
        """Do every job, also those of a worker that died: PostgreSQL may take a moment to notice that it did."""
        database = self.served.context.database

        def is_done() -> bool:
            with database.transaction() as connection:
                connection.execute("update job set due = now()")
                left = connection.execute("select count(*) from job").fetchone()
            if left != (0,):
                with suppress(Busy):
                    self.worker.do_next()
            return left == (0,)

        until(is_done)

    def totals(self, machine: Machine) -> tuple[object, ...]:
        """What the person of a machine has: chats, messages, tokens, and what a search finds."""
        browser = self.served.signed_in(self.person(machine).handle)
        chats = browser.get("/api/v1/chats").json()["chats"]
        usage = browser.get("/api/v1/stats/usage?by=model").json()
        found = browser.get("/api/v1/search?q=zyxparser owner:me").json()
        browser.close()
        return sorted((chat["id"], chat["messages"]) for chat in chats), usage, found.get("total")

    def run(self, kind: str, dies_at: int, *arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", DYING, kind, str(dies_at), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def server(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("faults")
    with fresh_database(postgres) as url, serving(url, folder / "server", works=False) as served:
        database = served.context.database
        worker = Worker(database, served.context.objects, Libraries(folder / "server", database))
        yield Server(served, folder / "server", url, folder / "machines", worker)


def test_a_worker_that_is_killed_anywhere_loses_and_doubles_nothing(server: Server) -> None:
    reference = server.new_machine()
    reference.push(a=FOUND, b=OTHER)
    server.finish()
    reference.push(a=MORE)
    counted = server.run("work", 0, server.address, server.data)
    assert counted.returncode == 0, counted.stderr
    points = int(counted.stdout)
    expected = server.totals(reference)
    assert points > 10
    for dies_at in some(range(1, points + 1), points, share=24):
        machine = server.new_machine()
        machine.push(a=FOUND, b=OTHER)
        server.finish()
        machine.push(a=MORE)
        died = server.run("work", dies_at, server.address, server.data)
        assert died.returncode == -signal.SIGKILL, (dies_at, died.stderr)
        server.finish()
        assert server.totals(machine) == expected, dies_at
        assert machine.device.verify(machine.remote, deep=True).is_whole, dies_at


@pytest.mark.all
def test_an_erasure_that_is_killed_anywhere_is_finished(server: Server) -> None:
    points, dies_at = 1, 0
    while dies_at <= points:
        machine = server.new_machine()
        machine.push(a=FOUND)
        server.finish()
        person = server.person(machine)
        with server.served.context.database.transaction() as connection:
            ask_erasure(connection, None, person.handle, person.org)
        died = server.run("work", dies_at, server.address, server.data)
        if dies_at == 0:
            points = int(died.stdout)
        else:
            assert died.returncode == -signal.SIGKILL, (dies_at, died.stderr)
        server.finish()
        assert not list(server.served.context.objects.list(f"{ROOT}{person.handle}%2F"))
        assert not (server.data / "people" / person.handle).exists()
        with server.served.context.database.transaction() as connection:
            rows = connection.execute(
                "select (select count(*) from backscroll.builds where org = %s),"
                " (select count(*) from device where person = %s),"
                " (select count(*) from audit where action = 'person.erased' and about = %s)",
                (person.id, person.id, person.handle),
            ).fetchone()
        assert rows == (0, 0, 1), dies_at
        dies_at += max(1, points // 4)


@pytest.mark.all
def test_a_web_process_that_is_killed_during_an_upload_doubles_nothing(server: Server) -> None:
    machine = server.new_machine()
    words = [sys.executable, "-m", DYING, "web"]
    ended: list[int] = []
    for dies_at in range(1, 9):
        arguments = [*words, str(dies_at), server.address, str(server.data)]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdin
            url = process.stdout.readline().strip()
            assert url.startswith("http://")
            remote = open_remote(url, machine.secret)
            remote._sleep = lambda _: None  # type: ignore[attr-defined]
            _write(machine, dies_at)
            with suppress(BackscrollError):
                machine.device.push(remote)
            process.stdin.close()
            ended.append(process.wait(60))
    assert ended.count(-signal.SIGKILL) >= 4  # before and after the object is stored, and its job
    machine.push()
    server.finish()
    assert machine.device.verify(machine.remote, deep=True).is_whole
    browser = server.served.signed_in(server.person(machine).handle)
    assert len(browser.get("/api/v1/chats").json()["chats"]) == 8


def _write(machine: Machine, number: int) -> None:
    """A session of its own."""
    session = f"{number:08}-1111-4111-8111-111111111111"
    row: dict[str, object] = {
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": session,
        "timestamp": "2026-01-05T10:00:00Z",
    }
    row |= {"message": {"role": "user", "content": f"hello number {number}"}}
    machine.device.write(f"projects/-x/{session}.jsonl", json.dumps(row).encode() + b"\n")
    machine.device.keep()


@pytest.mark.all
def test_a_client_that_is_killed_goes_on_where_it_was(server: Server) -> None:
    machine = server.new_machine()
    points = 4
    for dies_at in range(1, points + 1):
        _write(machine, dies_at)
        died = server.run("client", dies_at, server.machines, machine.device.name, server.served.url, machine.secret)
        assert died.returncode == -signal.SIGKILL, died.stderr
    machine.push()
    server.finish()
    assert machine.device.verify(machine.remote, deep=True).is_whole
    browser = server.served.signed_in(server.person(machine).handle)
    assert len(browser.get("/api/v1/chats").json()["chats"]) == points


def test_two_workers_on_the_same_jobs_do_them_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease of a job ends at once, so that each worker takes what the other is at."""
    monkeypatch.setattr(server.worker._leases, "seconds", 0)
    machines = [server.new_machine() for _ in range(3)]
    for machine in machines:
        machine.push(a=FOUND, b=OTHER)
    problems: list[BaseException] = []

    def work() -> None:
        for _ in range(30):
            try:
                server.worker.do_next()
            except BackscrollError as error:
                problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.finish()
    assert all("another" in str(error) for error in problems)
    totals = [server.totals(machine) for machine in machines]
    assert totals[0] == totals[1] == totals[2]
    assert len(totals[0][0]) == 2  # type: ignore[arg-type]


class FailingFolder(Folder):
    """An object store that answers errors when it is told to."""

    failing = threading.Event()

    def _check(self) -> None:
        if self.failing.is_set():
            raise StorageError("the object store answers 503", "try again")

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        self._check()
        return super().list(prefix)

    def get(self, name: str) -> bytes:
        self._check()
        return super().get(name)

    def put(self, name: str, data: bytes) -> bool:
        self._check()
        return super().put(name, data)

    def pieces(self, name: str) -> Iterator[bytes]:
        self._check()
        return super().pieces(name)

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        self._check()
        return super().put_file(name, file)


def test_an_object_store_that_fails_delays_and_loses_nothing(
    postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("web_server", "processes"):
        name = f"backscroll.team.serving.{module}.open_remote"
        monkeypatch.setattr(name, lambda address: FailingFolder(Path(address)))
    monkeypatch.setattr("backscroll.team.operating.worker.LOOK_SECONDS", 0.2)
    FailingFolder.failing.set()  # already when the worker starts
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        with pytest.raises(BackscrollError):
            machine.push(a=FOUND)
        FailingFolder.failing.clear()
        machine.push(a=FOUND)
        browser = served.signed_in("ada")
        until(lambda: len(browser.get("/api/v1/chats").json().get("chats", [])) == 1)
        assert machine.device.verify(machine.remote, deep=True).is_whole


def _restart(postgres: EmbeddedPostgres) -> None:
    postgres.stop()
    postgres.start()


@pytest.mark.all
def test_a_database_that_restarts_under_load_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backscroll.team.operating.worker.LOOK_SECONDS", 0.2)
    with running_postgres() as postgres, serving(postgres.url(), tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        sent = []
        restart_at = {3, 6}
        for number in range(9):
            _write(machine, number)
            restarting = None
            if number in restart_at:
                restarting = threading.Thread(target=_restart, args=(postgres,))
                restarting.start()
            try:
                machine.device.push(machine.remote)
                sent.append(number)
            except BackscrollError:
                pass
            if restarting:
                restarting.join()
        machine.push()
        assert sent
        assert machine.device.verify(machine.remote, deep=True).is_whole

        def has_all() -> bool:
            browser = served.browser()
            answer = browser.submit("/sign-in", handle="ada", password="correct horse battery", next="/devices")
            if answer.status_code != 200:
                return False
            return len(browser.get("/api/v1/chats").json().get("chats", [])) == 9

        until(has_all)
