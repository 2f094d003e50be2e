"""Take over bundles of this device that are on the remote and not in its state.

They were stored just before a crash, or before this machine or its state was set back. Their hashes are chained, so the
signature of the last bundle covers all before it. A file that this archive has must be equal to the sent one: else
another machine writes under this name.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from backscroll.archive.forgetting import keys_to_forget
from backscroll.sync.bounds import LARGEST_INDEX
from backscroll.sync.bundles import Bundle, DamagedBundleError, Entry, file_key, read_bundles
from backscroll.sync.objects import BundleObject, current, in_log
from backscroll.sync.remaking import Remaker, SegmentEnds, must_begin
from backscroll.sync.remotes import Remote
from backscroll.sync.scanning import ScannedBundle, ScannedObject, downloaded, is_of_another, scan
from backscroll.sync.sender import CopiedLibraryError, Sender
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import SentStreamName

Chain = list[tuple[BundleObject, ScannedBundle]]
MAX_LOGS: Final = 100
"""Largest number of logs searched for the log of this device, if its state is lost."""


class GapError(Exception):
    """A bundle is missing before one of this device that the state does not know."""


def choose_log(remote: Remote, sender: Sender, state: SyncState, listed: Sequence[BundleObject]) -> str | None:
    """Return the log that this device writes; None if it has to begin one.

    A log with a higher name than the one in the state is from before this machine was set back, if the device signed
    it. An unsigned log may be its own as long as the device has not signed anything, and has no other log.

    CopiedLibraryError if this machine has no record of sending anything, and another key signed the bundles there:
    they may be all that is left of a machine which was set up anew, and must not be treated as junk.
    """
    known = state.log if any(bundle_object.log == state.log for bundle_object in listed) else None
    newer = sorted(
        {bundle_object.log for bundle_object in listed if bundle_object.log > (state.log or "")}, reverse=True
    )[:MAX_LOGS]
    unsigned = None
    for log in newer:
        for bundle_object in current(in_log(listed, log)):
            scanned = scan(remote, bundle_object, sender, is_deep=False)
            if scanned is None:
                break
            if any(bundle.is_signed for bundle in scanned.bundles):
                return log
            unsigned = unsigned or log
    if not state.last_bundle[0] and any(is_of_another(remote, bundle_object, sender) for bundle_object in listed):
        raise CopiedLibraryError(sender.device)
    return known or (unsigned if state.signed_from is None else None)


class Adopter:
    """Takes over the bundles of this device that its state does not know."""

    def __init__(self, sender: Sender, remote: Remote, state: SyncState, remaker: Remaker) -> None:
        self._sender, self._remote, self._state, self._remaker = sender, remote, state, remaker

    def adopt(self, scanned: Iterable[ScannedObject]) -> int:
        """Take over the bundles that follow the last one in the state; return how many.

        GapError if one before them is missing, CopiedLibraryError if they are not those of this machine.
        """
        chain = self._chain([(each.one, bundle) for each in scanned for bundle in each.bundles])
        for bundle_object in dict.fromkeys(bundle_object for bundle_object, _ in chain):
            self._take(bundle_object, {bundle.hash: bundle for where, bundle in chain if where == bundle_object})
        return len(chain)

    def _chain(self, candidates: Chain) -> Chain:
        """Return the bundles to take over, in order: all up to the last signed one."""
        last, known = self._state.last_bundle
        new = [each for each in candidates if each[1].number > last]
        signed = max((bundle.number for _, bundle in new if bundle.is_signed), default=0)
        if signed:
            return self._chain_back(new, signed, last, known)
        if not new or self._state.signed_from is not None:
            return []
        return self._chain_forth(new, last, known)

    def _chain_back(self, new: Chain, signed: int, last: int, known: str) -> Chain:
        """Return the chain from the last known bundle to a signed one, followed backwards."""
        chain = [next(each for each in new if each[1].number == signed and each[1].is_signed)]
        while (number := chain[-1][1].number - 1) > last:
            previous = chain[-1][1].previous
            before = [each for each in new if each[1].number == number and each[1].hash == previous]
            if not before:
                raise GapError
            chain.append(before[0])
        if chain[-1][1].previous != known:
            raise CopiedLibraryError(self._sender.device)
        return chain[::-1]

    def _chain_forth(self, new: Chain, last: int, known: str) -> Chain:
        """Return the chain of unsigned bundles, which older versions wrote, followed forwards."""
        chain: Chain = []
        while candidates := [each for each in new if each[1].number == last + 1]:
            following = [each for each in candidates if each[1].previous == known]
            if not following:
                raise CopiedLibraryError(self._sender.device)
            if not following[0][1].forgotten <= self._sender.archive.forgotten:
                raise GapError  # it may be made up: this machine must not sign hashes that it never forgot
            chain.append(following[0])
            last, known = last + 1, following[0][1].hash
        if any(bundle.number > last for _, bundle in new):
            raise GapError
        return chain

    def _take(self, one: BundleObject, chosen: dict[str, ScannedBundle]) -> None:
        with downloaded(self._remote, one) as (file, _):
            for bundle in read_bundles(file, self._sender.seal, LARGEST_INDEX):
                scanned = chosen.get(bundle.index.hash)
                if scanned is None:
                    continue
                ends = {(entry.stream, entry.number): (entry.after, entry.source) for entry in bundle.index.entries}
                streams = [self._adopted(entry, bundle, ends, scanned) for entry in bundle.index.entries]
                with self._state.saving():
                    self._state.note_bundle(bundle.index, streams)
                    self._state.note_signed(bundle.index.number, is_signed=scanned.is_signed)
                if len(chosen) == 1 or bundle.index.number == max(each.number for each in chosen.values()):
                    return

    def _adopted(self, entry: Entry, bundle: Bundle, ends: SegmentEnds, scanned: ScannedBundle) -> SentStreamName:
        """Return the stream of a segment that is on the remote already.

        A segment of a file that we have must equal the one we would have sent. If we have less of the file, ours must
        be its beginning; the rest is compared once we have as much. Files that we lack are compared if they appear.
        """
        if entry.file is None:
            return SentStreamName(entry.stream, ())
        key = file_key(entry)
        base = key._replace(generation=0).id
        stream = self._remaker.streams.get(base)
        if stream is None:
            return SentStreamName(base, keys_to_forget([(key.home, key.path)]), is_checked=False)
        is_checked = entry.source <= stream.version.size
        if entry.file.rules == stream.rules:
            size = min(entry.source, stream.version.size)
            ours = self._remaker.segment(stream, key, entry.number, size, ends).segment
            beginning = must_begin(stream.rules, ours.data)
            is_same = ours.head == entry.after if is_checked else _begins_with(bundle, entry, beginning, scanned)
            if not is_same:
                raise CopiedLibraryError(self._sender.device)
        return SentStreamName(base, keys_to_forget([(stream.file.home, stream.file.path)]), is_checked)


def _begins_with(bundle: Bundle, entry: Entry, ours: bytes, scanned: ScannedBundle) -> bool:
    """Whether a segment begins with these bytes; a damaged one is compared when it was written again."""
    try:
        return bundle.content(entry).startswith(ours)
    except DamagedBundleError:
        return not scanned.is_whole
