"""Remove forgotten chats from the remotes, without waiting for the next sync."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from backscroll.errors import BackscrollError, storage_error
from backscroll.files.layout import FileKind
from backscroll.library.syncing.org_rules import following_rules
from backscroll.library.syncing.places import demand_there, findings_of
from backscroll.library.syncing.remote_settings import RemoteSettings, read_remotes
from backscroll.library.syncing.sync import (
    EmptyRemoteError,
    Synced,
    note_listing,
    open_remote_of,
    push_again,
    using_remote,
)
from backscroll.settings import Settings
from backscroll.sync.objects import ROOT
from backscroll.sync.policy import SyncMode
from backscroll.sync.push import push
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState


class ForgottenThere(NamedTuple):
    """The result of removing forgotten files from a remote."""

    remote: str
    is_server: bool = False
    """Whether it is a team server, which removes forgotten files at once."""
    removed: int = 0
    """Files that this machine had sent to the remote, and that are gone from it."""
    machines: tuple[str, ...] = ()
    """The other machines there, which ask their user as soon as they sync."""
    has_history: bool = False
    """Whether the list of typed prompts was sent there; it keeps the chat's prompts, as here."""
    problem: str = ""
    """Why the files could not be removed; the next sync removes them. Empty on success."""


def forget_on_remotes(settings: Settings) -> Iterator[ForgottenThere]:
    """Remove forgotten files from remote after remote, and notify other machines. Nothing else is sent."""
    for remote in read_remotes(settings).values():
        is_server = remote.device is not None
        if remote.is_paused:
            yield ForgottenThere(remote.name, is_server, problem="it is paused")
            continue
        try:
            outcome, _ = following_rules(settings, remote, lambda remote: _forget_on(settings, remote))
        except BackscrollError as error:
            outcome = ForgottenThere(remote.name, is_server, problem=error.message)
        yield outcome


def remove_forgotten(settings: Settings, remotes: Sequence[RemoteSettings], done: Sequence[Synced]) -> None:
    """Remove files from these remotes that were forgotten here after their sync, and add the counts to `done`.

    Files that cannot be removed now are removed by the next sync.
    """
    last = max((number for number, synced in enumerate(done) if synced.forgotten), default=0)
    by_name = {remote.name: remote for remote in remotes}
    for synced in done[:last]:
        remote = by_name[synced.remote]
        with suppress(BackscrollError), using_remote(settings, remote) as (sender, state):
            push_again(synced.pushed, sender, open_remote_of(settings, remote), state)


def _forget_on(settings: Settings, remote: RemoteSettings) -> ForgottenThere:
    with using_remote(settings, remote) as (sender, state):
        try:
            return _push(settings, remote, sender, state)
        except OSError as error:
            raise storage_error(error, f"cannot reach {remote.name}") from error


def _push(settings: Settings, remote: RemoteSettings, sender: Sender, state: SyncState) -> ForgottenThere:
    is_server = remote.device is not None
    if not (state.last_bundle[0] or state.seen()):
        return ForgottenThere(remote.name, is_server)  # no file of this machine was ever there
    store = open_remote_of(settings, remote)
    demand_there(store)
    listing = list(store.list(ROOT))
    if state.last_bundle[0] and not (listing or findings_of(store, sender.device).away):
        raise EmptyRemoteError(remote.name)
    pushed = push(sender, store, state, listing=listing, only_forgets=True)
    if pushed.has_changed:
        note_listing(state, listing, sender.device, pushed.stored)
    others = (seen.machine or seen.device for seen in state.seen() if seen.device != sender.device)
    machines = () if is_server else tuple(sorted(others))
    return ForgottenThere(remote.name, is_server, pushed.removed, machines, _has_sent_prompts(sender, state))


def _has_sent_prompts(sender: Sender, state: SyncState) -> bool:
    """Whether the list of typed prompts was sent, with their texts."""
    sent = state.sent().keys()
    lists = (
        stream
        for stream in sender.streams()
        if stream.file.kind is FileKind.HISTORY and stream.mode is not SyncMode.METRICS
    )
    return any(stream.base in sent for stream in lists)
