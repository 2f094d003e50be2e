"""What was sent and may not leave any more stays on the remote until the user agrees, who agrees to what was named."""

from pathlib import Path

import pytest

from backscroll.archive.kept_file import KeptFile
from backscroll.sync.consent import agree, stay_until_agreed
from backscroll.sync.own_streams import ModeOf
from backscroll.sync.policy import SyncMode
from backscroll.sync.remotes import Folder, Remote
from backscroll.sync.state import SyncState
from tests.sync.support import SESSION, CutRemote, Device, Unreachable

ONE, TWO = SESSION.format(1), SESSION.format(2)
LINE = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'


@pytest.fixture
def remote(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "remote")


@pytest.fixture
def laptop(tmp_path: Path, remote: Folder) -> Device:
    """A device that has sent two sessions, of which the first may not leave any more."""
    device = Device(tmp_path, "laptop")
    for number, path in enumerate((ONE, TWO)):
        device.write(path, LINE % number)
    device.keep()
    device.push(remote)
    device.mode_of = only(TWO)
    return device


def only(*paths: str, mode: SyncMode = SyncMode.FULL, other: SyncMode = SyncMode.OFF) -> ModeOf:
    def mode_of(file: KeptFile) -> SyncMode:
        return mode if file.path in paths else other

    return mode_of


def taken(remote: Remote, laptop: Device) -> set[str]:
    """The files of the laptop that a new machine gets."""
    fresh = Device(laptop.root.parent, "fresh")
    with fresh.writer() as writer:
        writer.forget([*writer.files.values()], [])
    if fresh.state_path.exists():
        fresh.state_path.unlink()
    assert fresh.pull(remote).problems == []
    return {path.rpartition("/")[2] for path, versions in fresh.contents("laptop").items() if any(versions)}


def names(*paths: str) -> set[str]:
    return {path.rpartition("/")[2] for path in paths}


def waiting(laptop: Device) -> list[str]:
    state = SyncState(laptop.state_path)
    try:
        return sorted(one.file.path for one in stay_until_agreed(laptop.sender(), state))
    finally:
        state.close()


def test_what_may_not_leave_any_more_stays_until_the_user_agrees(remote: Folder, laptop: Device) -> None:
    laptop.append(ONE, LINE % 7)
    laptop.append(TWO, LINE % 8)
    laptop.keep()
    pushed = laptop.push(remote)
    assert (pushed.removed, pushed.size) == (0, len(LINE % 8)), "it is not withdrawn, and nothing more of it leaves"
    assert [one.file.path for one in pushed.withheld] == waiting(laptop) == [ONE]
    assert taken(remote, laptop) == names(ONE, TWO)
    assert laptop.withdraw(remote).removed == 1
    assert waiting(laptop) == []
    assert taken(remote, laptop) == names(TWO)
    assert laptop.verify(remote, deep=True).is_whole


def test_an_agreement_survives_a_crash_and_is_valid_only_for_what_was_named(remote: Folder, laptop: Device) -> None:
    state = SyncState(laptop.state_path)
    (one,) = stay_until_agreed(laptop.sender(), state)
    assert agree(state, [one.base, "a stream that was never sent"]) == 1
    state.close()
    cut = CutRemote(remote)
    cut.fails_in = 2  # after the listing
    with pytest.raises(Unreachable):
        laptop.push(cut)
    laptop.mode_of = only()
    pushed = laptop.push(remote)
    assert pushed.removed == 1
    assert [one.file.path for one in pushed.withheld] == [TWO]
    assert taken(remote, laptop) == names(TWO)


def test_what_was_agreed_to_and_may_leave_again_is_sent_again(remote: Folder, laptop: Device) -> None:
    laptop.withdraw(remote)
    laptop.mode_of = only(ONE, TWO)
    assert laptop.push(remote).size == len(LINE % 0)
    assert taken(remote, laptop) == names(ONE, TWO)
    assert laptop.verify(remote, deep=True).is_whole


def test_what_stayed_and_may_leave_again_goes_on_where_it_was(remote: Folder, laptop: Device) -> None:
    laptop.push(remote)
    laptop.append(ONE, LINE % 7)
    laptop.keep()
    laptop.mode_of = only(ONE, TWO)
    assert laptop.push(remote).size == len(LINE % 7)
    assert laptop.verify(remote, deep=True).is_whole


def test_what_was_forgotten_is_removed_without_asking(remote: Folder, laptop: Device) -> None:
    laptop.forget(ONE)
    assert laptop.push(remote).removed == 1
    assert taken(remote, laptop) == names(TWO)


def test_a_session_of_which_only_metrics_may_leave_stays_and_its_metrics_are_sent(
    remote: Folder, laptop: Device
) -> None:
    laptop.mode_of = only(TWO, other=SyncMode.METRICS)
    pushed = laptop.push(remote)
    assert (pushed.removed, pushed.streams) == (0, 1)
    assert waiting(laptop) == [ONE]
    laptop.withdraw(remote)
    laptop.mode_of = only(ONE, TWO)
    pushed = laptop.push(remote)
    assert (pushed.removed, pushed.streams, pushed.withheld) == (1, 1, [])  # its metrics are in what is sent now
    assert laptop.verify(remote, deep=True).is_whole


def test_a_lost_state_withdraws_nothing(remote: Folder, laptop: Device) -> None:
    laptop.state_path.unlink()
    pushed = laptop.push(remote)
    assert (pushed.removed, pushed.objects) == (0, 0)
    assert waiting(laptop) == [ONE]
    assert taken(remote, laptop) == names(ONE, TWO)


def test_what_the_user_leaves_there_is_asked_about_again_once_it_left_again(remote: Folder, laptop: Device) -> None:
    state = SyncState(laptop.state_path)
    (one,) = stay_until_agreed(laptop.sender(), state)
    with state.saving():
        state.leave_there([one.base])
    laptop.push(remote)
    assert state.left_there() == {one.base}
    laptop.mode_of = only(ONE, TWO)
    laptop.push(remote)
    assert state.left_there() == set()
    state.close()
