"""Whatever happens between two devices, in whatever order: in the end both have the same, and nothing is doubled.

State machines with a model: files are appended to, rewritten, deleted and forgotten; pushes and pulls are cut off
before or after any request; objects arrive in any order; the state is lost or set back; the remote loses objects; rules
change; a machine is restored from a backup or has a twin that sends under its name.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from backscroll.archive.forgetting import keys_to_forget
from backscroll.sync import own_streams, push
from backscroll.sync.bundles import read_bundles
from backscroll.sync.objects import devices_in
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.sync.remotes import Folder, Remote
from backscroll.sync.removal import merge_small
from backscroll.sync.sender import CopiedLibraryError
from backscroll.sync.state import SyncState
from backscroll.sync.streams import whole_lines
from tests.support.samples import TRY_ALL
from tests.sync.support import SESSION, CutRemote, Device, LateObjects, Unreachable

NAMES: Final = ("laptop", "desktop")
FILES: Final = (SESSION.format(1), SESSION.format(2), "todos/1.json", "plans/plan.md")
TEXTS: Final = (
    b'{"type":"user","n":%d}\n',
    b'{"type":"user","n":%d,"text":"the key is AKIAIOSFODNN7EXAMPL%d"}\n',
    b'{"type":"assistant","n":%d,"text":"half a li',
    b"plain text %d\n",
)
CUT: Final = st.one_of(st.none(), st.tuples(st.integers(0, 6), st.booleans()))
NAME: Final = st.sampled_from(NAMES)
PATH: Final = st.sampled_from(FILES)
SESSIONS: Final = st.sampled_from(FILES[:2])
STEPS: Final = int(os.environ.get("BACKSCROLL_SYNC_STEPS", "10000" if TRY_ALL else "600"))
IN_MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
STEPS_EACH: Final = 40


class TwoDevices(RuleBasedStateMachine):
    """Two devices, a folder, and a network that fails."""

    def __init__(self) -> None:
        super().__init__()
        # So small that files have several segments, and that a push stores several objects.
        self.sizes = [patch.object(own_streams, "LONGEST_SEGMENT", 60), patch.object(push, "BUNDLE_BYTES", 150)]
        for size in self.sizes:
            size.start()
        self.root = Path(tempfile.mkdtemp(prefix="backscroll-sync-", dir=IN_MEMORY))
        self.remote = Folder(self.root / "remote")
        self.cut = CutRemote(self.remote)
        self.devices = {name: Device(self.root, name) for name in NAMES}
        self.counter = 0
        self.forgotten: set[tuple[str, str]] = set()

    def teardown(self) -> None:
        try:
            self.check()
        finally:
            for size in self.sizes:
                size.stop()
            shutil.rmtree(self.root)

    @rule(name=NAME, path=st.sampled_from(FILES), text=st.sampled_from(TEXTS), times=st.integers(1, 3))
    def append(self, name: str, path: str, text: bytes, times: int) -> None:
        """More of a file."""
        self.counter += 1
        data = text % ((self.counter,) * text.count(b"%d"))
        self.devices[name].append(path, data * times)

    @rule(name=NAME, path=PATH)
    def rewrite(self, name: str, path: str) -> None:
        """A file begins anew."""
        self.counter += 1
        self.devices[name].write(path, b'{"type":"summary","n":%d}\n' % self.counter)

    @rule(name=NAME, path=PATH)
    def delete(self, name: str, path: str) -> None:
        """Claude Code deletes a file: what is kept stays."""
        self.devices[name].delete(path)

    @rule(name=NAME, path=SESSIONS)
    def forget(self, name: str, path: str) -> None:
        """The user forgets a file."""
        device = self.devices[name]
        device.keep()
        device.forget(path)
        self.forgotten.add((name, path))

    @rule(name=NAME)
    def keep(self, name: str) -> None:
        """The archive takes what is there."""
        self.devices[name].keep()

    @rule(name=NAME, cut=CUT)
    def push(self, name: str, cut: tuple[int, bool] | None) -> None:
        """Send, perhaps not to the end."""
        with self._cut(cut):
            self._push(self.devices[name], self.cut)

    @rule(name=NAME, cut=CUT)
    def pull(self, name: str, cut: tuple[int, bool] | None) -> None:
        """Take, perhaps not to the end."""
        with self._cut(cut):
            self.devices[name].pull(self.cut)

    @rule(name=NAME, late=st.frozensets(st.integers(0, 5), min_size=1))
    def pull_what_has_arrived(self, name: str, late: frozenset[int]) -> None:
        """Take what a program that carries the folder has brought so far: some objects come later than others."""
        self.devices[name].pull(LateObjects(self.remote, name, late))

    @rule(name=NAME, cut=CUT)
    def merge(self, name: str, cut: tuple[int, bool] | None) -> None:
        """Merge small objects, perhaps not to the end."""
        with self._cut(cut):
            merge_small(self.cut, self.devices[name].device, most=2)

    @rule(name=NAME)
    def lose_state(self, name: str) -> None:
        """What a device knows of the remote is lost."""
        self._remove_state(self.devices[name])

    def _push(self, device: Device, remote: Remote) -> None:
        device.push(remote)

    @contextlib.contextmanager
    def _cut(self, cut: tuple[int, bool] | None) -> Iterator[None]:
        if cut is not None:
            self.cut.fails_in, self.cut.loses_answer = cut
        with contextlib.suppress(Unreachable):
            yield
        self.cut.fails_in = None

    @staticmethod
    def _remove_state(device: Device) -> None:
        for path in device.state_path.parent.glob("*") if device.state_path.parent.exists() else ():
            path.unlink()

    def check(self) -> None:
        """Sync in peace, then compare."""
        raise NotImplementedError

    @staticmethod
    def _outgoing(device: Device) -> dict[str, list[bytes]]:
        """What should be there of each version: everything that left, in full or masked."""
        outgoing = Outgoing(device.key)
        found: dict[str, list[bytes]] = {}
        for file in device.archive.files.values():
            if file.machine != device.name:
                continue
            is_json = file.path.endswith(".jsonl")
            found[file.path] = []
            for version in file.versions:
                lines = list(whole_lines(device.archive.content(version)))
                is_open = version is file.latest and file.gone_since is None
                if lines and is_json and is_open and not lines[-1].endswith(b"\n"):
                    lines.pop()
                left = b"".join(_leaving(outgoing, device.mode, line, is_json) for line in lines)
                if left:
                    found[file.path].append(left)
        return {path: versions for path, versions in found.items() if versions}


def _leaving(outgoing: Outgoing, mode: SyncMode, line: bytes, is_json: bool) -> bytes:
    """What leaves of a line; of a masked record that was cut off, only that there was one."""
    if mode is SyncMode.REDACTED and is_json and not line.endswith(b"\n"):
        try:
            json.loads(line)
        except ValueError:
            return outgoing.cut_line(line)
    return outgoing.line(mode, line, is_json=is_json) or b""


class AnyOrder(TwoDevices):
    """A remote that loses objects, states that are set back, and rules that change."""

    @rule(name=NAME)
    def save_state(self, name: str) -> None:
        """A copy of what it knows, to be set back to later."""
        device = self.devices[name]
        if device.state_path.exists():
            shutil.copy(device.state_path, device.root / "saved.sqlite")

    @rule(name=NAME)
    def set_back_state(self, name: str) -> None:
        """The laptop comes back from a backup: what it knows is older than the remote."""
        device = self.devices[name]
        saved = device.root / "saved.sqlite"
        if saved.exists():
            self._remove_state(device)
            shutil.copy(saved, device.state_path)

    @rule(name=NAME, which=st.integers(0, 20))
    def lose_object(self, name: str, which: int) -> None:
        """The remote loses an object."""
        objects = devices_in(self.remote.list()).get(name, [])
        if objects:
            self.remote.delete(objects[which % len(objects)].name)

    @rule(name=NAME, mode=st.sampled_from([SyncMode.FULL, SyncMode.REDACTED]))
    def change_rules(self, name: str, mode: SyncMode) -> None:
        """Other rules from now on."""
        self.devices[name].mode = mode

    def check(self) -> None:
        """Sync in peace, then compare."""
        for device in self.devices.values():
            device.keep()
        for _ in range(2):  # forgetting travels with a pull, and is passed on with the next push
            for device in self.devices.values():
                device.push(self.remote)
            for device in self.devices.values():
                assert device.pull(self.remote).problems == []
        for name, other in (NAMES, NAMES[::-1]):
            self._compare(self.devices[name], self.devices[other])
            assert self.devices[name].verify(self.remote, deep=True).is_whole
            self._check_remote(self.devices[name])

    def _check_remote(self, device: Device) -> None:
        """Nothing is left on the remote that was forgotten, or that newer rules replaced."""
        state = SyncState(device.state_path)
        wanted = {sent.stream for sent in state.sent().values()}
        state.close()
        for one in devices_in(self.remote.list()).get(device.name, []):
            for bundle in read_bundles(self.remote.get(one.name)):
                assert {entry.stream for entry in bundle.index.entries if entry.file is not None} <= wanted

    def _compare(self, device: Device, other: Device) -> None:
        taken = other.contents(device.name)
        own = self._outgoing(device)
        for path, versions in own.items():
            if (device.name, path) in self.forgotten or (other.name, path) in self.forgotten:
                continue
            assert taken[path][-1] == versions[-1]
            assert all(version in taken[path] for version in versions)
        extra = {path for path, versions in taken.items() if any(versions)} - set(own)
        if not other.agrees:  # what the other machine forgot stays with one that refuses
            extra -= {path for _, path in self.forgotten}
        assert not extra


class Refusals(AnyOrder):
    """Machines that refuse to forget what others forgot: everything of theirs stays, here and on the remote."""

    def __init__(self) -> None:
        super().__init__()
        for device in self.devices.values():
            device.agrees = False

    @rule(name=NAME)
    def forget_everything(self, name: str) -> None:
        """A hostile device asks every other one to forget all of its files."""
        others = [device for other, device in self.devices.items() if other != name]
        keys = {key for device in others for key in keys_to_forget((str(device.home), path) for path in FILES)}
        device = self.devices[name]
        device.keep()
        with device.writer() as writer:
            own = [file for file in writer.files.values() if file.machine == name]
            # By the ids of their sessions; what else it forgot without a key would be kept again, as another file.
            gone = [file for file in own if not keys.isdisjoint(keys_to_forget([(file.home, file.path)]))]
            writer.forget(gone, keys)
        self.forgotten |= {(name, path) for path in FILES}

    def check(self) -> None:
        super().check()
        for name, device in self.devices.items():
            kept = device.contents(name)
            for path in FILES:
                file = device.home / path
                if (name, path) not in self.forgotten and file.exists() and file.stat().st_size:
                    assert kept[path][-1] == file.read_bytes()


class Copies(TwoDevices):
    """A machine that comes back from a backup, or has a twin: two copies of one library send under one name.

    When that is told, the machine gets another name, as `sync enroll` does. Nothing that was sent is lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.twins: dict[str, str] = {}
        """Under which name the copy of a device sends, while the other one is in use."""
        self.names = 0
        self.sent: set[tuple[str, str, bytes]] = set()
        """Of each device and path, what is on the remote."""

    @rule(name=NAME)
    def copy(self, name: str) -> None:
        """A backup of all that a machine has, or a clone of it."""
        device = self.devices[name]
        twin = self._twin(device)
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(device.root, twin)
        self.twins[name] = device.machine

    @rule(name=NAME)
    def change_places(self, name: str) -> None:
        """The copy is in use from now on, until they change places again."""
        device = self.devices[name]
        if name in self.twins:
            twin, aside = self._twin(device), device.root.with_name(f"{name}-aside")
            device.root.rename(aside)
            twin.rename(device.root)
            aside.rename(twin)
            self.twins[name], device.machine = device.machine, self.twins[name]

    @rule(name=NAME, path=PATH, times=st.integers(1, 3))
    def grow_apart(self, name: str, path: str, times: int) -> None:
        """Both copies go on with the same file, each in its own way."""
        for _ in range(times):
            self.append(name, path, TEXTS[0], 1)
            self.keep(name)
            self._push(self.devices[name], self.remote)
            self.change_places(name)

    def check(self) -> None:
        for device in self.devices.values():
            device.keep()
        for _ in range(3):
            for device in self.devices.values():
                self._push(device, self.remote)
            for device in self.devices.values():
                assert device.pull(self.remote).problems == []
        for device in self.devices.values():
            found = device.verify(self.remote, deep=True)  # the remote may have more of a file than this copy
            assert (found.lost, found.damaged, found.waiting) == ([], [], 0)
        for name, path, content in self.sent:
            other = self.devices[NAMES[1 - NAMES.index(name)]]
            if not {(name, path), (other.name, path)} & self.forgotten:
                assert any(version.startswith(content) for version in self._taken(other, name, path))

    def _push(self, device: Device, remote: Remote) -> None:
        try:
            device.push(remote)
        except CopiedLibraryError:
            self._remove_state(device)
            self.names += 1
            device.machine = f"{device.name}-{self.names}"
            device.push(remote)
        self.sent |= {
            (device.name, path, version) for path, versions in self._outgoing(device).items() for version in versions
        }

    @staticmethod
    def _twin(device: Device) -> Path:
        return device.root.with_name(f"{device.name}-twin")

    @staticmethod
    def _taken(device: Device, machine: str, path: str) -> list[bytes]:
        """What a device has of a file of a machine, under whichever name it was sent."""
        archive = device.archive
        return [
            b"".join(archive.content(version))
            for file in archive.files.values()
            if file.path == path and file.machine.startswith(machine)
            for version in file.versions
        ]


for machine in (AnyOrder, Refusals, Copies):
    machine.TestCase.settings = settings(
        max_examples=max(1, STEPS // 2 // STEPS_EACH),
        stateful_step_count=STEPS_EACH,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
TestAnyOrder = AnyOrder.TestCase
TestRefusals = Refusals.TestCase
TestCopies = Copies.TestCase
