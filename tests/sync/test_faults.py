"""Full disks, wrong clocks, and processes that are killed: the next sync ends with both sides equal."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, DiskFull
from backscroll.sync.policy import SyncMode
from backscroll.sync.remotes import Folder, Remote
from backscroll.sync.state import SyncState
from tests.faults.stops import STOPPED, Stops
from tests.faults.test_full_disk import tiny_disk  # noqa: F401 - a fixture
from tests.support.samples import numbers
from tests.sync.support import SESSION, Device

ONE, TWO, THREE = (SESSION.format(number) for number in (1, 2, 3))
LINE = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'
SECRET = b'{"type":"user","text":"the key is AKIAIOSFODNN7EXAMPLE"}\n'
DECADE = timedelta(days=3653)


def large() -> bytes:
    """Lines that take more than three megabytes when they are packed."""
    drawn = random.Random(1)
    records = ({"type": "user", "n": drawn.randbytes(10_000).hex()} for _ in range(350))
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def sync(remote: Remote, *devices: Device) -> None:
    for device in devices:
        device.keep()
        device.push(remote)
    for device in devices:
        assert device.pull(remote).problems == []


def test_a_remote_whose_disk_is_full_is_told_and_gets_the_rest_later(tiny_disk: Path, tmp_path: Path) -> None:  # noqa: F811
    laptop, desktop = Device(tmp_path, "laptop"), Device(tmp_path, "desktop")
    remote = Folder(tiny_disk / "remote")
    laptop.write(ONE, LINE % 1)
    sync(remote, laptop, desktop)
    laptop.write(TWO, large())
    laptop.keep()
    for _ in range(2):
        with pytest.raises(DiskFull):
            laptop.push(remote)
        assert not list(tiny_disk.rglob(".*"))  # nothing half written is left to fill it further
        assert desktop.pull(remote).problems == []
    subprocess.run(["mount", "-o", "remount,size=16m", tiny_disk], check=True)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == laptop.contents("laptop")
    assert laptop.verify(remote, deep=True).is_whole


def test_a_machine_whose_disk_is_full_takes_the_rest_later(remote: Remote, tiny_disk: Path, tmp_path: Path) -> None:  # noqa: F811
    laptop, desktop = Device(tmp_path, "laptop"), Device(tiny_disk, "desktop")
    laptop.write(ONE, LINE % 1)
    sync(remote, laptop, desktop)
    laptop.write(TWO, large())
    laptop.keep()
    laptop.push(remote)
    for _ in range(2):
        with pytest.raises((OSError, BackscrollError)):
            desktop.pull(remote)
        assert desktop.contents("laptop")[ONE] == [LINE % 1]
    subprocess.run(["mount", "-o", "remount,size=32m", tiny_disk], check=True)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == laptop.contents("laptop")


@pytest.mark.parametrize("off", [DECADE, -DECADE])
def test_a_clock_that_is_ten_years_off_changes_no_order(remote: Remote, tmp_path: Path, off: timedelta) -> None:
    laptop, desktop = Device(tmp_path, "laptop"), Device(tmp_path, "desktop")
    for number, shift in enumerate((off, timedelta(), -off)):
        laptop.clock = lambda shift=shift: datetime.now(UTC) + shift  # type: ignore[misc]
        laptop.append(ONE, LINE % number)
        moment = (datetime.now(UTC) + shift).timestamp()
        os.utime(laptop.home / ONE, (moment, moment))
        sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == {ONE: [LINE % 0 + LINE % 1 + LINE % 2]}
    assert laptop.verify(remote, deep=True).is_whole


def prepared(root: Path) -> tuple[Folder, Device, Device]:
    """Two devices that have synced, to which everything has happened since that a sync has to carry."""
    laptop, desktop = devices = Device(root, "laptop"), Device(root, "desktop")
    remote = Folder(root / "remote")
    laptop.write(ONE, SECRET + LINE % 1)
    laptop.write(THREE, LINE % 3)
    desktop.write(TWO, LINE % 2)
    sync(remote, *devices)
    laptop.append(ONE, LINE % 4)
    laptop.forget(THREE)
    desktop.write(TWO, LINE % 5)
    for device in devices:
        device.keep()
    return remote, *devices


def opened(root: Path) -> tuple[Folder, Device, Device]:
    laptop, desktop = Device(root, "laptop"), Device(root, "desktop")
    laptop.mode = SyncMode.REDACTED  # its rules changed
    return Folder(root / "remote"), laptop, desktop


def killed(point: int, act: Callable[[], object]) -> bool:
    """Whether a process that does this is killed at this point; False if it has fewer."""
    child = os.fork()
    if not child:
        try:
            stops = Stops(point)
            for name in ("fsync", "link", "replace", "unlink"):
                stops.around(os, name)
            for name in ("note_bundle", "note_received", "note_pulled", "note_removed", "forget_received"):
                stops.around(SyncState, name)
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, STOPPED)
    return code == STOPPED


def test_a_sync_that_is_killed_anywhere_goes_on(tmp_path: Path) -> None:
    prepared(tmp_path / "before")
    points = 0
    for point in numbers():
        root = tmp_path / str(point)
        shutil.copytree(tmp_path / "before", root)
        remote, laptop, desktop = opened(root)
        # The home of a device is part of what its files are known by.
        laptop.home, desktop.home = (tmp_path / "before" / name / "home" for name in ("laptop", "desktop"))

        def act(remote: Folder = remote, laptop: Device = laptop, desktop: Device = desktop) -> None:
            for device in (laptop, desktop):
                device.push(remote)
            for device in (laptop, desktop):
                device.pull(remote)

        is_killed = killed(point, act)
        points += is_killed
        for _ in range(2):
            sync(remote, laptop, desktop)
        taken = desktop.contents("laptop")
        assert {*taken} == {ONE}
        assert taken[ONE][-1].endswith(LINE % 1 + LINE % 4)
        assert len([version for version in taken[ONE] if version]) == 1
        assert not any(b"AKIA" in version for version in taken[ONE])
        assert laptop.contents("desktop") == desktop.contents("desktop") == {TWO: [LINE % 2, LINE % 5]}
        for device in (laptop, desktop):
            assert device.verify(remote, deep=True).is_whole
        shutil.rmtree(root)
        if not is_killed:
            break
    assert points
