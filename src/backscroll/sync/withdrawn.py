"""Remove streams from an archive that their device withdrew from the remote, as their project may not leave any more.

A machine of the same person keeps its copy; a team server must not: it shows only what its devices let it have. The
device leaves the hashes of withdrawn content in its bundles, so that both are still proved to be whole.
"""

from collections.abc import Sequence
from typing import NamedTuple

from backscroll.archive.rewriting import ReplacedVersion
from backscroll.errors import NothingFound
from backscroll.sync.bundles import read_bundles
from backscroll.sync.objects import BundleObject, current, in_log, latest_log
from backscroll.sync.pull import Writing
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.removal import objects_of
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import StreamInArchive
from backscroll.sync.streams import StreamKey


class Withdrawal(NamedTuple):
    """The streams that a device withdrew, and that were removed from the archive."""

    streams: list[StreamInArchive]
    looked: list[str]
    """Names of the objects that were searched."""

    def note(self, state: SyncState, device: str) -> None:
        """Record the withdrawal in the state."""
        if not self.streams and state.looked(device) == set(self.looked):
            return
        with state.saving():
            for stream in self.streams:
                state.forget_received(device, stream.stream)
            state.note_looked(device, self.looked)


def withdraw(
    writing: Writing, remote: Remote, listing: Sequence[RemoteObject], state: SyncState, device: str
) -> Withdrawal:
    """Remove the streams that a device withdrew since the last search.

    First the archive changes, then what is derived from it, then the record: an interrupted withdrawal is repeated.
    """
    every = objects_of(remote, device, listing)
    known = state.looked(device)
    waiting = [
        bundle_object for bundle_object in current(in_log(every, latest_log(every))) if _may_be_shortened(bundle_object)
    ]
    removed: set[str] = set()
    for bundle_object in waiting:
        if bundle_object.name not in known:
            removed |= _removed_in(remote, bundle_object)
    gone = [stream for stream in (state.in_archive(device, name) for name in removed) if stream is not None]
    if gone:
        _remove(writing, gone)
    return Withdrawal(gone, [bundle_object.name for bundle_object in waiting])


def _may_be_shortened(one: BundleObject) -> bool:
    """Whether the object was rewritten: shortened, or merged from objects that may have been."""
    return one.revision > 0 or one.last > one.first


def _removed_in(remote: Remote, one: BundleObject) -> set[str]:
    try:
        bundles = list(read_bundles(remote.get(one.name)))
    except NothingFound:  # its device has rewritten it since: another job handles that
        return set()
    return {entry.stream for bundle in bundles for entry in bundle.index.entries if entry.file is None}


def _remove(writing: Writing, streams: list[StreamInArchive]) -> None:
    with writing() as writer:
        files = {(file.machine, StreamKey(file.home, file.path, 0).id): file for file in writer.files.values()}
        emptied: dict[int, list[ReplacedVersion]] = {}
        for stream in streams:
            file = files.get((stream.machine, stream.base))
            version = file.version(stream.version) if file is not None else None
            if file is not None and version is not None and version.size == stream.size:
                emptied.setdefault(file.number, []).append(ReplacedVersion(file, version))
        whole = [changes[0].file for changes in emptied.values() if _is_all(changes)]
        parts = [stream for changes in emptied.values() for stream in changes if stream.file not in whole]
        if whole or parts:
            writer.forget(whole, (), parts)


def _is_all(changes: list[ReplacedVersion]) -> bool:
    """Whether nothing remains of a file."""
    removed = {change.old.number for change in changes}
    return all(not version.size or version.number in removed for version in changes[0].file.versions)
