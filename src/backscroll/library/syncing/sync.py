"""Sync the remotes of a library, and prove that they have everything."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.disk import FileLock
from backscroll.errors import BackscrollError, Busy, StorageError, storage_error
from backscroll.library.archives import find_archive, open_archive, open_writer
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.org_rules import following_rules, tell_projects
from backscroll.library.syncing.projects import FileProjects
from backscroll.library.syncing.remote_settings import (
    RemoteSettings,
    device_of,
    note_remote,
    read_credential,
    read_key,
    state_path,
    sync_folder_of,
)
from backscroll.settings import Settings
from backscroll.sync.bundles import PLAIN
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.objects import current, devices_in, in_log, latest_log
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import own_streams, unsent
from backscroll.sync.pull import Pulled, Writing, has_news, pull
from backscroll.sync.push import Pushed, Sender, push
from backscroll.sync.remotes import Folder, Remote, RemoteObject, open_remote
from backscroll.sync.removal import MAX_SMALL_OBJECTS, merge_small
from backscroll.sync.sealing import hidden_device, seal_with
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SeenDevice
from backscroll.sync.verify import Verified, verify

LOCK_SECONDS: Final = 1.0
UNKNOWN: Final = (
    "the remote has {} files of sessions from {}, which is this machine, and its archive does not have them: it was "
    "set back, or another machine has a copy of this library. Run backscroll sync enroll, which brings them here"
)
BUSY: Final = "another process writes to the archive right now; what other machines sent is taken later"


@dataclass
class Synced:
    """What a sync did."""

    remote: str
    pushed: Pushed
    pulled: Pulled
    has_new_rules: bool = False
    """Whether the organisation on a team server has other rules than at the last sync."""

    @property
    def has_taken(self) -> bool:
        """Whether the archive is another than before."""
        return bool(self.pulled.size or self.must_rebuild or self.pulled.forgotten)

    @property
    def must_rebuild(self) -> bool:
        """Whether the index may have bytes that the archive has no more."""
        return bool(self.pulled.replaced)

    @property
    def is_nothing(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.pushed.objects or self.pushed.removed or self.has_taken or self.pulled.problems)


class EmptyRemoteError(BackscrollError):
    """A remote that had something is empty."""

    def __init__(self, name: str) -> None:
        hint = f"if it should be empty, run backscroll sync, which fills it again; else look what became of {name}"
        super().__init__(f"{name} is empty, and this machine has sent to it before", hint)


def sync(
    settings: Settings,
    remote: RemoteSettings,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
    *,
    writing: Writing | None = None,
    fills_empty: bool = True,
) -> Synced:
    """Send what is new, then take what others sent. The index is brought up to date by the next update.

    Where the archive is open already, `writing` writes to it. Without `fills_empty`, a remote that lost everything is
    told and not filled again: a disk may not be mounted.
    """

    def run(remote: RemoteSettings) -> Synced:
        with _using(settings, remote) as (sender, state):
            try:
                return _sync(settings, remote, on_total, on_bytes, sender, state, writing, fills_empty=fills_empty)
            except Busy as busy:  # the remote is: only the lock of another sync is passed on as such
                raise BackscrollError(busy.message, busy.hint) from busy
            except OSError as error:
                raise storage_error(error, f"cannot sync {remote.name}") from error

    try:
        done, followed = following_rules(settings, remote, run)
        done.has_new_rules = followed is not remote
    except Busy:
        raise
    except BackscrollError as error:
        note_remote(settings, remote.name, problem=error.message)
        raise
    told = (problem for problem in done.pulled.problems if problem != BUSY)
    note_remote(settings, remote.name, last_sync=_now(), problem=next(told, None))
    return done


def _sync(
    settings: Settings,
    remote: RemoteSettings,
    on_total: Callable[[int], object],
    on_bytes: Callable[[int], object],
    sender: Sender,
    state: SyncState,
    writing: Writing | None,
    *,
    fills_empty: bool,
) -> Synced:
    store = open_remote_of(settings, remote)
    if state.last_bundle[0]:
        _demand_there(store)
    listing = list(store.list())
    if not listing and state.last_bundle[0] and not fills_empty:
        raise EmptyRemoteError(remote.name)
    if isinstance(store, HttpRemote):
        tell_projects(settings, remote, sender.archive, store)
    on_total(waiting_bytes(sender, state))
    pushed = push(sender, store, state, on_bytes, listing)
    if pushed.objects and len(devices_in(listing).get(sender.device, ())) >= MAX_SMALL_OBJECTS:
        merge_small(store, sender.device)
    pulled = Pulled()
    has_sent = bool(pushed.objects or pushed.mended or pushed.removed)
    is_new = has_news(listing, state, sender.device)
    if has_sent and is_new:
        listing = list(store.list())
        note_listing(state, listing)
    else:
        note_listing(state, listing, sender.device if has_sent else "", pushed.stored)
    if is_new:
        try:
            with nullcontext(writing) if writing else _one_writer(settings) as one:
                pulled = pull(one, store, state, sender.device, sender.seal, on_bytes, listing, sender.is_own)
        except Busy:
            pulled.problems.append(BUSY)
    if pushed.unknown:
        pulled.problems.append(UNKNOWN.format(pushed.unknown, sender.machine))
    return Synced(remote.name, pushed, pulled)


@contextmanager
def _one_writer(settings: Settings) -> Iterator[Writing]:
    with open_writer(settings) as writer:
        yield lambda: nullcontext(writer)


def _demand_there(store: Remote) -> None:
    """A folder that this machine has written to must be there; one that is not may lie on a disk that is away."""
    if isinstance(store, Folder) and not store.root.is_dir():
        hint = "mount it; or create the folder, to start again"
        raise StorageError(f"{store.root} is not there", hint)


def verify_remote(settings: Settings, remote: RemoteSettings, *, deep: bool) -> Verified:
    """Compare the archive with a remote, and remember the result."""

    def run(remote: RemoteSettings) -> Verified:
        with _using(settings, remote) as (sender, state):
            return verify(sender, open_remote_of(settings, remote), state, deep=deep)

    found, _ = following_rules(settings, remote, run)
    if found.is_whole:
        note_remote(settings, remote.name, last_proof=_now())
    return found


def open_remote_of(settings: Settings, remote: RemoteSettings) -> Remote:
    """The remote itself, with what it knows this machine by."""
    return open_remote(remote.url, read_credential(settings, remote.name), remote.org_rules.digest)


def waiting_bytes(sender: Sender, state: SyncState) -> int:
    """Bytes of this machine that are kept and not sent."""
    sent = state.sent()
    streams = own_streams(sender.archive, sender.is_own, sender.mode_of, sender.outgoing)
    known = ((stream, sent.get(stream.base)) for stream in streams)
    return sum(unsent(sender.archive, stream, one.source if one else 0) for stream, one in known)


def note_listing(state: SyncState, listing: Sequence[RemoteObject], own: str = "", stored: int = 0) -> None:
    """Remember what the remote has, so that it can be shown without asking it. `own` has stored so much more since."""
    seen = {}
    for device, objects in devices_in(listing).items():
        log = latest_log(objects) or ""
        counting = current(in_log(objects, log))
        last = max((one.last for one in counting), default=0)
        seen[device] = SeenDevice(device, "", log, last, sum(one.size for one in counting))
    if own:
        known = seen.get(own, SeenDevice(own, "", "", 0, 0))
        seen[own] = known._replace(
            log=state.log or "",
            bundles=state.last_bundle[0],
            size=stored + (known.size if known.log == state.log else 0),
        )
    with state.saving():
        state.note_seen(seen.values())


def sender_of(settings: Settings, remote: RemoteSettings, archive: Archive | None = None) -> Sender:
    """This machine, as it writes to a remote."""
    device = device_of(settings)
    machine = ensure_machine(settings.library)
    archive = archive or open_archive(settings)
    projects = FileProjects(archive)
    key = read_key(settings, remote)
    named = remote.device or device.name
    return Sender(
        hidden_device(key, named) if key else named, named, archive, machine.is_own,
        lambda file: projects.mode_of(remote.effective, file), Outgoing(device.secret),
        seal_with(key) if key else PLAIN,
    )  # fmt: skip


def is_syncing(settings: Settings, name: str) -> bool:
    """Whether a process syncs this remote right now."""
    try:
        _lock(settings, name, wait=0.0).release()
    except Busy:
        return True
    return False


def _lock(settings: Settings, name: str, wait: float = LOCK_SECONDS) -> FileLock:
    path = sync_folder_of(settings) / f"{name}.lock"
    return FileLock(path, f"another process is syncing {name}", "wait for it", wait=wait)


@contextmanager
def _using(settings: Settings, remote: RemoteSettings) -> Iterator[tuple[Sender, SyncState]]:
    """This machine as a sender, and the state for a remote, which one process uses at a time."""
    with _lock(settings, remote.name):
        # Not before: what another process has sent meanwhile is in the archive, and must be seen there.
        sender = sender_of(settings, remote, find_archive(settings))
        state = SyncState(state_path(settings, remote.name))
        try:
            yield sender, state
        finally:
            state.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
