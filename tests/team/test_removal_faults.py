"""A worker that is killed while it masks a library, removes what a machine took back, or undoes an import.

The next one finishes it.
"""

import signal
from pathlib import Path

import pytest

from backscroll.sync.policy import SyncMode
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.project_rules import mask_arrivals
from backscroll.team.operating.import_history import import_history
from backscroll.team.operating.undo_import import ask_undo
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.support.samples import some
from tests.team.sending import Machine
from tests.team.test_faults import OTHER, Server, server

__all__ = ["server"]
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAID = f"@ cwd=/home/dev/shop\na <- - user: use {TOKEN} for the zyxparser\nb <- a assistant(m1): it is used"


def _pushed(server: Server) -> Machine:
    machine = server.new_machine()
    machine.push(a=SAID, b=OTHER)
    server.finish()
    return machine


def _kept(server: Server, machine: Machine) -> bytes:
    """All that the library of a machine's person keeps."""
    libraries = Libraries(server.data, server.served.context.database)
    with libraries.to_read(server.person(machine).handle) as library:
        archive = library.archive
        assert archive is not None
        return b"".join(
            piece for file in archive.files.values() for version in file.versions for piece in archive.content(version)
        )


@pytest.mark.all
def test_a_worker_that_is_killed_while_it_masks_leaves_no_secret(server: Server) -> None:
    points, dies_at = 1, 0
    while dies_at <= points:
        machine = _pushed(server)
        with server.served.context.database.transaction() as connection:
            mask_arrivals(connection, server.owner(), is_on=True)
            connection.execute("delete from job where about <> %s", (server.person(machine).handle,))
        died = server.run("work", dies_at, server.address, server.data)
        if dies_at == 0:
            points = int(died.stdout)
            assert points > 3
        else:
            assert died.returncode == -signal.SIGKILL, (dies_at, died.stderr)
        server.finish()
        assert TOKEN.encode() not in _kept(server, machine), dies_at
        browser = server.served.signed_in(server.person(machine).handle)
        assert TOKEN not in browser.get(f"/chats/{session_uuid('a')}").text, dies_at
        found = browser.get("/api/v1/search", params={"q": f'"{TOKEN}"'}).json()
        assert found["chats"] == [], dies_at
        assert len(browser.get("/api/v1/chats").json()["chats"]) == 2, dies_at
        assert machine.device.verify(machine.remote, deep=True).is_whole, dies_at
        with server.served.context.database.transaction() as connection:
            mask_arrivals(connection, server.owner(), is_on=False)
        dies_at += max(1, points // 4)


def test_a_worker_that_is_killed_while_it_removes_what_was_taken_back_finishes(server: Server) -> None:
    points = 12
    for dies_at in [0, *some(range(1, points), points)]:
        machine = _pushed(server)
        shop = session_uuid("a")
        machine.device.mode_of = lambda file, shop=shop: SyncMode.OFF if shop in file.path else SyncMode.FULL  # type: ignore[misc]
        machine.device.withdraw(machine.remote)
        died = server.run("work", dies_at, server.address, server.data)
        assert died.returncode in (0, -signal.SIGKILL), died.stderr
        server.finish()
        assert b"zyxparser" not in _kept(server, machine), dies_at
        assert b"zyxquokka" in _kept(server, machine), dies_at
        browser = server.served.signed_in(server.person(machine).handle)
        assert [chat["id"] for chat in browser.get("/api/v1/chats").json()["chats"]] == [session_uuid("b")], dies_at
        machine.device.mode_of = lambda _: SyncMode.FULL
        machine.device.push(machine.remote)
        server.finish()
        assert b"zyxparser" in _kept(server, machine), dies_at
        assert machine.device.verify(machine.remote, deep=True).is_whole, dies_at


@pytest.mark.all
def test_an_undoing_that_is_killed_anywhere_is_finished(server: Server, tmp_path: Path) -> None:
    for path, data in session_file("b", OTHER).items():
        (tmp_path / Path(path).name).write_bytes(data)
    database, points, dies_at = server.served.context.database, 1, 0
    while dies_at <= points:
        machine = server.new_machine()
        machine.push(a=SAID)
        server.finish()
        person = server.person(machine)
        before = server.totals(machine), _kept(server, machine)
        done = import_history(
            database, server.served.context.objects, Libraries(server.data, database), person, tmp_path,
            server.data / "imports" / person.handle,
        )  # fmt: skip
        server.finish()
        assert b"zyxquokka" in _kept(server, machine)
        with database.transaction() as connection:
            ask_undo(connection, None, done.device)
        died = server.run("work", dies_at, server.address, server.data)
        if dies_at == 0:
            points = int(died.stdout)
            assert points > 3
        else:
            assert died.returncode == -signal.SIGKILL, (dies_at, died.stderr)
        server.finish()
        assert (server.totals(machine), _kept(server, machine)) == before, dies_at
        assert not [one for one in server.served.context.objects.list() if "import" in one.name], dies_at
        dies_at += max(1, points // 4)
