"""Check a backup without a server; restore one person or one project of it into a server that has others."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.policy import SyncMode
from backscroll.sync.remotes import Remote
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import Machine, invited, machine_of, owner_of_server
from tests.team.served import Browser, Served, serving

ZOO = "@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka\nb <- a assistant(m1): the zyxquokka is fed"
SHOP = "@ cwd=/home/dev/shop\nc <- - user: count the zyxwalrus\nd <- c assistant(m2): one"
PIER = "@ cwd=/home/dev/shop\ne <- - user: paint the zyxpier\nf <- e assistant(m3): done"


@dataclass
class Made:
    """A server with Ada, Bob and Cleo, and a backup of it."""

    served: Served
    folder: Path
    address: str
    machines: dict[str, Machine]

    @property
    def backup(self) -> Path:
        return self.folder / "backup"

    def run(self, *words: object, fails: bool = False) -> str:
        done = run_command("server", *words, "--data", self.folder / "server", "--database", self.address)
        assert (done.returncode != 0) is fails, done.stderr
        return done.stderr if fails else done.stdout

    def is_idle(self) -> bool:
        with self.served.context.database.transaction() as connection:
            return connection.execute("select 1 from job").fetchone() is None


@contextmanager
def _made(postgres: EmbeddedPostgres, folder: Path) -> Iterator[Made]:
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        ada, bob, cleo = invited(served, "ada", "bob", "cleo")
        machines = {one.handle: machine_of(served, one, folder / "machines") for one in (ada, bob, cleo)}
        made = Made(served, folder, url, machines)
        machines["ada"].push(zoo=ZOO)
        machines["ada"].push(shop=SHOP)
        machines["bob"].push(pier=PIER)
        machines["cleo"].push(shop=SHOP)
        browser = served.signed_in("ada")
        until(lambda: _finds(browser, "zyxwalrus") and _finds(browser, "zyxquokka"))
        browser.submit(f"/chats/{session_uuid('zoo')}/marks", note="a dear note")
        browser.submit("/prompts", name="feed", text="feed {{animal}}", tags="zoo")
        until(made.is_idle)
        made.run("backup", made.backup, "--with-objects")
        yield made


@pytest.fixture(scope="module")
def made(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with _made(postgres, tmp_path_factory.mktemp("parts")) as made:
        yield made


def _finds(browser: Browser, word: str) -> bool:
    return bool(browser.get("/api/v1/search", params={"q": f"{word} owner:me"}).json().get("chats"))


def _objects_of(objects: Remote, handle: str) -> dict[str, bytes]:
    return {one.name: objects.get(one.name) for one in objects.list(f"backscroll/1/{handle}%2F")}


def test_a_backup_is_checked_without_a_server(made: Made, tmp_path: Path) -> None:
    done = run_command("server", "backup", made.backup, "--check")
    assert done.returncode == 0, done.stderr
    assert "The backup is complete" in done.stdout
    found = json.loads(run_command("server", "backup", made.backup, "--check", "--json").stdout)
    assert [one["handle"] for one in found["people"]] == ["ada", "admin", "bob", "cleo"]
    assert found["people"][0]["objects"] == len(_objects_of(made.served.context.objects, "ada")) == 2
    copy = shutil.copytree(made.backup, tmp_path / "copy")
    victim = next(path for path in (copy / "objects").rglob("*") if path.is_file())
    victim.write_bytes(victim.read_bytes()[:-1])
    refused = run_command("server", "backup", copy, "--check")
    assert refused.returncode != 0
    assert "the backup is damaged" in refused.stderr
    assert "it has no manifest" in run_command("server", "backup", tmp_path, "--check").stderr


def test_lost_objects_of_a_person_are_put_back_and_nothing_else_changes(made: Made) -> None:
    objects = made.served.context.objects
    before = {handle: _objects_of(objects, handle) for handle in ("ada", "bob")}
    for name in list(before["ada"])[:1]:
        objects.delete(name)
    assert not made.machines["ada"].device.verify(made.machines["ada"].remote, deep=True).is_whole
    said = made.run("restore", made.backup, "--person", "ada")
    assert "0 machines and 1 objects were missing" in said
    assert {handle: _objects_of(objects, handle) for handle in ("ada", "bob")} == before
    assert made.machines["ada"].device.verify(made.machines["ada"].remote, deep=True).is_whole
    assert "0 machines and 0 objects" in made.run("restore", made.backup, "--person", "ada")


def test_what_a_machine_took_back_since_is_not_put_back(made: Made) -> None:
    """Its object was written anew under another name: the one of the backup is not missing."""
    machine, objects = made.machines["bob"], made.served.context.objects
    machine.device.mode_of = lambda _: SyncMode.OFF
    machine.device.withdraw(machine.remote)
    bob = made.served.signed_in("bob")
    until(lambda: not _finds(bob, "zyxpier"))
    until(made.is_idle)
    before = _objects_of(objects, "bob")
    made.run("restore", made.backup, "--person", "bob")
    until(made.is_idle)
    assert _objects_of(objects, "bob") == before
    assert not _finds(bob, "zyxpier")


def test_sessions_of_a_project_come_back_as_an_import(made: Made) -> None:
    cleo = made.served.signed_in("cleo")
    machine = made.machines["cleo"]
    machine.device.mode_of = lambda _: SyncMode.OFF
    machine.device.withdraw(machine.remote)
    until(lambda: not _finds(cleo, "zyxwalrus"))
    until(made.is_idle)
    found = json.loads(made.run("restore", made.backup, "--project", "shop", "--json"))
    assert sorted(found["people"]) == ["ada", "bob", "cleo"]
    assert {handle: (one["new"], one["equal"]) for handle, one in found["people"].items() if handle != "bob"} == {
        "ada": (0, 1),
        "cleo": (1, 0),
    }
    until(lambda: _finds(cleo, "zyxwalrus"))
    until(made.is_idle)
    assert not (made.folder / "server" / "imports" / "restore").exists()
    made.run("import", "--undo", found["people"]["cleo"]["device"])
    assert not _finds(cleo, "zyxwalrus")
    assert "no session in nowhere" in made.run("restore", made.backup, "--project", "nowhere", fails=True)


def test_a_person_moves_to_a_new_server(made: Made, postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    with fresh_database(postgres) as url, serving(url, tmp_path / "new") as served:
        owner_of_server(served)
        words = ("--data", tmp_path / "new", "--database", url)
        done = run_command("server", "restore", made.backup, "--person", "ada", *words)
        assert done.returncode == 0, done.stderr
        assert "who was not here and is a member now" in done.stdout
        assert "1 machines and 2 objects" in done.stdout
        ada = served.signed_in("ada")  # with the password that she had
        until(lambda: _finds(ada, "zyxquokka") and _finds(ada, "zyxwalrus"))
        assert "a dear note" in ada.get(f"/chats/{session_uuid('zoo')}").text
        assert "/prompts/feed" in ada.get("/prompts").text
        assert "ada/laptop" in ada.get("/devices").text
        assert "bob" not in served.signed_in("admin").get("/people").text
        with served.context.database.transaction() as connection:
            assert connection.execute("select about from audit where action = 'person.restore'").fetchone() == ("ada",)
        other = run_command("server", "restore", made.backup, "--person", "admin", *words)
        assert other.returncode == 2
        assert "admin is another person here" in other.stderr
        absent = run_command("server", "restore", made.backup, "--project", "shop", *words)
        assert "Not on this server: bob, cleo" in absent.stdout


@pytest.mark.all
def test_an_erased_person_is_not_brought_back(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    with _made(postgres, tmp_path) as made:
        made.run("erase", "ada", "--yes")
        assert "ada was erased, and is not brought back" in made.run(
            "restore", made.backup, "--person", "ada", fails=True
        )
        assert "Erased, and not brought back: ada." in made.run("restore", made.backup, "--project", "zoo")
        assert not _objects_of(made.served.context.objects, "ada")
        assert "no people called zed" in made.run("restore", made.backup, "--person", "zed", fails=True)


def test_an_erased_person_is_known_however_the_name_is_typed(made: Made) -> None:
    database = made.served.context.database
    with database.transaction() as connection:
        connection.execute(
            "insert into erasure (org, person, handle, reason, asked_by, done)"
            " select org, id, handle, '', 'admin', now() from person where handle = 'cleo'"
        )
    for name in ("cleo", " Cleo"):
        assert "cleo was erased" in made.run("restore", made.backup, "--person", name, fails=True)
    with database.transaction() as connection:
        connection.execute("delete from erasure where handle = 'cleo'")


def test_a_backup_of_an_earlier_version_is_restored(made: Made, postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    """It lacks columns that were added since."""
    copy = shutil.copytree(made.backup, tmp_path / "copy")
    table, manifest = copy / "tables" / "device.jsonl", copy / "manifest.json"
    rows: list[dict[str, Any]] = [json.loads(line) for line in table.read_text().splitlines()]
    for row in rows:
        del row["is_import"], row["undone"]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = json.loads(manifest.read_text())
    told["files"]["tables/device.jsonl"] |= {
        "sha256": sha256(table.read_bytes()).hexdigest(),
        "size": len(table.read_bytes()),
    }
    told["migrations"].remove("0500_imports.sql")
    manifest.write_text(json.dumps(told))
    with fresh_database(postgres) as url:
        done = run_command("server", "restore", copy, "--data", tmp_path / "new", "--database", url)
        assert done.returncode == 0, done.stderr
        assert "Restored 4 people" in done.stdout
