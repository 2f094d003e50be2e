"""What a store has to do: which files are new, grew, were deleted from their home, or must be removed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.files.discovery import Discovery, HomeFile, Unreadable
from backscroll.files.layout import CONTAINERS, TITLE_FILE, TRANSCRIPTS, FileKind
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.changes import changes_in, entries_of, is_tracked
from backscroll.library.indexing.inside import KnownInside, containers_in, is_container, kept_inside, with_sessions
from backscroll.library.indexing.sources import Kept, Source, beside_keys, earlier_versions
from backscroll.library.indexing.tasks import Task, new_bytes
from backscroll.library.machine import Machine
from backscroll.store.reader import IndexedFile


@dataclass
class Plan:
    """The work to do for a store."""

    tasks: list[Task] = field(default_factory=list)
    removed: list[IndexedFile] = field(default_factory=list)
    archived: list[IndexedFile] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    """What of files with sessions in them could not be read."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.tasks or self.removed or self.archived)

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        return sum(map(new_bytes, self.tasks))


def plan(
    known: dict[str, IndexedFile],
    discoveries: Sequence[Discovery],
    archive: Archive | None,
    machine: Machine,
    *,
    is_archive_unread: bool = False,
) -> Plan:
    """Compare what a store has read with what there is: in these homes of this machine, and kept from any other.

    Nothing that was kept is dropped unless the archive says that it was forgotten. Where the archive could not be read
    (`is_archive_unread`), a file that is gone from its home is left as it is, too: it may well be kept.
    """
    planned = Plan()
    found = [with_sessions(discovery, known, archive) for discovery in discoveries]
    for before, after in zip(discoveries, found, strict=True):
        planned.unreadable += after.unreadable[len(before.unreadable) :]
    discoveries = found
    live: dict[str, HomeFile] = {file.id: file for discovery in discoveries for file in discovery.files}
    present: dict[str, Source] = {name: file for name, file in live.items() if is_tracked(file.kind, file.relative)}
    versions: dict[str, list[Kept]] = {}
    """The earlier versions of files that shrank."""
    if archive is not None:
        homes = {str(discovery.home.path) for discovery in discoveries}
        _add_kept(present, versions, live, archive, machine, homes)
        _add_kept_inside(present, versions, live, archive, machine, known, homes)
    is_incomplete = is_archive_unread or (archive is not None and not archive.is_complete)
    for discovery in discoveries:
        _compare(planned, known, discovery, present, versions, gone_stay=is_incomplete)
    hidden = [
        item.path
        for discovery in discoveries
        for item in discovery.unreadable
        if not is_container(discovery, item.path)  # what is kept of one that cannot be read is shown
    ]
    for source in present.values():
        is_hidden = source.machine == machine.id and any(source.path.is_relative_to(folder) for folder in hidden)
        if source.is_kept and not is_hidden:
            _settle(planned, known, source, present, versions, are_known_settled=is_incomplete)
    for entry in _not_shown(known, {*present, *live}, archive, machine, discoveries) if archive is not None else ():
        planned.removed.append(entry)
        planned.tasks += _tasks_without(entry, known, present, versions)
    # A file that is read anyway need not be checked for its sidecars as well.
    read = {task.source.id: task for task in planned.tasks if not task.only_beside}
    once = {task.source.id: task for task in planned.tasks if task.only_beside} | read
    # A file that holds sessions comes after them: once it is noted, they count as read.
    planned.tasks = sorted(
        once.values(), key=lambda task: (task.source.kind not in CONTAINERS, task.source.modified_ns), reverse=True
    )
    return planned


def _not_shown(
    known: dict[str, IndexedFile],
    present: set[str],
    archive: Archive,
    machine: Machine,
    discoveries: Sequence[Discovery],
) -> Iterator[IndexedFile]:
    """What was read from the archive and does not count any more: it was forgotten or moved, or the file grew again."""
    homes = {str(discovery.home.path) for discovery in discoveries}
    for name, entry in known.items():
        if name in present or not (entry.archived or not machine.is_own(entry.machine)):
            continue
        key = SourceKey.parse(name)
        if key.home in homes or not machine.is_own(key.machine):
            # An earlier version: what the file holds now hides it, or it has moved with its file.
            was_hidden = key.version is not None and archive.is_complete
            if was_hidden or archive.is_forgotten(key.home, key.path, key.machine):
                yield entry


def _add_kept(
    present: dict[str, Source],
    versions: dict[str, list[Kept]],
    live: dict[str, HomeFile],
    archive: Archive,
    machine: Machine,
    homes: set[str],
) -> None:
    """Add what is read from the archive: files that are gone from these homes, and those of other machines."""
    elsewhere: dict[tuple[str, str], list[KeptFile]] = {}
    """Files that this machine kept under an id that it had before."""
    for file in archive.files.values():
        if file.latest is None or not is_tracked(file.kind, file.path) or file.kind in CONTAINERS:
            continue
        if not machine.is_own(file.machine):
            _add(present, versions, Kept(archive, file, file.latest, is_archived=file.gone_since is not None), None)
        elif file.home in homes and file.machine == machine.id:
            _add(present, versions, Kept(archive, file, file.latest), live.get(file.key.id))
        elif file.home in homes:
            elsewhere.setdefault((file.home, file.path), []).append(file)
    for (home, path), files in elsewhere.items():
        shown = present.get(SourceKey(machine.id, home, path).id)
        for file in reversed(files):
            # The same file was kept again under the id of today, and only grew since, unless it holds less now.
            if file.latest is not None and (shown is None or file.latest.size > shown.size):
                shown = Kept(archive, file, file.latest, renamed=machine.id)
                _add(present, versions, shown, None)


