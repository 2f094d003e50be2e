"""Sync the remotes of a library, and verify that they have everything."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from backscroll.archive.archive import Archive
from backscroll.disk import FileLock
from backscroll.errors import BackscrollError, Busy, storage_error
from backscroll.library.archives import find_archive, open_archive, open_writer
from backscroll.library.forget_requests import ForgetRequests, requests_stamp
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.decisions import decisions_for
from backscroll.library.syncing.encryption import key_problem, mend_key
from backscroll.library.syncing.forgets import AskedChat, asked_chats, forget_agreed, holding, note_request
from backscroll.library.syncing.org_rules import following_rules, note_followed, taken_back, tell_projects
from backscroll.library.syncing.places import demand_there, findings_of, machine_names
from backscroll.library.syncing.remote_settings import (
    RemoteSettings,
    device_of,
    note_remote,
    read_credential,
    read_key,
    state_path,
    sync_folder_of,
)
from backscroll.library.syncing.trusted_keys import judge_of, note_nothing_refused
from backscroll.settings import Settings
from backscroll.sync.bundles import PLAIN
from backscroll.sync.consent import WithheldCount, count_undecided, count_withheld
from backscroll.sync.forgotten_elsewhere import ForgottenElsewhere
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.objects import ROOT, current, devices_in, in_log, latest_log
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import unsent
from backscroll.sync.pull import Pulled, Writing, has_news, pull
from backscroll.sync.push import mend, push
from backscroll.sync.remotes import LARGEST_OBJECT, SERVERS, Folder, Remote, RemoteObject, open_remote
from backscroll.sync.removal import MAX_SMALL_OBJECTS, merge_small
from backscroll.sync.sealing import hidden_device, seal_with
from backscroll.sync.sender import Healed, Pushed, Sender
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SeenDevice
from backscroll.sync.verify import Verified, verify

LOCK_SECONDS: Final = 1.0
UNKNOWN: Final = (
    "the remote has {} from {}, which is this machine, that its archive does not have, or has less of: it was set "
    "back, or another machine has a copy of this library. Run backscroll sync enroll, which brings what is missing here"
)
TOO_MANY: Final = "{} asks to forget more than can be noted: {} files were left out"
UNASKED: Final = (
    "{} files are asked to be forgotten by machines whose backscroll does not sign: update it there, and you are asked"
)
BUSY: Final = "another process writes to the archive right now; what other machines sent is taken later"


@dataclass
class Synced:
    """The result of a sync."""

    remote: str
    pushed: Pushed
    pulled: Pulled
    withheld: WithheldCount = field(default_factory=WithheldCount)
    """Sent files that may not leave any more; they stay until the user agrees."""
    undecided: int = 0
    """Sessions that are not sent because the rules cannot be decided for them."""
    has_new_rules: bool = False
    """Whether the organisation on a team server has changed its rules since the last sync."""
    forgotten: list[AskedChat] = field(default_factory=list)
    """Chats that were forgotten here because another machine asked, and the user or the settings agreed."""
    asked: list[AskedChat] = field(default_factory=list)
    """Chats that other machines ask to forget, and that wait for an answer."""
    has_new_requests: bool = False
    """Whether another machine asked in this sync."""
    notes: list[str] = field(default_factory=list)
    """Notes on the remote that are not problems."""

    @property
    def has_taken(self) -> bool:
        """Whether the sync changed the archive."""
        return bool(self.pulled.size or self.must_rebuild or self.forgotten or self.has_new_requests)

    @property
    def must_rebuild(self) -> bool:
        """Whether the index may have bytes that the archive no longer has."""
        return bool(self.pulled.replaced)

    @property
    def is_nothing(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.pushed.has_changed or self.has_taken or self.pulled.problems)


class EmptyRemoteError(BackscrollError):
    """A remote that had objects is empty."""

    def __init__(self, name: str) -> None:
        hint = (
            f"if it is a folder, mount its disk; if {name} should be empty, run "
            f"backscroll sync verify {name} --repair, which fills it again"
        )
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
    """Send new bytes, then take those of others. The index is updated by the next update.

    If the archive is open already, `writing` writes to it. Without `fills_empty`, a remote that lost everything raises
    an error and is not filled again: a disk may not be mounted.
    """

    def run(remote: RemoteSettings) -> Synced:
        forgotten = _forget_agreed(settings, writing)
        with using_remote(settings, remote) as (sender, state):
            try:
                done = _sync(settings, remote, on_total, on_bytes, sender, state, writing, fills_empty=fills_empty)
                done.forgotten[:0] = forgotten
                return done
            except Busy as busy:  # the remote is busy: only the lock of another sync is passed on as Busy
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
    problems = (problem for problem in done.pulled.problems if problem != BUSY)
    note_remote(settings, remote.name, last_sync=_now(), problem=next(problems, None))
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
    if state.last_bundle[0] or state.seen():
        demand_there(store)
    if isinstance(store, Folder):
        store.mend_access()
    listing = list(store.list(ROOT))
    findings = findings_of(store, sender.device)
    if not (listing or findings.away) and state.last_bundle[0] and not fills_empty:
        raise EmptyRemoteError(remote.name)
    notes, problems = mend_key(settings, remote, store, listing)
    if isinstance(store, HttpRemote):
        tell_projects(settings, remote, sender.archive, store)
    on_total(waiting_bytes(sender, state))
    pushed = push(sender, store, state, on_bytes, listing)
    note_followed(settings, remote)
    if pushed.has_changed and len(devices_in(listing).get(sender.device, ())) >= MAX_SMALL_OBJECTS:
        merge_small(store, sender.device, state=state if sender.signer else None)
    pulled, forgotten = Pulled(), list[AskedChat]()
    requests, requested = requests_stamp(settings), ForgetRequests(settings)
    left_out: Counter[str] = Counter()

    def on_forgotten(request: ForgottenElsewhere) -> None:
        left_out[request.machine] += note_request(requested, request)

    has_sent = pushed.has_changed
    is_new = has_news(listing, state, sender.device)
    if has_sent and is_new:
        listing = list(store.list(ROOT))
        note_listing(state, listing)
    else:
        note_listing(state, listing, sender.device if has_sent else "", pushed.stored)
    if is_new:
        try:
            with nullcontext(writing) if writing else _one_writer(settings) as lent_writing:
                pulled = pull(
                    lent_writing, store, state, sender.device, sender.seal, on_bytes, listing, sender.is_own,
                    on_forgotten=on_forgotten, judge=judge_of(settings, remote) if sender.signer else None,
                )  # fmt: skip
        except Busy:
            pulled.problems.append(BUSY)
    elif sender.signer:
        note_nothing_refused(settings)
    if requests_stamp(settings) != requests and (forgotten := _forget_agreed(settings, writing)):
        push_again(pushed, sender_of(settings, remote, find_archive(settings)), store, state)  # remove it there, too
    pulled.problems += [TOO_MANY.format(name, count) for name, count in left_out.items() if count]
    if pushed.unknown:
        files = "1 file" if pushed.unknown == 1 else f"{pushed.unknown:,} files"
        pulled.problems.append(UNKNOWN.format(files, sender.machine))
    name_of = machine_names(state)
    pulled.problems += [*problems, *findings.problems(name_of)]
    notes += [*pulled.notes, *findings.notes(name_of)]
    if pulled.unasked:
        notes.append(UNASKED.format(pulled.unasked))
    has_new_requests = requests_stamp(settings) != requests
    return Synced(
        remote.name, pushed, pulled, count_withheld(pushed.withheld, state), count_undecided(sender),
        forgotten=forgotten, asked=asked_chats(settings), has_new_requests=has_new_requests, notes=notes,
    )  # fmt: skip


def _forget_agreed(settings: Settings, writing: Writing | None) -> list[AskedChat]:
    try:
        return forget_agreed(settings, writing)
    except Busy:
        return []  # the next sync removes it; until then it is hidden


def push_again(pushed: Pushed, sender: Sender, store: Remote, state: SyncState) -> None:
    """Push again, and add the counts to `pushed`."""
    again = push(sender, store, state)
    for each in fields(Pushed):
        now = getattr(again, each.name)
        setattr(pushed, each.name, getattr(pushed, each.name) + now if isinstance(now, int | Healed) else now)


@contextmanager
def _one_writer(settings: Settings) -> Iterator[Writing]:
    with open_writer(settings) as writer:
        yield lambda: nullcontext(writer)


def verify_remote(settings: Settings, remote: RemoteSettings, *, deep: bool, repair: bool = False) -> Verified:
    """Compare the archive with a remote, and record the result; `repair` first repairs problems."""

    def run(remote: RemoteSettings) -> Verified:
        with using_remote(settings, remote) as (sender, state):
            store = open_remote_of(settings, remote)
            demand_there(store)
            verified = verify(sender, store, state, deep=deep)
            if repair and (verified.lost or verified.damaged or verified.foreign):
                repaired = mend(sender, store, state, verified.bad).healed.lines
                verified = verify(sender, store, state)
                verified.is_deep, verified.repaired = deep, repaired
            verified.key_problem = key_problem(settings, remote, store)
            return verified

    verified, _ = following_rules(settings, remote, run)
    if verified.is_whole:
        note_remote(settings, remote.name, last_proof=_now())
    return verified


def open_remote_of(settings: Settings, remote: RemoteSettings) -> Remote:
    """Return the remote itself, opened with this machine's credential."""
    credential = read_credential(settings, remote.name)
    return open_remote(remote.url, credential, remote.org_rules.digest, largest=LARGEST_OBJECT)


