"""sync trust: the keys of machines are listed, what others signed is refused and said, and a new key is accepted."""

import json
import shutil
from pathlib import Path

import pytest

from backscroll.sync.signing import fingerprint
from tests.attack.sync.who_forging import ForgedKey, forge
from tests.cli.test_sync import BLOG, SHOP, Machine

MALLORY = ForgedKey(b"mallory")
PATH = "projects/-x/11111111-1111-4111-8111-000000000001.jsonl"


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "laptop", SHOP, "S1")


@pytest.fixture
def desktop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "desktop", BLOG, "S2")


@pytest.fixture
def nas(tmp_path: Path, laptop: Machine, desktop: Machine) -> Path:
    """A folder that both machines sync with; the laptop has taken what the desktop sent."""
    folder = tmp_path / "nas"
    folder.mkdir()
    for machine in (desktop, laptop):
        assert machine.run("sync", "add", "nas", folder, "--yes").returncode == 0
    return folder


def own(machine: Machine) -> dict[str, str]:
    """The name and the key of a machine."""
    keys: dict[str, str] = machine.json("sync", "trust")["own"]
    return keys


@pytest.mark.usefixtures("nas")
def test_each_machine_knows_the_key_that_the_other_has(laptop: Machine, desktop: Machine) -> None:
    (known,) = laptop.json("sync", "trust")["machines"]
    assert (known["machine"], known["key"], known["refused"]) == (*own(desktop).values(), None)
    (there,) = (one for one in laptop.json("sync", "status")["remotes"][0]["devices"] if not one["is_own"])
    assert (there["key"], there["refused"]) == (known["key"], None)
    text = laptop.run("sync", "trust").stdout
    assert f"{own(laptop)['machine']} (this machine): {fingerprint(own(laptop)['key'])}" in text
    assert f"{known['machine']}: {fingerprint(known['key'])}" in text
    assert f"signs with the key {fingerprint(known['key'])}" in laptop.run("sync", "status").stdout


def test_what_another_key_signed_is_refused_and_said_until_it_is_gone(
    laptop: Machine, desktop: Machine, nas: Path
) -> None:
    name = own(desktop)["machine"]
    forge(nas, name, b'{"type":"user"}\n', path=PATH, key=MALLORY)
    ran = laptop.run("sync")
    assert (ran.returncode, f"run backscroll sync trust {name}" in ran.stdout) == (1, True)
    assert f"refused: what is signed with {fingerprint(MALLORY.public)}" in laptop.run("sync", "status").stdout
    assert desktop.run("sync").returncode == 0  # which removes it
    assert laptop.run("sync").returncode == 0
    assert "refused" not in laptop.run("sync", "status").stdout


def test_a_machine_that_was_set_up_anew_is_taken_once_its_key_is_accepted(
    laptop: Machine, desktop: Machine, nas: Path
) -> None:
    name = own(desktop)["machine"]
    shutil.rmtree(desktop.library / "sync")  # the library comes back from a backup, which has no keys
    shutil.rmtree(nas / "backscroll" / "1" / name)
    assert desktop.run("sync", "add", "nas", nas, "--yes").returncode == 0
    assert own(desktop)["machine"] == name
    assert laptop.run("sync").returncode == 1
    ran = laptop.run("sync", "trust", name)
    assert (ran.returncode, "nothing is trusted until you agree" in ran.stderr) == (2, True)
    accepted = laptop.json("sync", "trust", name, "--yes")
    assert (accepted["key"], accepted["refused"]) == (own(desktop)["key"], None)
    assert laptop.run("sync").returncode == 0
    keys = json.loads((laptop.library / "sync" / "keys.json").read_text())
    assert [one["key"] for one in keys] == [own(desktop)["key"]]


@pytest.mark.usefixtures("nas")
def test_only_what_was_refused_can_be_accepted(laptop: Machine, desktop: Machine) -> None:
    ran = laptop.run("sync", "trust", own(desktop)["machine"], "--yes")
    assert "nothing was refused of" in ran.stderr
    assert "has not signed anything yet" in laptop.run("sync", "trust", "nobody", "--yes").stderr
