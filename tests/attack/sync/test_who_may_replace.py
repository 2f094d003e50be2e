"""What a machine said cannot be replayed against it, and one that never signed may add, not forget and not replace."""

import shutil
from pathlib import Path

import pytest

from backscroll.sync.policy import SyncMode
from backscroll.sync.remotes import Folder
from backscroll.sync.signing import Signer
from backscroll.sync.state import SyncState
from tests.attack.sync.who_forging import encode, forge, read_objects
from tests.sync.support import SESSION, Device

ONE, TWO = SESSION.format(1), SESSION.format(2)
SECRET = b'{"type":"user","uuid":"u1","message":{"content":"AKIAIOSFODNN7EXAMPLX"}}\n'
LINE = b'{"type":"user","uuid":"u2"}\n'
FORGED = b'{"type":"user","uuid":"forged"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "remote"


@pytest.fixture
def desktop(tmp_path: Path) -> Device:
    return Device(tmp_path, "desktop")


def older(root: Path, folder: Path) -> Device:
    """A machine whose version does not sign, and that has sent a session."""
    device = Device(root, "laptop", signs=False)
    return sent(device, folder, ONE, SECRET)


def sent(device: Device, folder: Path, path: str, data: bytes) -> Device:
    device.append(path, data)
    device.keep()
    device.push(Folder(folder))
    return device


def update(device: Device, folder: Path) -> None:
    """Have a newer version on the machine, which signs."""
    device.signer = Signer(b"s" * 32)
    device.push(Folder(folder))


def taken(device: Device, folder: Path) -> dict[str, list[bytes]]:
    """What a machine has of the laptop after a pull."""
    assert device.pull(Folder(folder)).problems == []
    return device.contents("laptop")


def mask(device: Device, folder: Path) -> None:
    """Send everything again, with secrets masked."""
    device.mode = SyncMode.REDACTED
    device.push(Folder(folder))


def test_what_a_machine_that_signs_sends_again_under_other_rules_replaces_what_it_sent(
    folder: Path, tmp_path: Path, desktop: Device
) -> None:
    laptop = sent(Device(tmp_path, "laptop"), folder, ONE, SECRET)
    taken(desktop, folder)
    mask(laptop, folder)
    (version,) = taken(desktop, folder)[ONE]
    assert b"AKIA" not in version


def test_a_machine_that_never_signed_replaces_nothing(folder: Path, tmp_path: Path, desktop: Device) -> None:
    laptop = older(tmp_path, folder)
    taken(desktop, folder)
    mask(laptop, folder)
    first, second = taken(desktop, folder)[ONE]
    assert first == SECRET
    assert b"AKIA" not in second


def test_what_a_machine_that_never_signed_forgets_is_asked_once_it_signs(
    folder: Path, tmp_path: Path, desktop: Device
) -> None:
    laptop = older(tmp_path, folder)
    desktop.agrees = False
    taken(desktop, folder)
    laptop.forget(ONE)
    sent(laptop, folder, TWO, LINE)
    done = desktop.pull(Folder(folder))
    assert (done.problems, done.unasked, desktop.asked) == ([], 2, set())
    assert desktop.contents("laptop") == {ONE: [SECRET], TWO: [LINE]}
    update(laptop, folder)
    assert taken(desktop, folder) == {ONE: [SECRET], TWO: [LINE]}
    assert len(desktop.asked) == 2


def test_a_forged_request_to_forget_reaches_nobody(folder: Path, tmp_path: Path, desktop: Device) -> None:
    laptop = older(tmp_path, folder)
    taken(desktop, folder)
    forge(folder, "laptop", FORGED, path=TWO, forgotten=["f" * 64])
    desktop.pull(Folder(folder))
    update(laptop, folder)
    desktop.pull(Folder(folder))
    assert desktop.asked == set()
    assert desktop.contents("laptop")[ONE] == [SECRET]


def test_what_was_sent_before_a_machine_signed_is_proved_by_its_first_signature(
    folder: Path, tmp_path: Path, desktop: Device
) -> None:
    laptop = older(tmp_path, folder)
    taken(desktop, folder)
    update(laptop, folder)
    taken(desktop, folder)
    shutil.rmtree(desktop.root / "archive")
    desktop.state_path.unlink()  # the keys stay
    assert taken(desktop, folder) == {ONE: [SECRET]}


def test_what_was_changed_in_it_since_is_refused(folder: Path, tmp_path: Path, desktop: Device) -> None:
    laptop = older(tmp_path, folder)
    sent(laptop, folder, TWO, LINE)
    update(laptop, folder)
    taken(desktop, folder)
    shutil.rmtree(desktop.root / "archive")
    desktop.state_path.unlink()
    (path, (index,)), *_ = read_objects(folder, "laptop")
    path.write_bytes(encode({**index, "entries": [], "size": 0}))
    (problem,) = desktop.pull(Folder(folder)).problems
    assert "bundle 1 is not signed" in problem
    assert desktop.contents("laptop") == {}


def test_once_it_signs_a_machine_is_not_believed_without_a_signature(
    folder: Path, tmp_path: Path, desktop: Device
) -> None:
    laptop = older(tmp_path, folder)
    update(laptop, folder)
    taken(desktop, folder)
    forge(folder, "laptop", FORGED, path=TWO)
    assert "is not signed" in desktop.pull(Folder(folder)).problems[0]
    assert desktop.contents("laptop") == {ONE: [SECRET]}


def test_an_old_log_put_there_again_replaces_nothing(folder: Path, tmp_path: Path, desktop: Device) -> None:
    laptop = sent(Device(tmp_path, "laptop"), folder, ONE, SECRET)
    mine, kept = folder / "backscroll" / "1" / "laptop", tmp_path / "kept"
    shutil.copytree(mine, kept)  # someone keeps every object that was ever there
    mask(laptop, folder)
    shutil.copytree(mine, kept, dirs_exist_ok=True)
    laptop.mode = SyncMode.FULL
    begin_next_log(laptop, folder)
    assert taken(desktop, folder) == {ONE: [SECRET]}
    shutil.rmtree(mine)
    shutil.copytree(kept, mine)
    assert desktop.pull(Folder(folder)).replaced == 0
    assert SECRET in desktop.contents("laptop")[ONE]


def begin_next_log(device: Device, folder: Path) -> None:
    """Have a device send everything again, as it does when a remote has lost what it cannot make again."""
    state = SyncState(device.state_path)
    with state.saving():
        state.begin_log("000002-00000000")
    state.close()
    device.push(Folder(folder))


def test_a_machine_that_was_set_back_is_followed_again_from_its_beginning(
    folder: Path, tmp_path: Path, desktop: Device
) -> None:
    laptop = sent(Device(tmp_path, "laptop"), folder, ONE, SECRET)
    mine, before = folder / "backscroll" / "1" / "laptop", tmp_path / "before"
    shutil.copytree(laptop.root, tmp_path / "backup")
    shutil.copytree(mine, before)
    sent(laptop, folder, TWO, LINE)
    taken(desktop, folder)
    shutil.rmtree(laptop.root)
    shutil.rmtree(mine)
    shutil.copytree(tmp_path / "backup", laptop.root)
    shutil.copytree(before, mine)
    sent(laptop, folder, ONE, LINE)
    sent(laptop, folder, TWO, LINE * 2)
    assert taken(desktop, folder) == {ONE: [SECRET + LINE], TWO: [LINE * 2]}
