"""Sent files that may not leave any more: shown session by session, withdrawn or left on the remote."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from backscroll.library.archives import find_archive
from backscroll.library.syncing.decisions import SessionDecisions, decisions_for
from backscroll.library.syncing.remote_settings import RemoteSettings, state_path
from backscroll.library.syncing.rules import day_of
from backscroll.library.syncing.sync import sender_of, using_remote
from backscroll.settings import Settings
from backscroll.sync.consent import WithheldStream, agree, stay_until_agreed, withheld_name
from backscroll.sync.policy import Policy, SyncMode
from backscroll.sync.state import SyncState


@dataclass
class Withheld:
    """A session on a remote that may not leave any more, with its files; or a file of no session."""

    name: str
    """The id of the session, or the path of the file."""
    is_session: bool
    project: str
    mode: SyncMode
    """The mode in which it may leave now."""
    reason: str
    """The reason of the mode."""
    at: str = ""
    """The day of the last write."""
    size: int = 0
    """Bytes of the files."""
    is_left_there: bool = False
    """Whether the user leaves it on the remote."""
    streams: list[str] = field(default_factory=list)
    """The ids of its streams in the state of the sync."""


def withheld(settings: Settings, remote: RemoteSettings, policy: Policy | None = None) -> list[Withheld]:
    """Return sent sessions that may not leave any more; with a `policy`, as if it were the user's own.

    Reads the state of the last sync, not the remote.
    """
    if policy is not None:
        remote = msgspec.structs.replace(remote, policy=policy)
    archive = find_archive(settings)
    if archive is None:
        return []
    sender = sender_of(settings, remote, archive)
    state = SyncState(state_path(settings, remote.name))
    try:
        decisions = decisions_for(settings, archive, remote.effective)
        return _by_session(decisions, stay_until_agreed(sender, state), state.left_there())
    finally:
        state.close()


def agree_to_withdraw(settings: Settings, remote: RemoteSettings, sessions: Iterable[Withheld]) -> int:
    """Let the next sync remove these from the remote; return the number of streams. Nothing else is agreed to."""
    with using_remote(settings, remote) as (_, state):
        return agree(state, [stream for session in sessions for stream in session.streams])


def leave_there(settings: Settings, remote: RemoteSettings, sessions: Iterable[Withheld]) -> None:
    """Leave these on the remote, and do not mention them at each sync."""
    with using_remote(settings, remote) as (_, state), state.saving():
        state.leave_there(stream for session in sessions for stream in session.streams)


def _by_session(decisions: SessionDecisions, streams: list[WithheldStream], left_there: set[str]) -> list[Withheld]:
    rows: dict[tuple[bool, str], Withheld] = {}
    for stream in streams:
        is_session, name = key = withheld_name(stream.file)
        row = rows.get(key)
        if row is None:
            reason = decisions.of(stream.file).reason
            row = rows[key] = Withheld(name, is_session, decisions.name_of(stream.file), stream.mode, reason)
        row.at = max(row.at, day_of(stream.version.modified_ns))
        row.size += stream.version.size
        row.is_left_there = stream.base in left_there
        row.streams.append(stream.base)
    return sorted(rows.values(), key=lambda row: (not row.is_session, row.project, row.at, row.name))