def _add_kept_inside(
    present: dict[str, Source],
    versions: dict[str, list[Kept]],
    live: dict[str, HomeFile],
    archive: Archive,
    machine: Machine,
    known: dict[str, IndexedFile],
    homes: set[str],
) -> None:
    """Add the sessions inside kept databases and logs that their homes do not have, or have less of."""
    files = containers_in(archive)
    before = KnownInside(known, {file.name for file in files})
    for file in files:
        is_own = machine.is_own(file.machine)
        if file.latest is None or (is_own and file.home not in homes):
            continue
        renamed = machine.id if is_own and file.machine != machine.id else ""
        is_gone = file.gone_since is not None or bool(renamed)
        kept = Kept(archive, file, file.latest, is_archived=is_gone, renamed=renamed)
        current = live.get(kept.id)
        for one in kept_inside(archive, kept, current, live, before):
            present[one.id] = one
            if one.is_earlier:
                versions.setdefault(one.key.current.id, []).append(one)
        if current is None:
            present[kept.id] = kept


def _add(present: dict[str, Source], versions: dict[str, list[Kept]], kept: Kept, live: HomeFile | None) -> None:
    if live is None:
        present[kept.id] = kept
    if found := [replace(one, renamed=kept.renamed) for one in earlier_versions(kept.archive, kept.file, live)]:
        versions[kept.id] = found
        present.update((earlier.id, earlier) for earlier in found)


def beside_of(key: SourceKey, present: Mapping[str, Source]) -> tuple[Source, ...]:
    """The sidecars of a transcript."""
    return tuple(present[beside.id] for beside in beside_keys(key) if beside.id in present)


def transcript_of(key: SourceKey) -> SourceKey:
    """The transcript of a sidecar."""
    folder, _, name = key.path.rpartition("/")
    if name == TITLE_FILE:
        return key.beside(f"{folder}.jsonl")
    return key.beside(f"{key.path.removesuffix('.meta.json')}.jsonl")


def tasks_for(
    sources: Iterable[Source],
    known: dict[str, IndexedFile],
    present: Mapping[str, Source],
    versions: Mapping[str, Sequence[Kept]] = MappingProxyType({}),
) -> list[Task]:
    """What to do for these files, of which some have earlier `versions`."""
    tasks = []
    files = list(sources)
    reading = {file.id for file in files}
    for file in files:
        beside = beside_of(file.key, present) if file.kind in TRANSCRIPTS else ()
        tasks.append(Task(file, known.get(file.id), beside))
        if file.kind is FileKind.AGENT_META or file.path.name == TITLE_FILE:
            for task in _tasks_beside(file.key, known, present, versions):
                if task.source.id not in reading:
                    tasks.append(task)
                    reading.add(task.source.id)
    return tasks


def _tasks_without(
    entry: IndexedFile,
    known: dict[str, IndexedFile],
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
) -> list[Task]:
    """A sidecar is gone: drop what it said about its transcript."""
    is_beside = entry.kind in (FileKind.AGENT_META, FileKind.SIDECAR)
    key = SourceKey.parse(entry.source)
    return list(_tasks_beside(key, known, present, versions)) if is_beside else []


def _tasks_beside(
    key: SourceKey,
    known: dict[str, IndexedFile],
    present: Mapping[str, Source],
    versions: Mapping[str, Sequence[Kept]],
) -> Iterator[Task]:
    """Check the transcript of a sidecar, and its earlier versions."""
    about = transcript_of(key)
    for source in (present.get(about.id), *versions.get(about.id, ())):
        entry = known.get(source.id) if source else None
        if source is not None and entry is not None:
            yield Task(source, entry, beside_of(about, present), only_beside=True)


def _compare(
    planned: Plan,
    known: dict[str, IndexedFile],
    discovery: Discovery,
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
    *,
    gone_stay: bool,
) -> None:
    entries = entries_of(discovery, known)
    changes = changes_in(discovery, entries)
    planned.tasks += tasks_for(changes.to_read, known, present, versions)
    # Rows without ids are named after their file: a file that moved is read again.
    planned.removed += [entries[origin] for origin in changes.moved.values()]
    for name in () if gone_stay else changes.gone:
        source = present.get(entries[name].source)
        if source is None or not source.is_kept:
            planned.removed.append(entries[name])
            planned.tasks += _tasks_without(entries[name], known, present, versions)


def _settle(
    planned: Plan,
    known: dict[str, IndexedFile],
    source: Source,
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
    *,
    are_known_settled: bool,
) -> None:
    """What is read from the archive: what was already read stays, if it is complete."""
    entry = known.get(source.id)
    if entry is not None and (entry.size, entry.modified) == (source.size, source.modified_ns):
        if source.is_archived and not entry.archived:
            planned.archived.append(entry)
    elif entry is None or not are_known_settled:
        planned.tasks += tasks_for([source], known, present, versions)
