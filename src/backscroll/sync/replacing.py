"""Replace streams that came again under other rules, and remove their earlier content from the archive."""

from typing import TYPE_CHECKING

from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import ReplacedVersion
from backscroll.sync.state import SyncState
from backscroll.sync.state_rows import StreamInArchive
from backscroll.sync.streams import StreamKey

if TYPE_CHECKING:
    from backscroll.sync.pull import Writing


def remove_replaced(writing: "Writing", state: SyncState, device: str) -> int:
    """Replace earlier versions by streams that came again under other rules; return the number of versions.

    The older bytes are removed: there may be a secret in them that is masked now. First the archive changes, then the
    state; an interrupted replacement is finished the next time, before anything else is taken.
    """
    proved = [group for group in state.regenerated(device) if group[-1].stream not in state.proof.unproven(device)]
    replaced = [(olds, group[-1]) for group in proved if (olds := _replaced_in(group))]
    if not replaced:
        return 0
    with writing() as writer:
        files = {(file.machine, StreamKey(file.home, file.path, 0).id): file for file in writer.files.values()}
        changes: list[ReplacedVersion] = []
        settled = []
        for olds, new in replaced:
            file = files.get((new.machine, new.base))
            target = file.version(min(old.version for old in olds)) if file is not None else None
            more = _changes_in(file, olds, new) if file is not None else []
            changes += more
            if target is not None and (more or target.size == new.size):  # now, or before an interruption
                settled.append((olds, new, target.number))
        if changes:
            writer.forget((), (), changes)
        with state.saving():
            for olds, new, number in settled:
                state.note_version(device, new.stream, number)
                for old in olds:
                    state.forget_received(device, old.stream)
    return len(changes)


def _replaced_in(generations: list[StreamInArchive]) -> list[StreamInArchive]:
    """Return the generations of a stream that the last one replaces: it covers as much, and the rules changed."""
    last = generations[-1]
    return [
        old
        for at, old in enumerate(generations[:-1])
        if last.source >= old.source and any(later.rules != old.rules for later in generations[at + 1 :])
    ]


def _changes_in(file: KeptFile, olds: list[StreamInArchive], new: StreamInArchive) -> list[ReplacedVersion]:
    """Return the changes to make in a file; none if they were made before."""
    fresh = file.version(new.version)
    if fresh is None or fresh.size != new.size:
        return []
    changes: list[ReplacedVersion] = []
    for old in sorted(olds, key=lambda old: old.version):
        version = file.version(old.version)
        if version is not None and version.size == old.size and version is not fresh:
            changes.append(ReplacedVersion(file, version, None if changes else fresh))
    return changes
