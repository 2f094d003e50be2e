"""Backups go where they are told to, lack nothing that the server knows of, and say so if they do."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.remotes import open_remote
from backscroll.team.operating.backup import MissingObjectsError
from tests.support.command import run_command
from tests.support.postgres import fresh_database, postgres
from tests.support.processes import until
from tests.sync.conftest import s3
from tests.sync.seaweed import KEYS
from tests.team.sending import invited, machine_of
from tests.team.served import Served, serving

__all__ = ["postgres", "s3"]
pytestmark = pytest.mark.slow
ADAS = "@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka\nb <- a assistant(m1): the zyxquokka is fed"
BOBS = "@ cwd=/home/dev/shop\nc <- - user: count the zyxwalrus\nd <- c assistant(m2): one"


@dataclass
class Running:
    """A server with objects of Ada and Bob."""

    served: Served
    data: Path
    database: str

    def backup(self, *words: object, environment: Mapping[str, str] | None = None) -> CompletedProcess[str]:
        place = ("--data", self.data, "--database", self.database)
        return run_command("server", "backup", *words, *place, environment=environment)


@pytest.fixture(scope="module")
def running(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("running")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        ada, bob = invited(served, "ada", "bob")
        machine_of(served, ada, folder / "machines").push(zoo=ADAS)
        machine_of(served, bob, folder / "machines").push(shop=BOBS)
        for browser, word in ((served.signed_in("ada"), "zyxquokka"), (served.signed_in("bob"), "zyxwalrus")):
            until(lambda browser=browser, word=word: word in browser.get("/chats").text)  # type: ignore[misc]
        yield Running(served, folder / "server", url)


REFUSED = {
    "s4://bucket/x": "unknown kind of remote: s4://",
    "ftp://host/x": "unknown kind of remote: ftp://",
    "https://team.example.org/x": "is a server",
    "file://backup/monday": "is not a folder on this machine",
    "s3:/bucket/x": "cannot use s3:/bucket/x",
    "": "empty",
}


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_understood_is_refused(running: Running, tmp_path: Path, address: str) -> None:
    done = run_command(
        "server", "backup", address, "--data", running.data, "--database", running.database, cwd=tmp_path
    )
    assert done.returncode in (1, 2)
    assert REFUSED[address] in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [("export", "s3://bucket/x"), ("migrate", "--data", "s3://bucket/x")], ids=" ".join)
def test_an_address_is_not_taken_for_a_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run_command("server", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "s3://bucket/x is an address; give a path on this machine" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_place_that_is_in_use_is_refused(running: Running, tmp_path: Path) -> None:
    inside = running.backup(running.data / "backup")
    assert inside.returncode == 2
    assert "is inside the data folder" in inside.stderr
    assert not (running.data / "backup").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / ".hidden").write_text("mine")
    assert "is not empty" in running.backup(tmp_path / "full").stderr
    (tmp_path / "file").write_text("mine")
    assert "is a file" in running.backup(tmp_path / "file").stderr


def test_a_backup_that_was_cut_off_is_told(running: Running, tmp_path: Path) -> None:
    assert running.backup(tmp_path / "half", "--with-objects").returncode == 0
    again = running.backup(tmp_path / "half", "--with-objects")
    assert again.returncode == 2
    assert "has a backup already" in again.stderr
    (tmp_path / "half" / "manifest.json").unlink()
    half = running.backup(tmp_path / "half", "--with-objects")
    assert half.returncode == 2
    assert "was not finished" in half.stderr
    for words in (("backup", tmp_path / "half", "--check"), ("restore", tmp_path / "half")):
        done = run_command("server", *words, "--data", tmp_path / "new", "--database", running.database)
        assert done.returncode == 1
        assert "no manifest that can be read" in done.stderr


@pytest.mark.parametrize("option", [(), ("--with-objects",)])
def test_objects_that_are_not_there_fail_the_backup(running: Running, tmp_path: Path, option: tuple[str, ...]) -> None:
    """A wrong --objects: the database knows which machines have stored something."""
    done = running.backup(tmp_path / "backup", *option, "--objects", tmp_path / "elsewhere")
    assert done.returncode == 1
    assert "complete." not in done.stdout
    assert "ada/laptop: all objects" in done.stderr
    assert "bob/laptop: all objects" in done.stderr
    checked = run_command("server", "backup", tmp_path / "backup", "--check", "--json")
    assert checked.returncode == 1
    assert "ada/laptop: all objects" in checked.stderr
    assert len(json.loads(checked.stdout)["missing"]) == 2


def test_a_data_folder_without_the_people_fails_the_backup(running: Running, tmp_path: Path) -> None:
    done = run_command(
        "server", "backup", tmp_path / "backup", "--database", running.database, "--data", tmp_path / "elsewhere",
        "--objects", running.data / "objects",
    )  # fmt: skip
    assert done.returncode == 1
    assert "people/ada, with pins and notes" in done.stderr


def test_one_lost_object_fails_the_backup(running: Running, tmp_path: Path) -> None:
    objects = open_remote(str(running.data / "objects"))
    name = next(one.name for one in objects.list("backscroll/1/ada%2F"))
    data = objects.get(name)
    copy = tmp_path / "copy"
    for one in objects.list():
        open_remote(str(copy)).put(one.name, objects.get(one.name))
    open_remote(str(copy)).put(name.replace("0000000001-0000000001", "0000000003-0000000003"), data)
    done = running.backup(tmp_path / "backup", "--with-objects", "--objects", copy)
    assert done.returncode == 1
    assert "ada/laptop: bundles 2" in done.stderr


@pytest.mark.all
def test_a_backup_into_a_bucket_is_restored_from_it(
    running: Running, postgres: EmbeddedPostgres, tmp_path: Path, s3: str
) -> None:
    environment = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": s3}
    address = f"s3://bucket/{tmp_path.name}/monday"
    done = running.backup(address, "--with-objects", environment=environment)
    assert done.returncode == 0, done.stderr
    assert "is complete" in done.stdout
    assert "has a backup already" in running.backup(address, environment=environment).stderr
    checked = run_command("server", "backup", address, "--check", environment=environment)
    assert checked.returncode == 0, checked.stderr
    assert "ada" in checked.stdout
    assert "their bytes, too" in checked.stdout
    with fresh_database(postgres) as url:
        place = ("--data", tmp_path / "new", "--database", url, "--objects", f"s3://bucket/{tmp_path.name}/objects")
        back = run_command("server", "restore", address, *place, environment=environment)
        assert back.returncode == 0, back.stderr
        assert "Restored 3 people" in back.stdout
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        restored = {one.name: one.size for one in open_remote(place[-1]).list()}
    assert restored == {one.name: one.size for one in open_remote(str(running.data / "objects")).list()}
    assert not list(Path.cwd().glob("s3:*"))


def test_a_restore_without_the_objects_fails_and_lists_them(
    running: Running, postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    assert running.backup(tmp_path / "backup").returncode == 0
    with fresh_database(postgres) as url:
        done = run_command("server", "restore", tmp_path / "backup", "--data", tmp_path / "new", "--database", url)
    assert done.returncode == 1
    assert "Restored 3 people" in done.stdout
    assert "ada/laptop: all objects" in done.stderr


def test_a_long_list_is_cut_off_and_says_so() -> None:
    error = MissingObjectsError("missing", [f"ada/{number}" for number in range(25)])
    assert error.message.count("\n") == 21
    assert error.message.endswith("and 5 more")
