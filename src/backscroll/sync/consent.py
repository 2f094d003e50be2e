"""Sent files that may not leave any more: they stay on the remote until the user agrees that they are withdrawn.

Agreeing names streams. It moves them, in one transaction, to the streams whose content the next push removes; a crash
after that is continued, and a stream that was not named stays.
"""

from collections.abc import Collection, Iterable, Set
from typing import TYPE_CHECKING, NamedTuple

from backscroll.archive.forgetting import keys_to_forget
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.sync.own_streams import names_of
from backscroll.sync.policy import SyncMode
from backscroll.sync.state import SyncState
from backscroll.sync.streams import StreamKey

if TYPE_CHECKING:
    from backscroll.sync.sender import Sender


class WithheldStream(NamedTuple):
    """A version of a file that was sent, and may not leave any more, or only less of it."""

    base: str
    """The id of the stream in its first generation."""
    file: KeptFile
    version: Version
    mode: SyncMode
    """The mode in which the file may leave now."""
    leaves_more: bool = False
    """Whether more than this leaves now under another name: its metrics were sent, and now the file itself is sent."""


def withheld_streams(sender: "Sender", bases: Collection[str]) -> list[WithheldStream]:
    """Return the streams, of these sent ones, that are kept and may not leave, or not under that name."""
    withheld = []
    for file in sender.archive.files.values() if bases else ():
        if not sender.is_own(file.machine):
            continue
        mode = sender.mode_of(file)
        leaves = mode is not SyncMode.OFF and (mode is not SyncMode.METRICS or file.path.endswith(".jsonl"))
        leaving = names_of(file, mode, sender.outgoing) if leaves else None
        for other in (SyncMode.FULL, SyncMode.METRICS):
            names = names_of(file, other, sender.outgoing)
            if names == leaving:
                continue
            leaves_more = leaving is not None and other is SyncMode.METRICS
            keyed = ((StreamKey(*names, version.number).id, version) for version in file.versions)
            withheld += [
                WithheldStream(base, file, version, mode, leaves_more) for base, version in keyed if base in bases
            ]
    return withheld


class WithheldCount(NamedTuple):
    """Number of sessions and files that are on a remote although they may not leave any more."""

    sessions: int = 0
    files: int = 0
    """Files of no session."""
    left_there: int = 0
    """Sessions and files that the user leaves on the remote; the other counts exclude them."""


def withheld_name(file: KeptFile) -> tuple[bool, str]:
    """Whether a file belongs to a session, and the id of the session; of another file its path."""
    session = file.place.session_id
    return session is not None, session or file.path


def count_withheld(streams: Collection[WithheldStream], state: SyncState) -> WithheldCount:
    """Count streams by session."""
    left = state.left_there()
    asking = {withheld_name(stream.file) for stream in streams if stream.base not in left}
    every = {withheld_name(stream.file) for stream in streams}
    sessions = sum(is_session for is_session, _ in asking)
    return WithheldCount(sessions, len(asking) - sessions, len(every) - len(asking))


def count_undecided(sender: "Sender") -> int:
    """Count the sessions of which nothing is sent because their rules cannot be determined."""
    own = (file for file in sender.archive.files.values() if file.versions and sender.is_own(file.machine))
    named = (withheld_name(file) for file in own if sender.is_undecided(file))
    return len({name for is_session, name in named if is_session})


def drop_gone(sender: "Sender", state: SyncState, leaving: Set[str]) -> tuple[list[WithheldStream], int]:
    """Note the streams to be removed from the remote; `leaving` are those that may be there.

    Streams are removed if they were forgotten, if they leave with more in them under another name, or if the
    organisation of a team server switched them off. Return the other streams that may not leave any more, which stay
    until the user agrees; and the number of sessions that the archive does not have. These may exist nowhere else: the
    archive was set back to an older state, or lost.
    """
    sent = state.sent()
    state.ask_again(leaving)
    gone = sent.keys() - leaving
    if not gone:
        return [], 0
    archive = sender.archive
    own = (file for file in archive.files.values() if sender.is_own(file.machine))
    known = keys_to_forget((file.home, file.path) for file in own)
    withheld = {stream.base: stream for stream in withheld_streams(sender, gone)}
    stays, unknown = [], 0
    for base in gone:
        keys, stream = sent[base].keys, withheld.get(base)
        if not keys.isdisjoint(archive.forgotten) or (
            stream and (stream.leaves_more or sender.takes_back(stream.file))
        ):
            state.drop_stream(base)
        elif stream:
            stays.append(stream)
        elif len(keys) > 1 and keys.isdisjoint(known):  # of a session; a session that moved is still known
            unknown += 1
    return stays, unknown


def stay_until_agreed(sender: "Sender", state: SyncState) -> list[WithheldStream]:
    """Return the sent streams that may not leave any more and are not being removed: the user decides about them."""
    gone = state.sent().keys() - {stream.base for stream in sender.streams()}
    return [
        withheld
        for withheld in withheld_streams(sender, gone)
        if not withheld.leaves_more and not sender.takes_back(withheld.file)
    ]


def agree(state: SyncState, bases: Iterable[str]) -> int:
    """Let the next push remove these streams from the remote; return how many of them are there."""
    sent = state.sent().keys()
    agreed = [base for base in bases if base in sent]
    with state.saving():
        for base in agreed:
            state.drop_stream(base)
    return len(agreed)
