"""An encrypted remote, as people use it: the passphrase, the recovery sheet, and a key.json that is lost or swapped."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.test_sync import BLOG, S1, S2, SHOP, Machine

WORDS = "correct horse"


@pytest.fixture(autouse=True)
def _passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", WORDS)


@pytest.fixture
def cloud(tmp_path: Path, laptop: Machine, desktop: Machine) -> Path:
    """An encrypted folder that both machines sync with."""
    folder = tmp_path / "cloud"
    folder.mkdir()
    for machine in (laptop, desktop):
        ran = machine.run("sync", "add", "cloud", folder, "--yes")
        assert ran.returncode == 0, ran.stderr
    assert laptop.run("sync").returncode == 0
    return folder


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "laptop", SHOP, "S1")


@pytest.fixture
def desktop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "desktop", BLOG, "S2")


@pytest.fixture
def sheet(tmp_path: Path, cloud: Path, laptop: Machine) -> Path:
    """The recovery sheet, typed into a file."""
    assert cloud.exists()
    path = tmp_path / "sheet.txt"
    path.write_text(laptop.run("sync", "recovery", "cloud").stdout)
    return path


def new_machine(root: Path) -> Machine:
    machine = Machine(root, "new", "", "S3")
    shutil.rmtree(machine.home)
    (machine.home / "projects").mkdir(parents=True)
    return machine


def key_object(cloud: Path) -> Path:
    return cloud / "backscroll" / "1" / "key.json"


def test_two_machines_lost_one_passphrase_and_the_sheet_left_everything_back(
    tmp_path: Path, cloud: Path, sheet: Path, laptop: Machine, desktop: Machine
) -> None:
    for machine in (laptop, desktop):
        shutil.rmtree(machine.home)
        shutil.rmtree(machine.library)
    key_object(cloud).unlink()
    machine = new_machine(tmp_path)
    ran = machine.run("sync", "add", "cloud", cloud, "--yes")
    assert ran.returncode == 1
    assert "its backscroll/1/key.json is missing" in ran.stderr
    ran = machine.run("sync", "add", "cloud", cloud, "--yes", "--recovery", sheet)
    assert ran.returncode == 0, ran.stderr
    assert {chat["id"] for chat in machine.json("list")["chats"]} == {S1, S2}
    assert [chat["id"] for chat in machine.json("search", "zirconium")["chats"]] == [S2]
    assert key_object(cloud).is_file()
    assert machine.run("sync", "verify", "--deep").returncode == 0
    again = new_machine(tmp_path / "again")  # without the sheet
    assert again.run("sync", "add", "cloud", cloud, "--yes").returncode == 0
    assert {chat["id"] for chat in again.json("list")["chats"]} == {S1, S2}


def test_a_machine_is_told_by_its_name_from_the_beginning(tmp_path: Path, cloud: Path, laptop: Machine) -> None:
    assert cloud.exists()
    said = new_machine(tmp_path).run("sync", "add", "cloud", cloud, "--yes").stdout
    name = json.loads((laptop.library / "machine.json").read_text())["id"]
    assert f"  {name}: known from now on by the key" in said


def test_a_lost_or_swapped_key_object_is_noticed_and_mended(tmp_path: Path, cloud: Path, laptop: Machine) -> None:
    right = key_object(cloud).read_bytes()
    other = tmp_path / "other"
    assert new_machine(tmp_path).run("sync", "add", "x", other, "--create", "--yes").returncode == 0
    for foreign in (None, b"{", key_object(other).read_bytes()):
        key_object(cloud).unlink()
        if foreign is not None:
            key_object(cloud).write_bytes(foreign)
        ran = laptop.run("sync", "verify")
        assert ran.returncode == 1
        assert "NOT EQUAL" in ran.stdout
        assert "key.json was" in ran.stdout
        ran = laptop.run("sync")
        assert ran.returncode == 0, ran.stderr
        assert "it was written again" in ran.stdout
        assert key_object(cloud).read_bytes() == right
        assert laptop.run("sync", "verify").returncode == 0


def test_a_link_or_a_fifo_in_its_place_is_removed_and_a_folder_is_said(cloud: Path, laptop: Machine) -> None:
    place = key_object(cloud)
    right = place.read_bytes()
    for make in (os.mkfifo, lambda place: place.symlink_to("/dev/zero")):
        place.unlink()
        make(place)
        assert "it was written again" in laptop.run("sync").stdout
        assert (place.is_file(), place.is_symlink()) == (True, False), "else the next line would wait for ever"
        assert place.read_bytes() == right
        assert laptop.run("sync", "verify").returncode == 0
    place.unlink()
    place.mkdir()
    ran = laptop.run("sync")
    assert ran.returncode == 1
    assert "key.json cannot be written: something else has its name" in ran.stdout
    place.rmdir()
    place.with_name(".key.json.icloud").touch()  # only a placeholder is here
    ran = laptop.run("sync")
    assert ran.returncode == 0
    assert "key.json" not in ran.stdout
    assert not place.exists()


def test_a_remote_that_was_started_anew_is_left_alone(
    cloud: Path, laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(cloud / "backscroll")
    laptop.run("sync", "remove", "cloud")
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", "battery staple")
    assert laptop.run("sync", "add", "cloud", cloud, "--yes").returncode == 0
    before = {path: path.read_bytes() for path in cloud.rglob("*") if path.is_file()}
    ran = desktop.run("sync")
    assert ran.returncode == 1
    assert "was started anew with another passphrase" in ran.stderr
    assert {path: path.read_bytes() for path in cloud.rglob("*") if path.is_file()} == before


def test_what_is_wrong_with_a_sheet_is_told_apart(
    tmp_path: Path, cloud: Path, sheet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = new_machine(tmp_path)
    add = ("sync", "add", "cloud", cloud, "--yes", "--recovery")
    typo = tmp_path / "typo.txt"
    line = next(line for line in sheet.read_text().splitlines() if line.strip().startswith("2:"))
    wrong = line[:-1] + ("0" if line[-1] != "0" else "1")
    typo.write_text(sheet.read_text().replace(line, wrong))
    assert "line 2 is mistyped in the recovery sheet" in machine.run(*add, typo).stderr
    other = tmp_path / "other"
    maker = new_machine(tmp_path / "maker")
    assert maker.run("sync", "add", "x", other, "--create", "--yes").returncode == 0
    foreign = tmp_path / "foreign.txt"
    foreign.write_text(maker.run("sync", "recovery", "x").stdout)
    assert "is of another remote" in machine.run(*add, foreign).stderr
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", "battery staple")
    assert "the passphrase is wrong" in machine.run(*add, sheet).stderr
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", WORDS)
    key_object(cloud).write_bytes(key_object(other).read_bytes())
    ran = machine.run(*add, "-", given=sheet.read_text())
    assert ran.returncode == 0, ran.stderr
    assert "key.json was not that of this remote; it is written again" in ran.stderr
    assert {chat["id"] for chat in machine.json("list")["chats"]} == {S1, S2}


def test_the_sheet_has_neither_key_nor_passphrase(cloud: Path, sheet: Path, laptop: Machine) -> None:
    assert cloud.exists()
    text = sheet.read_text()
    assert f"Address   {cloud}" in text
    assert WORDS not in text
    assert "Neither the passphrase nor the key is on this sheet" in text
    key = (laptop.library / "sync" / "cloud.key").read_text()
    assert key not in text.lower().replace(" ", "")
    assert len(laptop.json("sync", "recovery", "cloud")["lines"]) == 4


def test_the_variable_alone_encrypts_a_new_remote_and_is_told_where_it_does_nothing(
    tmp_path: Path, laptop: Machine, desktop: Machine
) -> None:
    ran = laptop.run("sync", "add", "a", tmp_path / "a", "--create", "--yes")
    assert "This remote is encrypted, with the passphrase in BACKSCROLL_PASSPHRASE." in ran.stderr
    assert key_object(tmp_path / "a").is_file()
    ran = laptop.run("sync", "add", "b", tmp_path / "b", "--create", "--yes", "--no-encrypt")
    assert ran.returncode == 0
    assert not key_object(tmp_path / "b").exists()
    ran = desktop.run("sync", "add", "b", tmp_path / "b", "--yes")
    assert ran.returncode == 0
    assert "BACKSCROLL_PASSPHRASE is not used: this remote is not encrypted." in ran.stderr
    ran = desktop.run("sync", "add", "c", tmp_path / "b", "--yes", "--encrypt")
    assert "in use without encryption" in ran.stderr


def test_an_encrypted_remote_of_an_earlier_version_gets_what_it_lacks(cloud: Path, laptop: Machine) -> None:
    facts = json.loads(key_object(cloud).read_bytes())
    del facts["check"]
    key_object(cloud).write_text(json.dumps(facts))
    (laptop.library / "sync" / "cloud.key.json").unlink()
    assert laptop.run("sync").returncode == 0  # it is kept, unproved
    assert "check" not in json.loads(key_object(cloud).read_bytes())
    assert laptop.run("sync", "recovery", "cloud").returncode == 0  # the passphrase proves it
    assert laptop.run("sync").returncode == 0
    assert json.loads(key_object(cloud).read_bytes())["check"]
