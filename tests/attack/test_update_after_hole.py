"""A server folder of the last version with the hole: what was put into it is out after the update, and nothing is lost.

The old server is started from the repository's history and used as people use it; then its tables are changed past it,
as a member could through the hole.
"""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from backscroll.team.database.connections import OPTIONS, Database
from backscroll.team.operating.server_database import ServerPlace, open_database, running_address
from backscroll.team.people.secrets import digest, hash_password
from tests.attack.as_users import PASSWORD, Started, Visitor, machine, send, started
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.examples import ROOT

pytestmark = pytest.mark.all

LANDED = "cdbd1f1b"
PRIVATE = "@ cwd=/home/dev/work\na <- - user: ask the qvxcanary for help\nb <- a assistant(m1): the qvxcanary sang"
CHAT = session_uuid("private")
STOLEN = "stolen horse battery"
NEW = "staple of another horse"
KEPT = "person team membership share device api_key prompt audit".split()

OF_ZOE = "from person where handle = 'zoe'"
CHANGES: list[tuple[str, list[object]]] = [
    ("update person set role = 'owner' where handle = 'eve'", []),
    ("update person set password = %s where handle = 'ann'", [hash_password(STOLEN)]),
    (f"insert into web_session (digest, person) select %s, id {OF_ZOE}", [digest("bss_stolen")]),
    (
        f"insert into api_key (person, name, digest, scopes) select id, 'x', %s, '{{read}}' {OF_ZOE}",
        [digest("bsk_stolen")],
    ),
    (f"insert into share (owner, chat, title, audience) select id, 'other', 'x', 'org' {OF_ZOE}", []),
    ("insert into membership (team, person) select 1, id from person where handle = 'eve'", []),
    (f"insert into device (person, name, credential) select id, 'zoe/evil', %s {OF_ZOE}", [digest("bsd_stolen")]),
]
"""What a member could do through the hole, without a line in the audit log."""


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The old version's packages."""
    git = shutil.which("git")
    packed = git and subprocess.run([git, "archive", LANDED, "src"], cwd=ROOT, capture_output=True, check=False)
    if not packed or packed.returncode:
        pytest.skip(f"the history of the repository does not have {LANDED}")
    folder = tmp_path_factory.mktemp("landed")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return str(folder / "src")


@contextmanager
def tables(server: Started) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """The tables of a server that runs, as its owner sees them."""
    with psycopg.connect(running_address(server.data), options=OPTIONS) as connection:
        yield connection


def test_what_came_in_through_the_hole_is_out(landed: str, tmp_path: Path) -> None:
    with started("--processes", "1", python_path=landed) as old:
        people = {"admin": old.visitor()}
        people["admin"].open_link(old.link)
        for handle, role in (("zoe", "member"), ("ann", "admin"), ("bob", "member"), ("eve", "member")):
            link = people["admin"].invites(handle, role)
            people[handle] = old.visitor()
            people[handle].open_link(link)
        people["admin"].submit("/people/bob/role", role="auditor")
        people["admin"].submit("/teams", name="Zoo")
        people["admin"].submit("/teams/1", member=["zoe", "bob"], lead="bob")
        send(old, people["zoe"], tmp_path / "zoe", private=PRIVATE)
        people["zoe"].submit("/account/password", current=PASSWORD, new=PASSWORD + "2", again=PASSWORD + "2")
        people["zoe"].submit(f"/chats/{CHAT}/audience", audience="team-1")
        assert "qvxcanary" in people["bob"].get(f"/chats/{CHAT}").text
        people["bob"].submit("/account/keys", name="x", scope="read")
        open_invitation = people["admin"].link_for("ann").partition("link=")[2]
        with tables(old) as connection:  # what a member could do, without a line in the log
            for statement, values in CHANGES:
                connection.execute(statement.encode(), values)
        assert "qvxcanary" in people["eve"].get(f"/chats/{CHAT}").text, "the hole"
        backup = tmp_path / "backup"
        command = [sys.executable, "-m", "backscroll", "server", "backup", str(backup), "--with-objects"]
        command += ["--data", str(old.data)]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": landed}, check=True, stdout=subprocess.DEVNULL)
        kept = shutil.copytree(old.data, tmp_path / "kept", ignore=shutil.ignore_patterns("postgres"))
        old.process.send_signal(signal.SIGINT)
        old.process.wait()
        before = _rows(old.data)

        with started("--port", old.url.rpartition(":")[2], data=old.data) as new:
            told = new.log.read_text()
            assert "eve: is owner; the audit log says member" in told
            assert "ann: the password may not be theirs" in told
            assert "zoe: the machine zoe/evil was connected; it is revoked" in told
            assert "zoe: the chat other was shared; it is no longer" in told
            assert "eve: is in the team Zoo; sees only what is shared with it from now on" in told
            for name in ("admin", "zoe", "bob"):
                assert not re.search(rf"^  {name}: (is owner|is auditor|the password)", told, re.MULTILINE), told
            assert "database: has" not in told
            _all_out(new, people, open_invitation)
            _back_in(new, tmp_path)
        after = _rows(old.data)
        assert all(after[table] >= before[table] for table in KEPT), "nothing is deleted"
        assert _files(kept) == _files(old.data)

        # A backup of the old version brings the same things back, and they are out again.
        restored = old.data.with_name("restored")
        done = run_command("server", "restore", backup, "--data", restored)
        assert "eve: is owner; the audit log says member" in done.stdout, done.stderr
        with started(data=restored) as new:
            _all_out(new, people, open_invitation)
            assert new.visitor().sign_in("zoe", PASSWORD + "2").url.path == "/welcome"


