"""A remote heals: whatever happens to the objects of a machine there, its next sync makes them what they were.

Anyone who can write to a folder may tear, empty, delete, replace and add objects, or put yesterday's folder back.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from backscroll.sync.bundles import PLAIN, Index, encode_bundle, read_bundles
from backscroll.sync.objects import BundleObject, devices_in
from backscroll.sync.policy import SyncMode
from backscroll.sync.push import mend
from backscroll.sync.remotes import Folder, Remote
from backscroll.sync.removal import merge_small
from backscroll.sync.scanning import LARGEST_OBJECT
from backscroll.sync.sender import CopiedLibraryError
from backscroll.sync.signing import Signer
from backscroll.sync.state import SyncState
from tests.support.samples import TRY_ALL
from tests.sync.support import SESSION, CutRemote, Device
from tests.sync.test_any_order import NAME, STEPS, STEPS_EACH, TwoDevices

ONE, TWO, THREE = (SESSION.format(number) for number in (1, 2, 3))
LINE: Final = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'
STRANGER: Final = Signer(b"x" * 32)


@pytest.fixture
def remote(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "remote")


@pytest.fixture
def laptop(remote: Folder, tmp_path: Path) -> Device:
    """A laptop that has sent four bundles."""
    device = Device(tmp_path, "laptop")
    for number in range(4):
        device.append(ONE, LINE % number)
        device.write(SESSION.format(number + 2), LINE % number)
        device.keep()
        device.push(remote)
    return device


def objects(remote: Folder, device: str = "laptop") -> list[BundleObject]:
    return sorted(devices_in(remote.list()).get(device, []), key=lambda one: one.name)


def overwrite(remote: Folder, name: str, data: bytes) -> None:
    path = remote.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def forged(device: str, number: int, signer: Signer | None, log: str, previous: str = "0" * 64) -> bytes:
    """A bundle that says it is from a device, and that the user forgot a file."""
    index = Index(
        device=device, machine=device, number=number, previous=previous, at="", entries=[], forgotten=["f" * 64],
        log=log,
    )  # fmt: skip
    return encode_bundle(index, [], PLAIN, signer)[1]


def tear(remote: Folder, one: BundleObject) -> None:
    overwrite(remote, one.name, remote.get(one.name)[:-3])


def empty(remote: Folder, one: BundleObject) -> None:
    overwrite(remote, one.name, b"")


def delete(remote: Folder, one: BundleObject) -> None:
    remote.delete(one.name)


def replace(remote: Folder, one: BundleObject) -> None:
    overwrite(remote, one.name, forged(one.device, one.first, STRANGER, one.log))


def add_revision(remote: Folder, one: BundleObject) -> None:
    overwrite(remote, one._replace(revision=999_999_999).name, b"junk" * 20)


def add_range(remote: Folder, one: BundleObject) -> None:
    overwrite(remote, one._replace(first=1, last=9_999_999_999).name, b"junk" * 20)


def add_numbers(remote: Folder, one: BundleObject) -> None:
    for number in (5, 6, 7_000):
        data = forged(one.device, number, None if number == 5 else STRANGER, one.log)
        overwrite(remote, one._replace(first=number, last=number).name, data)


def add_log(remote: Folder, one: BundleObject) -> None:
    log = "999999-ffffffff"
    for number, signer in enumerate((None, STRANGER), 1):
        other = one._replace(log=log, first=number, last=number)
        overwrite(remote, other.name, forged(one.device, number, signer, log))


def replay_in_another_log(remote: Folder, one: BundleObject) -> None:
    overwrite(remote, one._replace(log="999999-ffffffff").name, remote.get(one.name))


def empty_all(remote: Folder, one: BundleObject) -> None:
    for each in objects(remote, one.device):
        empty(remote, each)


def reorder(remote: Folder, one: BundleObject) -> None:
    """Have each object in the place of another one."""
    every = objects(remote, one.device)
    contents = [remote.get(each.name) for each in every]
    for each, data in zip(every, contents[1:] + contents[:1], strict=True):
        overwrite(remote, each.name, data)


def put_fifo(remote: Folder, one: BundleObject) -> None:
    remote.delete(one.name)
    os.mkfifo(remote.root / one.name)


def put_link(remote: Folder, one: BundleObject) -> None:
    remote.delete(one.name)
    (remote.root / one.name).symlink_to("/dev/zero")


def inflate(remote: Folder, one: BundleObject) -> None:
    """A sparse file, larger than any object."""
    os.truncate(remote.root / one.name, LARGEST_OBJECT + 1)


def add_device(remote: Folder, one: BundleObject) -> None:
    """A device that nobody knows speaks for another one, and for itself."""
    for number, device in enumerate((one.device, "stranger"), 1):
        data = forged(device, number, STRANGER, one.log)
        overwrite(remote, one._replace(device="stranger", first=number, last=number).name, data)


HARM: Final = (
    tear, empty, delete, replace, add_revision, add_range, add_numbers, add_log, replay_in_another_log, empty_all,
    put_fifo, put_link, inflate,
)  # fmt: skip
MORE_HARM: Final = (*(harm for harm in HARM if harm is not inflate), reorder, add_device)
"""And what the listing does not show, or what is no matter of the device. A copy of the folder would not be sparse."""


def copy_objects(source: Path, target: Path) -> None:
    """Copy the regular files of a folder, in the place of whatever is there."""
    for path in source.rglob("*"):
        if path.is_file() and not path.is_symlink():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)  # a link to a device would be written to
            copy.write_bytes(path.read_bytes())


def assert_healed(remote: Folder, device: Device, tmp_path: Path) -> None:
    """Everything is there, nothing else is, and a machine that comes new gets all of it."""
    assert device.verify(remote, deep=True).is_whole
    state = SyncState(device.state_path)
    assert {one.name for one in objects(remote)} == set(state.objects.all("laptop"))
    assert {one.log for one in objects(remote)} == {state.log}
    state.close()
    fresh = Device(tmp_path, f"fresh-{len(list(tmp_path.iterdir()))}")
    assert fresh.pull(remote).problems == []
    assert fresh.contents("laptop") == device.contents("laptop")
    assert device.push(remote).has_changed is False


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_the_next_sync_mends_what_happened_to_an_object(
    remote: Folder, laptop: Device, tmp_path: Path, harm: Callable[[Folder, BundleObject], None]
) -> None:
    harm(remote, objects(remote)[1])
    assert not laptop.verify(remote).is_whole
    done = laptop.push(remote)
    assert done.healed.lines
    assert_healed(remote, laptop, tmp_path)


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_a_machine_whose_state_is_lost_mends_it_too(
    remote: Folder, laptop: Device, tmp_path: Path, harm: Callable[[Folder, BundleObject], None]
) -> None:
    harm(remote, objects(remote)[1])
    shutil.rmtree(laptop.state_path.parent)
    laptop.push(remote)
    assert_healed(remote, laptop, tmp_path)


def test_verify_says_what_is_wrong_and_mends_it(remote: Folder, laptop: Device, tmp_path: Path) -> None:
    one, two, three, four = objects(remote)
    tear(remote, one)
    delete(remote, two)
    data = bytearray(remote.get(three.name))
    data[-1] ^= 1  # no size changes: only the bytes tell
    overwrite(remote, three.name, bytes(data))
    add_revision(remote, four)
    found = laptop.verify(remote)
    assert found.lost == [1, 2]
    assert found.damaged == [f"{one.name}: it has {one.size - 3:,} bytes, and was stored with {one.size:,}"]
    assert found.foreign == [four._replace(revision=999_999_999).name]
    deep = laptop.verify(remote, deep=True)
    assert deep.lost == [1, 2, 3]
    assert deep.damaged[1] == f"{three.name}: its bytes are not those that were stored"
    state = SyncState(laptop.state_path)
    lines = mend(laptop.sender(), remote, state, deep.bad).healed.lines
    state.close()
    assert lines == [
        "2 objects of this machine had been damaged: wrote 3 bundles again",
        "removed 1 object that this machine did not write, or had replaced",
    ]
    assert_healed(remote, laptop, tmp_path)


def test_a_remote_that_is_set_back_gets_back_what_it_had_and_not_what_was_forgotten(
    remote: Folder, laptop: Device, tmp_path: Path
) -> None:
    shutil.copytree(remote.root, tmp_path / "yesterday")
    laptop.forget(TWO)
    for number in range(10, 13):
        laptop.append(THREE, LINE % number)
        laptop.keep()
        laptop.push(remote)
    shutil.rmtree(remote.root)
    shutil.copytree(tmp_path / "yesterday", remote.root)
    assert not laptop.verify(remote).is_whole
    done = laptop.push(remote)
    assert done.healed.lines[0] == "the remote was set back to an earlier state: wrote 3 bundles again"
    for one in objects(remote):
        for bundle in read_bundles(remote.get(one.name)):
            assert all(entry.file is None or entry.file.path != TWO for entry in bundle.index.entries)
    assert_healed(remote, laptop, tmp_path)


def test_what_came_back_without_its_content_is_whole_again_once_it_may_leave(
    remote: Folder, laptop: Device, tmp_path: Path
) -> None:
    laptop.mode_of = lambda file: SyncMode.OFF if file.path == ONE else SyncMode.FULL
    delete(remote, objects(remote)[0])
    laptop.push(remote)  # what may not leave is not written again
    laptop.mode_of = lambda _: SyncMode.FULL
    assert not laptop.verify(remote).is_whole
    laptop.push(remote)
    assert_healed(remote, laptop, tmp_path)


def test_what_a_remote_lost_heals_on_all_machines_by_syncing(remote: Folder, laptop: Device, tmp_path: Path) -> None:
    desktop, tower = Device(tmp_path, "desktop"), Device(tmp_path, "tower")
    desktop.pull(remote)
    for harm, one in zip((tear, replace, delete, add_log), objects(remote), strict=True):
        harm(remote, one)
    laptop.write("plans/plan.md", b"more\n")
    laptop.keep()
    for device in (tower, desktop, laptop, tower, desktop):
        device.push(remote)
        device.pull(remote)
    for device in (tower, desktop):
        assert device.pull(remote).problems == []
        assert device.contents("laptop") == laptop.contents("laptop")
    assert_healed(remote, laptop, tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_has_the_name_of_the_next_object_stops_nothing(
    remote: Folder, laptop: Device, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(remote.root / objects(remote)[-1]._replace(first=5, last=5).name)
    laptop.append(ONE, LINE % 9)
    laptop.keep()
    laptop.push(remote)
    assert_healed(remote, laptop, tmp_path)


def test_an_upgraded_machine_signs_its_head_once(remote: Folder, tmp_path: Path) -> None:
    device, desktop = Device(tmp_path, "laptop"), Device(tmp_path, "desktop")
    signer, device.signer = device.signer, None
    device.write(ONE, LINE % 1)
    device.keep()
    device.push(remote)
    desktop.pull(remote)
    state = SyncState(device.state_path)
    with state.saving():
        state.objects.drop(state.objects.all("laptop"))  # a state of the version that landed
    state.close()
    device.signer = signer
    assert device.verify(remote, deep=True).is_whole
    assert device.push(remote).objects == 1
    assert device.push(remote).objects == 0
    one, two = objects(remote)
    assert [bundle.signer for bundle in read_bundles(remote.get(one.name))] == [None]
    (head,) = read_bundles(remote.get(two.name))
    assert signer is not None
    assert (head.signer, head.index.entries, head.index.number) == (signer.public, [], 2)
    assert desktop.pull(remote).problems == []
    assert_healed(remote, device, tmp_path)


def test_a_new_machine_without_anything_to_send_signs_nothing(remote: Folder, tmp_path: Path) -> None:
    assert Device(tmp_path, "desktop").push(remote).objects == 0
    assert list(remote.list()) == []


def test_nothing_new_takes_one_request_and_an_append_two(remote: Folder, laptop: Device) -> None:
    cut = CutRemote(remote)
    laptop.push(cut)
    laptop.append(ONE, LINE % 9)
    laptop.keep()
    laptop.push(cut)
    assert cut.requests == ["list", "list", "put"]


def test_a_merge_is_what_this_machine_stored(remote: Folder, laptop: Device, tmp_path: Path) -> None:
    state = SyncState(laptop.state_path)
    assert merge_small(remote, "laptop", most=2, state=state) == 3
    state.close()
    assert laptop.verify(remote).is_whole
    assert_healed(remote, laptop, tmp_path)


@pytest.mark.parametrize("cut_at", range(8))
def test_a_merge_or_a_removal_that_is_cut_off_leaves_nothing_to_say(
    remote: Folder, laptop: Device, tmp_path: Path, cut_at: int
) -> None:
    cut = CutRemote(remote)
    cut.fails_in, cut.loses_answer = cut_at, True
    laptop.forget(TWO)
    state = SyncState(laptop.state_path)
    try:
        laptop.push(cut)
        merge_small(cut, "laptop", most=2, state=state)
    except Exception:
        pass
    state.close()
    assert laptop.push(remote).healed.lines == []
    assert_healed(remote, laptop, tmp_path)


def test_objects_that_are_too_large_are_not_read(
    remote: Folder, laptop: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, *_ = objects(remote)
    for name in (one.name, two._replace(first=5, last=9).name):
        with (remote.root / name).open("ab") as file:
            file.truncate(40 << 30)  # sparse
    read: list[int] = []
    pieces = Folder.pieces

    def counted(self: Folder, name: str) -> Iterator[bytes]:
        for piece in pieces(self, name):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr(Folder, "pieces", counted)
    assert not laptop.verify(remote, deep=True).is_whole
    laptop.push(remote)
    assert sum(read) < LARGEST_OBJECT >> 4
    monkeypatch.undo()
    assert_healed(remote, laptop, tmp_path)


def evict(remote: Folder, one: BundleObject) -> None:
    """As iCloud does: the contents are on its server only."""
    path = remote.root / one.name
    path.with_name(f".{path.name}.icloud").write_bytes(b"bplist00")
    path.unlink()


def test_an_object_that_is_not_downloaded_is_not_lost(remote: Folder, laptop: Device, tmp_path: Path) -> None:
    every = objects(remote)
    evict(remote, every[0])
    assert laptop.push(remote).has_changed is False
    assert laptop.verify(remote).is_whole
    assert laptop.verify(remote, deep=True).damaged == [
        f"{every[0].name}: the program that syncs this folder has not downloaded it"
    ]
    for one in every[1:]:
        evict(remote, one)
    assert laptop.push(remote).has_changed is False
    laptop.forget(ONE)  # each object has some of it
    laptop.push(remote)
    left = [path.name for path in remote.root.rglob("*") if path.is_file()]
    assert not any(name.endswith(".icloud") for name in left), "what was forgotten is gone from the server, too"
    assert_healed(remote, laptop, tmp_path)


class Healing(TwoDevices):
    """A folder that anyone may write to, and that may be set back to any earlier state."""

    def __init__(self) -> None:
        super().__init__()
        self.remote = Folder(self.root / "remote", largest=LARGEST_OBJECT)
        self.cut = CutRemote(self.remote)
        self.snapshots: list[Path] = []
        self.numbers = itertools.count(1)

    @initialize()
    def begin(self) -> None:
        """Both machines have sent something."""
        for device in self.devices.values():
            device.write(ONE, LINE % 0)
            device.keep()
            device.push(self.remote)

    @rule(name=NAME)
    def append_and_push(self, name: str) -> None:
        """One more bundle."""
        device = self.devices[name]
        device.append(ONE, LINE % next(self.numbers))
        device.keep()
        self._push(device, self.remote)

    def _push(self, device: Device, remote: Remote) -> None:
        try:
            device.push(remote)
        except CopiedLibraryError:
            # It has lost its state, and all that is there of it is signed by someone else: it may be its own of before.
            state = SyncState(device.state_path)
            assert not state.last_bundle[0]
            state.close()
            for one in objects(self.remote, device.name):
                self.remote.delete(one.name)
            device.push(remote)

    def _repair(self, device: Device) -> None:
        """As `sync verify --deep --repair` does."""
        state = SyncState(device.state_path)
        if bad := device.verify(self.remote, deep=True).bad:
            mend(device.sender(), self.remote, state, bad)
        state.close()

    @rule(name=NAME, which=st.integers(0, 20), harm=st.sampled_from(MORE_HARM))
    def harm(self, name: str, which: int, harm: Callable[[Folder, BundleObject], None]) -> None:
        """Somebody changes the folder."""
        there = objects(self.remote, name)
        if there:
            harm(self.remote, there[which % len(there)])

    @rule()
    def save_folder(self) -> None:
        """A snapshot of the whole folder."""
        snapshot = self.root / f"snapshot-{len(self.snapshots)}"
        copy_objects(self.remote.root, snapshot)
        self.snapshots.append(snapshot)

    @rule(which=st.integers(0, 5), merges=st.booleans())
    def set_folder_back(self, which: int, merges: bool) -> None:
        """The folder is as it was; or a program that carries it brings back what was deleted."""
        if self.snapshots:
            snapshot = self.snapshots[which % len(self.snapshots)]
            if not merges:
                shutil.rmtree(self.remote.root)
            copy_objects(snapshot, self.remote.root)

    def check(self) -> None:
        for device in self.devices.values():
            device.keep()
        for _ in range(3):
            for device in self.devices.values():
                self._push(device, self.remote)
            for device in self.devices.values():
                self._repair(device)
                device.pull(self.remote)
        for name, device in self.devices.items():
            assert device.verify(self.remote, deep=True).is_whole
            state = SyncState(device.state_path)
            assert {one.name for one in objects(self.remote, name)} == set(state.objects.all(name))
            state.close()
            fresh = Device(self.root, f"fresh-{name}")
            strange = [problem for problem in fresh.pull(self.remote).problems if not problem.startswith("stranger:")]
            assert strange == []
            own, others = self._outgoing(device), [one for one in self.devices.values() if one is not device]
            for taken in (one.contents(name) for one in (fresh, *others)):
                for path, versions in own.items():
                    if not any((each, path) in self.forgotten for each in self.devices):
                        assert taken[path][-1] == versions[-1]


Healing.TestCase.settings = settings(
    max_examples=max(1, STEPS // 2 // STEPS_EACH),
    stateful_step_count=STEPS_EACH if TRY_ALL else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestHealing = Healing.TestCase
