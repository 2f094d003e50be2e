"""How far each machine is on a remote, and what waits to be sent."""

from dataclasses import dataclass, field

from backscroll.archive.archive import Archive
from backscroll.errors import BackscrollError
from backscroll.library.syncing.org_rules import HeldBack, following_rules, held_back
from backscroll.library.syncing.remote_settings import RemoteSettings, state_path
from backscroll.library.syncing.sync import is_syncing, note_listing, open_remote_of, sender_of, waiting_bytes
from backscroll.settings import Settings
from backscroll.sync.push import Sender
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SeenDevice


@dataclass
class DeviceStatus:
    """How far a device is on a remote."""

    device: str
    machine: str
    """What its machine is called; empty if that is not known yet."""
    is_own: bool
    bundles: int
    """On the remote."""
    behind: int
    """Those that are not here yet; of this device, those that the remote has lost."""
    size: int
    """Bytes on the remote."""
    unknown: int = 0
    """Files of kinds that this version does not know, and that a later one can take."""


@dataclass
class RemoteStatus:
    """The state of a remote."""

    remote: RemoteSettings
    devices: list[DeviceStatus]
    waiting: int
    """Bytes of this machine that are kept and not sent."""
    problem: str | None = None
    """Why the last sync did not get to its end, or why the remote cannot be asked now."""
    is_syncing: bool = False
    """Whether a process syncs it right now."""
    held_back: list[HeldBack] = field(default_factory=list)
    """The projects that send less than the user chose, because of rules of the organisation."""


def status(
    settings: Settings, remote: RemoteSettings, *, asks: bool = True, archive: Archive | None = None
) -> RemoteStatus:
    """How far each device is on a remote: by one listing, or without `asks` as the last sync has seen it.

    A remote that cannot be asked is shown as it was last seen.
    """
    state = SyncState(state_path(settings, remote.name))
    problem = remote.problem
    try:
        if asks:
            try:
                listing, remote = following_rules(
                    settings, remote, lambda remote: list(open_remote_of(settings, remote).list())
                )
                note_listing(state, listing)
            except BackscrollError as error:
                problem = error.message
        sender = sender_of(settings, remote, archive)
        devices = [_device(one, sender, state) for one in state.seen()]
        return RemoteStatus(
            remote, devices, waiting_bytes(sender, state), problem, is_syncing(settings, remote.name),
            held_back(settings, remote, sender.archive),
        )  # fmt: skip
    finally:
        state.close()


def _device(seen: SeenDevice, sender: Sender, state: SyncState) -> DeviceStatus:
    is_own = seen.device == sender.device
    log, number, _ = state.pulled(seen.device)
    done = state.last_bundle[0] if is_own else number if log == seen.log else 0
    machine = sender.machine if is_own else seen.machine
    unknown = state.skipped(seen.device)
    return DeviceStatus(seen.device, machine, is_own, seen.bundles, abs(seen.bundles - done), seen.size, unknown)