def waiting_bytes(sender: Sender, state: SyncState) -> int:
    """Return the bytes of this machine that are kept and not sent."""
    sent = state.sent()
    streams = sender.streams()
    known = ((stream, sent.get(stream.base)) for stream in streams if not sender.is_held(stream.file))
    return sum(
        unsent(sender.archive, stream, sent_stream.source if sent_stream else 0) for stream, sent_stream in known
    )


def note_listing(state: SyncState, listing: Sequence[RemoteObject], own: str = "", stored: int = 0) -> None:
    """Record the content of the remote, so that it can be shown offline. `own` has stored `stored` bytes more since."""
    seen = {}
    for device, objects in devices_in(listing).items():
        log = latest_log(objects) or ""
        counting = current(in_log(objects, log))
        last = max((bundle.last for bundle in counting), default=0)
        seen[device] = SeenDevice(device, "", log, last, sum(bundle.size for bundle in counting))
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
    """Return this machine as a sender to a remote."""
    device = device_of(settings)
    machine = ensure_machine(settings.library)
    archive = archive or open_archive(settings)
    is_server = urlsplit(remote.url).scheme in SERVERS  # a server is sent the git remotes of projects that leave
    decisions = decisions_for(settings, archive, remote.effective, needs_folders=is_server)
    key = read_key(settings, remote)
    named = remote.device or device.name
    return Sender(
        hidden_device(key, named) if key else named, named, archive, machine.is_own,
        decisions.mode_of, Outgoing(device.secret), seal_with(key) if key else PLAIN,
        None if is_server else device.signer, takes_back=taken_back(remote, decisions), lines_of=decisions.lines_of,
        is_held=holding(settings, archive), is_undecided=decisions.is_undecided,
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
def using_remote(settings: Settings, remote: RemoteSettings) -> Iterator[tuple[Sender, SyncState]]:
    """Lend this machine as a sender, and the state for a remote, which one process uses at a time."""
    with _lock(settings, remote.name):
        # Not earlier: files that another process has sent in between are in the archive, and must be seen there.
        sender = sender_of(settings, remote, find_archive(settings))
        state = SyncState(state_path(settings, remote.name))
        try:
            yield sender, state
        finally:
            state.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
