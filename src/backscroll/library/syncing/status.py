"""Progress of each machine on a remote, and bytes that wait to be sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from backscroll.archive.archive import Archive
from backscroll.errors import BackscrollError
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.org_rules import HeldBack, following_rules, held_back
from backscroll.library.syncing.places import demand_there, findings_of, machine_names
from backscroll.library.syncing.remote_settings import RemoteSettings, state_path
from backscroll.library.syncing.sync import is_syncing, note_listing, open_remote_of, sender_of, waiting_bytes
from backscroll.library.syncing.trusted_keys import KnownMachine, TrustedKeys
from backscroll.settings import Settings
from backscroll.sync.consent import WithheldCount, count_undecided, count_withheld, stay_until_agreed
from backscroll.sync.objects import ROOT
from backscroll.sync.pull import COPY
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SeenDevice


@dataclass
class DeviceStatus:
    """Progress of a device on a remote."""

    device: str
    machine: str
    """The name of the machine; empty if it is not known yet."""
    is_own: bool
    bundles: int
    """Number of bundles on the remote."""
    behind: int
    """Bundles that are not here yet; for this device, those that the remote has lost."""
    size: int
    """Bytes on the remote."""
    unknown: int = 0
    """Files of kinds that this version does not know, and that a later one can take."""
    key: str | None = None
    """The public key of its signatures; None if it has not signed anything yet."""
    refused: str | None = None
    """The key of refused bundles of it, empty if they were not signed; None if none was refused."""
    here: str = ""
    """For this machine: its name in lists and searches here, if it has another name on the remote."""


@dataclass
class RemoteStatus:
    """The state of a remote."""

    remote: RemoteSettings
    devices: list[DeviceStatus]
    waiting: int
    """Bytes of this machine that are kept and not sent."""
    problem: str | None = None
    """Why the last sync did not complete, or why the remote cannot be reached now."""
    is_syncing: bool = False
    """Whether a process syncs it right now."""
    held_back: list[HeldBack] = field(default_factory=list)
    """The projects that send less than the user chose, because of rules of the organisation."""
    withheld: WithheldCount = field(default_factory=WithheldCount)
    """Sent files that may not leave any more; they stay until the user agrees."""
    undecided: int = 0
    """Sessions that are not sent because the rules cannot be decided for them."""
    has_signatures: bool = True
    """Whether machines sign their bundles to it: not on a team server, which knows them."""


def status(
    settings: Settings, remote: RemoteSettings, *, asks: bool = True, archive: Archive | None = None
) -> RemoteStatus:
    """Return the progress of each device on a remote: by one listing, or without `asks` from the last sync.

    A remote that cannot be reached is shown in its last known state.
    """
    state = SyncState(state_path(settings, remote.name))
    problem = remote.problem
    try:
        if asks:
            try:
                problems, remote = following_rules(settings, remote, lambda remote: _look(settings, remote, state))
                problem = problem or next(iter(problems), None)
            except BackscrollError as error:
                problem = error.message
        sender = sender_of(settings, remote, archive)
        machines = TrustedKeys(settings).machines if sender.signer else {}
        devices = [_device(device, sender, state, machines) for device in state.seen()]
        own_name = ensure_machine(settings.library).id
        for device in devices:
            device.here = own_name if device.is_own and device.machine != own_name else ""
        return RemoteStatus(
            remote, devices, waiting_bytes(sender, state), problem, is_syncing(settings, remote.name),
            held_back(settings, remote, sender.archive), count_withheld(stay_until_agreed(sender, state), state),
            count_undecided(sender),
            sender.signer is not None,
        )  # fmt: skip
    finally:
        state.close()


def _look(settings: Settings, remote: RemoteSettings, state: SyncState) -> list[str]:
    """List a remote and note its bundles; return the problems with files that cannot be read."""
    store = open_remote_of(settings, remote)
    if state.last_bundle[0] or state.seen():
        demand_there(store)
    listing = list(store.list(ROOT))
    note_listing(state, listing)
    return findings_of(store, "").problems(machine_names(state))


def _device(seen: SeenDevice, sender: Sender, state: SyncState, machines: Mapping[str, KnownMachine]) -> DeviceStatus:
    is_own = seen.device == sender.device
    log, number, _ = state.pulled(seen.device)
    done = state.last_bundle[0] if is_own else number if log == seen.log else 0
    machine = sender.machine if is_own else seen.machine
    unknown = state.skipped(seen.device)
    known = machines.get(machine) or machines.get(machine.removesuffix(COPY))
    key = known.key or None if known else None
    if is_own:
        key = sender.signer.public if sender.signer else None
    return DeviceStatus(
        seen.device, machine, is_own, seen.bundles, abs(seen.bundles - done), seen.size, unknown, key,
        known.refused if known and not is_own else None,
    )  # fmt: skip