def _all_out(new: Started, people: dict[str, Visitor], invitation: str) -> None:
    """Sessions, keys, machines and links from before."""
    for visitor in people.values():
        there = new.visitor()
        for cookie in visitor.cookies.jar:
            there.cookies.set(f"backscroll-team-{new.url.rpartition(':')[2]}", cookie.value or "")
        assert there.get("/account").url.path == "/sign-in"
    stranger = new.visitor()
    for secret in ("bsk_stolen", "bsd_stolen"):
        headers = {"authorization": f"Bearer {secret}"}
        assert stranger.get("/api/v1/chats", headers=headers).status_code == 401
        assert stranger.get("/sync/v1/objects", headers=headers).status_code == 401
    assert stranger.get(f"/welcome?link={invitation}").status_code == 404


def _back_in(new: Started, folder: Path) -> None:
    """Everyone chooses a new password; where the log cannot say whose a password is, it has to be confirmed."""
    zoe, ann, eve, bob = (new.visitor() for _ in range(4))
    page = zoe.sign_in("zoe", PASSWORD + "2")
    assert page.url.path == "/welcome"
    assert "Choose a new password" in page.text
    assert zoe.get("/chats").url.path == "/sign-in"
    zoe.open_link(str(page.url), NEW)
    assert "qvxcanary" in zoe.get(f"/chats/{CHAT}").text
    assert new.visitor().sign_in("zoe", PASSWORD + "2").url.path == "/sign-in"

    bob.open_link(str(bob.sign_in("bob").url), NEW)
    assert "qvxcanary" in bob.get(f"/chats/{CHAT}").text, "it was shared with his team, on a page"

    assert ann.sign_in("ann").url.path == "/sign-in", "her password was replaced"
    ann.open_link(str(ann.sign_in("ann", STOLEN).url), NEW)
    assert ann.get("/people").url.path == "/recovery"
    eve.open_link(str(eve.sign_in("eve").url), NEW)
    assert eve.get(f"/chats/{CHAT}").url.path == "/recovery", "her row was changed past the log, too"

    said = new.operator("recover", "eve", "--yes")
    eve.open_link(said.partition("followed by ")[2].split()[0], NEW)
    assert eve.get("/account").url.path == "/account"
    assert eve.get(f"/chats/{CHAT}").status_code == 404, "her place in the team is not in the log"
    log = re.sub(r"<[^>]+>", " ", eve.get("/audit").text)
    assert "server.reset" in log
    assert re.search(r"reset\.role\s+eve\s+is owner; the audit log says member", log)
    assert "chain is intact" in log
    assert machine(folder / "zoe", "sync").returncode == 0, "her machine is still connected"


def _files(data: Path) -> dict[str, bytes]:
    """The objects, which everything else is made of."""
    objects = data / "objects"
    return {str(path.relative_to(objects)): path.read_bytes() for path in objects.rglob("*") if path.is_file()}


def _rows(data: Path) -> dict[str, int]:
    """How many rows each table has."""
    with open_database(ServerPlace(data)) as database:
        return _counted(database)


def _counted(database: Database) -> dict[str, int]:
    with database.transaction() as connection:
        names = connection.execute(
            "select relname from pg_class where relnamespace = 'team'::regnamespace and relkind = 'r'"
        ).fetchall()
        counts = {}
        for (name,) in names:
            (count,) = connection.execute(f"select count(*) from {name}").fetchone() or (0,)
            counts[str(name)] = int(count)
        return counts
