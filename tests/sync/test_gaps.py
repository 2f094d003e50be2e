"""What cannot be read of a machine is passed over, and taken when it can; what comes after it arrives all the same."""

import shutil
from pathlib import Path

import pytest

from backscroll.sync.remotes import Folder
from tests.attack.sync.hostile_objects import bundle, lay, name_of, segment
from tests.sync.support import SESSION, Device

FILES = [SESSION.format(number) for number in range(1, 5)]
LINE = b'{"type":"user","n":%d}\n'


@pytest.fixture
def remote(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "remote")


@pytest.fixture
def laptop(tmp_path: Path, remote: Folder) -> Device:
    """A machine that has sent one session after another."""
    laptop = Device(tmp_path, "laptop")
    for number, path in enumerate(FILES):
        laptop.write(path, LINE % number)
        laptop.append(FILES[0], LINE % number)
        send(laptop, remote)
    return laptop


def send(device: Device, remote: Folder) -> None:
    device.keep()
    device.push(remote)


def objects_in(remote: Folder) -> list[Path]:
    return [remote.root / one.name for one in sorted(remote.list())]


def test_what_comes_after_a_torn_object_is_taken_and_the_rest_when_it_is_healed(
    remote: Folder, laptop: Device, tmp_path: Path
) -> None:
    torn = objects_in(remote)[1]
    torn.write_bytes(torn.read_bytes()[:-5])
    desktop = Device(tmp_path, "desktop")
    for _ in range(2):
        (problem, *more) = desktop.pull(remote).problems
        assert "bundle 2 was left out until that machine writes them again" in " ".join((problem, *more))
        assert desktop.has_news(remote)
    contents = desktop.contents("laptop")
    assert set(contents) == {FILES[0], FILES[2], FILES[3]}
    assert contents[FILES[0]] == [LINE % 0 * 2]
    send(laptop, remote)
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop") == laptop.contents("laptop")
    assert not desktop.has_news(remote)


def test_an_older_state_of_a_small_file_does_not_come_after_a_newer_one(
    remote: Folder, laptop: Device, tmp_path: Path
) -> None:
    for text in (b"one", b"two", b"three"):
        laptop.write("plans/plan.md", text)
        send(laptop, remote)
    torn = objects_in(remote)[-2]
    whole = torn.read_bytes()
    torn.write_bytes(whole[:-2])
    desktop = Device(tmp_path, "desktop")
    desktop.pull(remote)
    assert desktop.contents("laptop")["plans/plan.md"] == [b"one", b"three"]
    torn.write_bytes(whole)
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop")["plans/plan.md"] == [b"one", b"three"]


def test_a_missing_object_is_waited_for(remote: Folder, laptop: Device, tmp_path: Path) -> None:
    late = objects_in(remote)[1]
    data = late.read_bytes()
    late.unlink()
    desktop = Device(tmp_path, "desktop")
    assert desktop.pull(remote).problems == ["laptop: bundle 2 is not there yet; what was sent after it waits"]
    assert set(desktop.contents("laptop")) == {FILES[0]}
    late.write_bytes(data)
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop") == laptop.contents("laptop")


def test_an_archive_that_was_set_back_takes_everything_again(remote: Folder, laptop: Device, tmp_path: Path) -> None:
    desktop = Device(tmp_path, "desktop")
    desktop.pull(remote)
    backup = tmp_path / "backup"
    shutil.copytree(desktop.root / "archive", backup)
    for number in (7, 8):
        laptop.append(FILES[1], LINE % number)
        send(laptop, remote)
        if number == 7:
            desktop.pull(remote)
            shutil.rmtree(desktop.root / "archive")
            backup.rename(desktop.root / "archive")
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop") == laptop.contents("laptop")


def test_a_log_full_of_junk_is_left_in_a_few_syncs_and_said_in_a_few_lines(tmp_path: Path) -> None:
    """Whoever can write to a remote can leave thousands of small files in it."""
    device, junk, path = "junk", 1500, SESSION.format(7)
    for number in range(1, junk + 1):
        lay(tmp_path / "remote", name_of(device, number), b"junk")
    data = b'{"type":"user"}\n'
    last = bundle(device, [segment(data, path)], number=junk + 1)
    lay(tmp_path / "remote", name_of(device, junk + 1), last)
    desktop, remote = Device(tmp_path, "desktop"), Folder(tmp_path / "remote")
    pulls = 0
    while not desktop.contents(device):
        problems = desktop.pull(remote).problems
        assert len(problems) <= 5
        pulls += 1
    assert pulls == 2
    assert desktop.contents(device) == {path: [data]}
    assert f"up to bundle {junk}" in problems[-1]
    first = bundle(device, [segment(data * 2, SESSION.format(8))])
    lay(tmp_path / "remote", name_of(device, 1), first)
    for _ in range(3):
        desktop.pull(remote)
    assert set(desktop.contents(device)) == {path, SESSION.format(8)}, "what is mended is taken"
