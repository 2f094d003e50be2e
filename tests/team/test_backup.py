"""Back up and restore a server: everyone and everything is back, and who was erased since is erased again."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.sync.remotes import Remote, open_remote
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.audit import broken_at
from backscroll.team.database.connections import Database
from backscroll.team.keeping.erasures import LEDGER
from backscroll.team.operating.backup import DamagedBackupError, check_backup
from backscroll.team.operating.backup_place import open_backup
from backscroll.team.operating.restore import restore_server
from backscroll.team.operating.server_database import prepare
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import PASSWORD, serving

ADAS = "@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka\nb <- a assistant(m1): the zyxquokka is fed"
BOBS = "@ cwd=/home/dev/shop\nc <- - user: count the zyxwalrus\nd <- c assistant(m2): one"


@dataclass
class Backup:
    folder: Path
    server: Path

    def copy_ledger(self, to: Remote) -> None:
        """The bucket outlives the database, and so does the ledger in it."""
        bucket = open_remote(str(self.server / "objects"))
        for one in bucket.list(LEDGER):
            to.put(one.name, bucket.get(one.name))


@pytest.fixture(scope="module")
def backup(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backup]:
    """A backup with Ada and Bob; Ada was erased after it was made."""
    folder = tmp_path_factory.mktemp("kept")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        ada, bob = invited(served, "ada", "bob")
        machine_of(served, ada, folder / "machines").push(zoo=ADAS)
        machine_of(served, bob, folder / "machines").push(shop=BOBS)
        browsers = {name: served.signed_in(name) for name in ("ada", "bob", "admin")}
        until(lambda: "zyxquokka" in browsers["ada"].get("/chats").text)
        until(lambda: "zyxwalrus" in browsers["bob"].get("/chats").text)
        shop = session_uuid("shop")
        browsers["bob"].submit(f"/chats/{shop}/audience", audience="org")
        browsers["bob"].submit(f"/chats/{shop}/marks", note="a dear note")
        for name in ("ada", "bob"):
            browsers[name].submit("/prompts", name="count", text=f"count {{{{what}}}} of {name}", tags="zoo, sums")
            browsers[name].submit("/prompts/count", action="share", audience="org")
        with served.context.database.transaction() as connection:
            connection.execute(
                "insert into backscroll.first_chats"
                " select id, 'a session', 'its first chat' from person where handle = 'bob'"
            )
        words = ("--data", folder / "server", "--database", url)
        done = run_command("server", "backup", folder / "backup", "--with-objects", *words)
        assert done.returncode == 0, done.stderr
        assert "is complete" in done.stdout
        browsers["admin"].submit("/erasures", handle="ada", confirm="ada")
        until(lambda: "in progress" not in browsers["admin"].get("/retention").text)
    yield Backup(folder / "backup", folder / "server")


def test_a_restored_server_has_everything_but_the_erased(
    backup: Backup, postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    objects = open_remote(str(tmp_path / "new" / "objects"))
    backup.copy_ledger(objects)
    with fresh_database(postgres, has_tables=False) as url:
        done = run_command("server", "restore", backup.folder, "--data", tmp_path / "new", "--database", url)
        assert done.returncode == 0, done.stderr
        assert "Erased again: ada" in done.stdout
        assert not list(objects.list("backscroll/1/ada"))
        assert _bytes_in_database(postgres, url, b"zyxquokka") is False
        with serving(url, tmp_path / "new") as served:
            assert served.first_link is None
            bob = served.signed_in("bob")
            until(lambda: "zyxwalrus" in bob.get("/chats").text)
            shop = session_uuid("shop")
            assert "a dear note" in bob.get(f"/chats/{shop}").text
            admin = served.signed_in("admin")
            assert admin.get(f"/chats/{shop}").status_code == 200  # it is shared, as before
            page = admin.get("/prompts").text
            assert "/prompts/bob:count" in page
            assert "#sums" in page
            assert "/prompts/ada:count" not in page
            assert "/people/ada/" not in admin.get("/people").text
            assert served.browser().submit("/sign-in", handle="ada", password=PASSWORD).url.path == "/sign-in"
            with served.context.database.transaction() as connection:
                assert broken_at(connection, 1) is None
                joined = connection.execute("select session, chat from backscroll.first_chats").fetchall()
                assert ("a session", "its first chat") in joined, "it says which chats became one"
            invited(served, "dora")  # numbers go on where they were
        again = run_command("server", "restore", backup.folder, "--data", tmp_path / "new", "--database", url)
        assert again.returncode == 2
        assert "people already" in again.stderr


def test_an_interrupted_restore_shows_nothing_of_the_erased(
    backup: Backup, postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies after the tables are loaded. The server that is started then locks Ada out and erases her."""
    objects = open_remote(str(tmp_path / "objects"))
    backup.copy_ledger(objects)

    def dies(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("backscroll.team.operating.restore.erase_person", dies)
    with fresh_database(postgres) as url:
        database = Database(url)
        prepare(database)
        with pytest.raises(KeyboardInterrupt):
            restore_server(database, objects, Libraries(tmp_path, database), tmp_path, open_backup(str(backup.folder)))
        database.close()
        assert list(objects.list("backscroll/1/ada"))
        with serving(url, tmp_path) as served:
            assert served.browser().submit("/sign-in", handle="ada", password=PASSWORD).url.path == "/sign-in"
            until(lambda: not list(objects.list("backscroll/1/ada")))
            until(lambda: "in progress" not in served.signed_in("admin").get("/retention").text)


def test_a_damaged_backup_is_refused(backup: Backup, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(backup.folder, copy)
    check_backup(open_backup(str(copy)))
    victim = copy / "tables" / "person.jsonl"
    victim.write_bytes(victim.read_bytes().replace(b"bob", b"eve"))
    with pytest.raises(DamagedBackupError, match=r"person\.jsonl"):
        check_backup(open_backup(str(copy)))
    (copy / "manifest.json").unlink()
    with pytest.raises(DamagedBackupError, match="manifest"):
        check_backup(open_backup(str(copy)))


def _bytes_in_database(postgres: EmbeddedPostgres, url: str, wanted: bytes) -> bool:
    with psycopg.connect(postgres.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute("checkpoint")
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        (number,) = connection.execute("select oid from pg_database where datname = %s", (name,)).fetchone() or (0,)
        (data,) = connection.execute("show data_directory").fetchone() or ("",)
    return any(wanted in path.read_bytes() for path in (Path(data) / "base" / str(number)).iterdir() if path.is_file())
