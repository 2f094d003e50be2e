"""A machine that was set back, lost its archive, or has a twin: nothing leaves the remote, and the user is told."""

import hashlib
import shutil
from pathlib import Path

import pytest

from backscroll.sync.remotes import Remote
from backscroll.sync.sender import CopiedLibraryError
from backscroll.sync.signing import Signer
from tests.sync.support import SESSION, Device

ONE, TWO, THREE = (SESSION.format(number) for number in (1, 2, 3))
LINE = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'


def send(remote: Remote, device: Device) -> int:
    """Keep and push; how many files on the remote this machine does not know."""
    device.keep()
    return device.push(remote).unknown


def taken(remote: Remote, root: Path, device: str = "laptop") -> dict[str, list[bytes]]:
    """What a machine gets that comes new to the remote."""
    fresh = Device(root / str(len(list(root.iterdir()))), "fresh")
    assert fresh.pull(remote).problems == []
    return fresh.contents(device)


@pytest.fixture
def laptop(tmp_path: Path) -> Device:
    return Device(tmp_path, "laptop")


def set_back(remote: Remote, laptop: Device) -> None:
    """The laptop sends more, and is then as it was before."""
    laptop.write(ONE, LINE % 1)
    laptop.write(TWO, LINE % 2)
    send(remote, laptop)
    backup = laptop.root.with_name("backup")
    shutil.copytree(laptop.root, backup)
    laptop.append(ONE, LINE % 3)
    laptop.write(THREE, LINE % 4)
    send(remote, laptop)
    shutil.rmtree(laptop.root)
    backup.rename(laptop.root)


def test_what_a_machine_that_was_set_back_does_not_have_stays_on_the_remote(
    remote: Remote, laptop: Device, tmp_path: Path
) -> None:
    set_back(remote, laptop)
    for _ in range(2):
        assert send(remote, laptop) == 2, "it has less of ONE, and nothing of THREE"
        assert taken(remote, tmp_path) == {ONE: [LINE % 1 + LINE % 3], TWO: [LINE % 2], THREE: [LINE % 4]}
    laptop.append(TWO, LINE % 5)
    assert send(remote, laptop) == 2
    assert taken(remote, tmp_path)[TWO] == [LINE % 2 + LINE % 5]


@pytest.mark.parametrize("signs_first", [True, False], ids=["signed", "signed-later"])
def test_what_a_machine_sent_before_it_was_set_up_anew_from_an_older_backup_stays(
    remote: Remote, laptop: Device, tmp_path: Path, signs_first: bool
) -> None:
    laptop.write(ONE, LINE % 1)
    signer = laptop.signer
    laptop.signer = signer if signs_first else None
    send(remote, laptop)
    backup = tmp_path / "backup"
    shutil.copytree(laptop.root / "archive", backup)
    laptop.signer = signer
    laptop.write(TWO, LINE % 2)
    send(remote, laptop)
    stored = {one.name: remote.get(one.name) for one in remote.list()}
    shutil.rmtree(laptop.root)
    anew = Device(tmp_path, "laptop")
    shutil.copytree(backup, anew.root / "archive")
    anew.key = b"made anew"
    anew.signer = Signer(hashlib.sha256(anew.key).digest())
    for _ in range(2):
        with pytest.raises(CopiedLibraryError, match="sync enroll"):
            anew.push(remote)
    assert {one.name: remote.get(one.name) for one in remote.list()} == stored
    anew.machine = "laptop-2"  # as `sync enroll` does
    shutil.rmtree(anew.state_path.parent)
    anew.write(THREE, LINE % 3)
    send(remote, anew)
    anew.pull(remote)
    assert taken(remote, tmp_path, "laptop") == {ONE: [LINE % 1], TWO: [LINE % 2]}
    assert TWO in anew.contents("laptop-copy")


def test_a_file_that_grows_as_before_goes_on(remote: Remote, laptop: Device, tmp_path: Path) -> None:
    set_back(remote, laptop)
    send(remote, laptop)
    laptop.append(ONE, LINE % 3 + LINE % 6)
    send(remote, laptop)
    assert taken(remote, tmp_path)[ONE] == [LINE % 1 + LINE % 3 + LINE % 6]
    assert laptop.push(remote).objects == 0


