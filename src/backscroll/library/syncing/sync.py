"""Preview, sync and verify the remotes of a library."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import msgspec

from backscroll.archive.archive import KeptFile
from backscroll.disk import FileLock
from backscroll.errors import Busy
from backscroll.files.layout import FileKind
from backscroll.library.archives import open_archive, open_writer
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.projects import FileProjects
from backscroll.library.syncing.remote_settings import (
    RemoteSettings,
    device_of,
    read_credential,
    read_key,
    state_path,
    sync_folder_of,
    write_remote,
)
from backscroll.settings import Settings
from backscroll.sync.bundles import PLAIN
from backscroll.sync.objects import current, devices_in, in_log, latest_log
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import new_segments, own_streams, unsent
from backscroll.sync.policy import Policy, SyncMode
from backscroll.sync.pull import Pulled, has_news, pull
from backscroll.sync.push import Pushed, Sender, push
from backscroll.sync.remotes import Remote, open_remote
from backscroll.sync.removal import merge_small
from backscroll.sync.sealing import hidden_device, seal_with
from backscroll.sync.state import SyncState
from backscroll.sync.streams import first_head
from backscroll.sync.verify import Verified, verify

LOCK_SECONDS: Final = 1.0
BUSY: Final = "another process writes to the archive right now; what other machines sent is taken later"
NO_PROJECT: Final = "(no project)"


@dataclass
class ProjectPreview:
    """What of a project would leave."""

    project: str
    mode: SyncMode
    sessions: int = 0
    files: int = 0
    size: int = 0
    """Bytes of its files."""
    masked: Counter[str] = field(default_factory=Counter)
    """Places that would be masked, by rule."""


@dataclass
class Synced:
    """What a sync did."""

    remote: str
    pushed: Pushed
    pulled: Pulled


@dataclass
class DeviceStatus:
    """How far a device is on a remote."""

    device: str
    is_own: bool
    bundles: int
    """On the remote."""
    behind: int
    """Those that are not here yet; of this device, those that the remote has lost."""
    size: int
    """Bytes on the remote."""


@dataclass
class RemoteStatus:
    """The state of a remote."""

    remote: RemoteSettings
    devices: list[DeviceStatus]
    waiting: int
    """Bytes of this machine that are kept and not sent."""


def preview(
    settings: Settings,
    policy: Policy,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> list[ProjectPreview]:
    """What would leave, by project; the largest first. Masks everything once, as a first push would."""
    archive = open_archive(settings)
    projects = FileProjects(archive)
    machine = ensure_machine(settings.library)
    outgoing = Outgoing(b"preview")
    found: dict[str, ProjectPreview] = {}

    def row_of(file: KeptFile) -> ProjectPreview:
        project = projects.project_of(file)
        name = NO_PROJECT if project is None else project.path or projects.folder_of(file) or NO_PROJECT
        return found.setdefault(name, ProjectPreview(name, policy.mode_of(project)))

    for file in archive.files.values():
        if machine.is_own(file.machine) and file.versions:
            row = row_of(file)
            row.files += 1
            row.sessions += file.kind is FileKind.SESSION
            row.size += sum(version.size for version in file.versions)
    streams = own_streams(archive, machine.is_own, lambda file: projects.mode_of(policy, file), outgoing)
    on_total(sum(stream.version.size for stream in streams))
    for stream in streams:
        if stream.mode is SyncMode.REDACTED:
            before = Counter(outgoing.masked)
            for _ in new_segments(archive, stream, outgoing, 0, first_head(stream.key(0)), 0):
                pass
            row_of(stream.file).masked += outgoing.masked - before
        on_bytes(stream.version.size)
    return sorted(found.values(), key=lambda row: (-row.size, row.project))


def sync(
    settings: Settings,
    remote: RemoteSettings,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Synced:
    """Send what is new, then take what others sent. The index is brought up to date by the next update."""
    with _using(settings, remote) as (sender, state):
        store = _open(settings, remote)
        on_total(_unsent(sender, state))
        pushed = push(sender, store, state, on_bytes)
        if pushed.objects:
            merge_small(store, sender.device)
        pulled = Pulled()
        if has_news(store, state, sender.device):
            try:
                with open_writer(settings) as writer:
                    pulled = pull(writer, store, state, sender.device, sender.seal, on_bytes)
            except Busy:
                pulled.problems.append(BUSY)
    write_remote(settings, msgspec.structs.replace(remote, last_sync=_now()))
    return Synced(remote.name, pushed, pulled)


def verify_remote(settings: Settings, remote: RemoteSettings, *, deep: bool) -> Verified:
    """Compare the archive with a remote, and remember the result."""
    with _using(settings, remote) as (sender, state):
        found = verify(sender, _open(settings, remote), state, deep=deep)
    if found.is_whole:
        write_remote(settings, msgspec.structs.replace(remote, last_proof=_now()))
    return found


def status(settings: Settings, remote: RemoteSettings) -> RemoteStatus:
    """How far each device is on a remote, by one listing."""
    with _using(settings, remote) as (sender, state):
        devices = []
        for device, listed in sorted(devices_in(_open(settings, remote).list()).items()):
            objects = current(in_log(listed, latest_log(listed)))
            last = max((one.last for one in objects), default=0)
            is_own = device == sender.device
            log, number, _ = state.pulled(device)
            done = state.last_bundle[0] if is_own else number if log == latest_log(listed) else 0
            devices.append(DeviceStatus(device, is_own, last, abs(last - done), sum(one.size for one in objects)))
        waiting = _unsent(sender, state)
    return RemoteStatus(remote, devices, waiting)


def _open(settings: Settings, remote: RemoteSettings) -> Remote:
    return open_remote(remote.url, read_credential(settings, remote.name))


def _unsent(sender: Sender, state: SyncState) -> int:
    """Bytes of this machine that are kept and not sent."""
    sent = state.sent()
    streams = own_streams(sender.archive, sender.is_own, sender.mode_of, sender.outgoing)
    known = ((stream, sent.get(stream.base)) for stream in streams)
    return sum(unsent(sender.archive, stream, one.source if one else 0) for stream, one in known)


@contextmanager
def _using(settings: Settings, remote: RemoteSettings) -> Iterator[tuple[Sender, SyncState]]:
    """This machine as a sender, and the state for a remote, which one process uses at a time."""
    device = device_of(settings)
    machine = ensure_machine(settings.library)
    archive = open_archive(settings)
    projects = FileProjects(archive)
    key = read_key(settings, remote)
    lock = sync_folder_of(settings) / f"{remote.name}.lock"
    with FileLock(lock, f"another process is syncing {remote.name}", "wait for it", wait=LOCK_SECONDS):
        state = SyncState(state_path(settings, remote.name))
        try:
            named = remote.device or device.name
            sender = Sender(
                hidden_device(key, named) if key else named, named, archive, machine.is_own,
                lambda file: projects.mode_of(remote.policy, file), Outgoing(device.secret),
                seal_with(key) if key else PLAIN,
            )  # fmt: skip
            yield sender, state
        finally:
            state.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