def test_a_file_that_grows_otherwise_is_told_and_nothing_is_lost_under_a_new_name(
    remote: Remote, laptop: Device, tmp_path: Path
) -> None:
    set_back(remote, laptop)
    send(remote, laptop)
    laptop.append(ONE, LINE % 7 * 2)
    laptop.keep()
    with pytest.raises(CopiedLibraryError, match="sync enroll"):
        laptop.push(remote)
    assert taken(remote, tmp_path)[ONE] == [LINE % 1 + LINE % 3]
    shutil.rmtree(laptop.state_path.parent)  # as `sync enroll` does
    laptop.machine = "laptop-2"
    assert send(remote, laptop) == 0
    assert laptop.pull(remote).problems == []
    assert laptop.contents("laptop-copy") == {ONE: [LINE % 1 + LINE % 3], TWO: [LINE % 2], THREE: [LINE % 4]}
    assert laptop.contents("laptop") == {ONE: [LINE % 1 + LINE % 7 * 2], TWO: [LINE % 2]}


@pytest.mark.parametrize("phases", [1, 3], ids=["as long", "shorter"])
def test_a_machine_that_was_set_back_with_the_remote_is_followed_before_it_sends_more(
    remote: Remote, laptop: Device, tmp_path: Path, phases: int
) -> None:
    laptop.write(ONE, LINE % 1)
    send(remote, laptop)
    desktop = Device(tmp_path, "desktop")
    desktop.pull(remote)
    yesterday = {one.name: remote.get(one.name) for one in remote.list()}
    for number in range(phases):
        laptop.append(ONE, LINE % (10 + number))
        send(remote, laptop)
        desktop.pull(remote)
    for one in [*remote.list()]:
        remote.delete(one.name)
    for name, data in yesterday.items():
        remote.put(name, data)
    desktop.pull(remote)
    assert desktop.contents("laptop") == laptop.contents("laptop")
    shutil.rmtree(laptop.state_path.parent)
    laptop.append(ONE, LINE % 1234567)
    send(remote, laptop)
    assert desktop.has_news(remote)
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop") == laptop.contents("laptop")
    assert not desktop.has_news(remote)


def test_a_copy_whose_file_is_shorter_and_another_is_told_at_once(remote: Remote, laptop: Device) -> None:
    backup = laptop.root.with_name("backup")
    shutil.copytree(laptop.root, backup)
    laptop.write(ONE, LINE % 1 + LINE % 2)
    send(remote, laptop)
    shutil.rmtree(laptop.root)
    backup.rename(laptop.root)
    laptop.write(ONE, LINE % 3)
    with pytest.raises(CopiedLibraryError, match="sync enroll"):
        send(remote, laptop)


@pytest.mark.parametrize("text", ["ours", "ours, and longer", "our"])
def test_a_copy_that_makes_a_file_of_the_same_name_is_told(remote: Remote, laptop: Device, text: str) -> None:
    backup = laptop.root.with_name("backup")
    shutil.copytree(laptop.root, backup)
    laptop.write("plans/plan.md", b"your\n")
    send(remote, laptop)
    shutil.rmtree(laptop.root)
    backup.rename(laptop.root)
    assert send(remote, laptop) == 0  # a file that belongs to no session
    laptop.write("plans/plan.md", f"{text}\n".encode())
    with pytest.raises(CopiedLibraryError, match="sync enroll"):
        send(remote, laptop)


def test_an_archive_that_is_lost_empties_no_remote(remote: Remote, laptop: Device, tmp_path: Path) -> None:
    laptop.write(ONE, LINE % 1)
    laptop.write(TWO, LINE % 2)
    send(remote, laptop)
    shutil.rmtree(laptop.root / "archive")
    laptop.delete(TWO)
    assert send(remote, laptop) == 1
    assert taken(remote, tmp_path) == {ONE: [LINE % 1], TWO: [LINE % 2]}
    laptop.forget(TWO)
    assert send(remote, laptop) == 0
    assert taken(remote, tmp_path) == {ONE: [LINE % 1]}


def test_two_machines_of_one_name_take_nothing_from_each_other_and_are_told(
    remote: Remote, laptop: Device, tmp_path: Path
) -> None:
    twin = Device(tmp_path / "elsewhere", "laptop")
    laptop.write(ONE, LINE % 1)
    twin.write(TWO, LINE % 2)
    send(remote, laptop)
    assert send(remote, twin) == 1
    assert send(remote, laptop) == 1
    laptop.append(ONE, LINE % 3)
    assert send(remote, laptop) == 1
    assert send(remote, twin) == 1
    assert taken(remote, tmp_path) == {ONE: [LINE % 1 + LINE % 3], TWO: [LINE % 2]}
