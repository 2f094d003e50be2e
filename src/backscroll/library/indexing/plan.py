"""Plan the work for a store: which files are new, grew, were deleted from their home, or must be removed."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.files.discovery import Discovery, HomeFile, Unreadable
from backscroll.files.layout import CONTAINERS, TITLE_FILE, TRANSCRIPTS, FileKind
from backscroll.files.source_key import SourceKey
from backscroll.library.gone_homes import gone_homes
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
    """Files with sessions in them that could not be read."""

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
    """Compare the files that a store has read with those in these homes of this machine, and with kept files of homes
    that are gone or on another machine.

    No kept file is dropped unless the archive says that it was forgotten. If the archive could not be read
    (`is_archive_unread`), a file that is gone from its home stays as it is, too: it may well be kept.
    """
    planned = Plan()
    expanded = [with_sessions(discovery, known, archive) for discovery in discoveries]
    for before, after in zip(discoveries, expanded, strict=True):
        planned.unreadable += after.unreadable[len(before.unreadable) :]
    discoveries = expanded
    live: dict[str, HomeFile] = {file.id: file for discovery in discoveries for file in discovery.files}
    present: dict[str, Source] = {name: file for name, file in live.items() if is_tracked(file.kind, file.relative)}
    versions: dict[str, list[Kept]] = {}
    """The earlier versions of files that shrank."""
    homes = {str(discovery.home.path) for discovery in discoveries}
    gone = gone_homes(machine, archive.homes) - homes if archive is not None else frozenset()
    homes |= gone
    if archive is not None:
        _add_kept(present, versions, live, archive, machine, homes)
        _add_kept_inside(present, versions, live, archive, machine, known, homes)
    is_incomplete = is_archive_unread or (archive is not None and not archive.is_complete)
    for discovery in discoveries:
        _compare(planned, known, discovery, present, versions, gone_stay=is_incomplete)
    hidden = [
        item.path
        for discovery in discoveries
        for item in discovery.unreadable
        if not is_container(discovery, item.path)  # the kept sessions of a container that cannot be read are visible
    ]
    for source in present.values():
        is_hidden = source.machine == machine.id and any(source.path.is_relative_to(folder) for folder in hidden)
        if source.is_kept and not is_hidden:
            _settle(planned, known, source, present, versions, are_known_settled=is_incomplete)
    for entry in _not_shown(known, {*present, *live}, archive, machine, homes, gone) if archive is not None else ():
        planned.removed.append(entry)
        planned.tasks += _tasks_without(entry, known, present, versions)
    # A file that is read anyway need not be checked for its sidecars as well.
    read = {task.source.id: task for task in planned.tasks if not task.only_beside}
    once = {task.source.id: task for task in planned.tasks if task.only_beside} | read
    planned.tasks = _in_order(once.values())
    return planned


def _in_order(tasks: Collection[Task]) -> list[Task]:
    """Sort the newest session first, with all files that have its id: each batch that adds to a chat rebuilds it.

    A file that holds sessions comes after them: once it is recorded, they count as read.
    """
    newest: dict[str, int] = {}
    for task in tasks:
        session = _session(task)
        newest[session] = max(task.source.modified_ns, newest.get(session, task.source.modified_ns))

    def order(task: Task) -> tuple[bool, int, str, int]:
        session = _session(task)
        return task.source.kind not in CONTAINERS, newest[session], session, task.source.modified_ns

    return sorted(tasks, key=order, reverse=True)


def _session(task: Task) -> str:
    return task.source.place.session_id or task.source.id


def _not_shown(
    known: dict[str, IndexedFile],
    present: set[str],
    archive: Archive,
    machine: Machine,
    homes: Set[str],
    gone: Set[str],
) -> Iterator[IndexedFile]:
    """Yield entries of the archive that no longer count: forgotten, moved, or hidden because the file grew again."""
    for name, entry in known.items():
        if name in present or not (entry.archived or not machine.is_own(entry.machine) or entry.home in gone):
            continue
        key = SourceKey.parse(name)
        if key.home in homes or not machine.is_own(key.machine):
            # An earlier version: the current content of the file hides it, or it has moved with its file.
            was_hidden = key.version is not None and archive.is_complete
            if was_hidden or archive.is_forgotten(key.home, key.path, key.machine):
                yield entry


def _add_kept(
    present: dict[str, Source],
    versions: dict[str, list[Kept]],
    live: dict[str, HomeFile],
    archive: Archive,
    machine: Machine,
    homes: Set[str],
) -> None:
    """Add the files that are read from the archive: those gone from these homes, and those of other machines."""
    elsewhere: dict[tuple[str, str], list[KeptFile]] = {}
    """Files that this machine kept under an earlier id."""
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
        newest = present.get(SourceKey(machine.id, home, path).id)
        for file in reversed(files):
            # The same file was kept again under the current id, and only grew since, unless it holds less now.
            if file.latest is not None and (newest is None or file.latest.size > newest.size):
                newest = Kept(archive, file, file.latest, renamed=machine.id)
                _add(present, versions, newest, None)


def _add_kept_inside(
    present: dict[str, Source],
    versions: dict[str, list[Kept]],
    live: dict[str, HomeFile],
    archive: Archive,
    machine: Machine,
    known: dict[str, IndexedFile],
    homes: Set[str],
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
        for session in kept_inside(archive, kept, current, live, before):
            present[session.id] = session
            if session.is_earlier:
                versions.setdefault(session.key.current.id, []).append(session)
        if current is None:
            present[kept.id] = kept


def _add(present: dict[str, Source], versions: dict[str, list[Kept]], kept: Kept, live: HomeFile | None) -> None:
    if live is None:
        present[kept.id] = kept
    if older := [replace(version, renamed=kept.renamed) for version in earlier_versions(kept.archive, kept.file, live)]:
        versions[kept.id] = older
        present.update((earlier.id, earlier) for earlier in older)


def beside_of(key: SourceKey, present: Mapping[str, Source]) -> tuple[Source, ...]:
    """Return the sidecars of a transcript."""
    return tuple(present[beside.id] for beside in beside_keys(key) if beside.id in present)


def transcript_of(key: SourceKey) -> SourceKey:
    """Return the key of a sidecar's transcript."""
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
    """Return the tasks for these files, of which some have earlier `versions`."""
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
    """Return the tasks after a sidecar is gone: its transcript drops the sidecar's data."""
    is_beside = entry.kind in (FileKind.AGENT_META, FileKind.SIDECAR)
    key = SourceKey.parse(entry.source)
    return list(_tasks_beside(key, known, present, versions)) if is_beside else []


def _tasks_beside(
    key: SourceKey,
    known: dict[str, IndexedFile],
    present: Mapping[str, Source],
    versions: Mapping[str, Sequence[Kept]],
) -> Iterator[Task]:
    """Yield the tasks that check the transcript of a sidecar, and its earlier versions."""
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
    # Rows without ids are named after their file: a file that moved is read again. It may be kept at its old path, too.
    moved = changes.moved.values()
    planned.removed += [entries[name] for name in moved if not _is_kept(present, entries[name])]
    for name in () if gone_stay else changes.gone:
        if not _is_kept(present, entries[name]):
            planned.removed.append(entries[name])
            planned.tasks += _tasks_without(entries[name], known, present, versions)


def _is_kept(present: Mapping[str, Source], entry: IndexedFile) -> bool:
    """Whether a file is read from the archive."""
    source = present.get(entry.source)
    return source is not None and source.is_kept


def _settle(
    planned: Plan,
    known: dict[str, IndexedFile],
    source: Source,
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
    *,
    are_known_settled: bool,
) -> None:
    """Plan a file that is read from the archive: complete entries of the index stay."""
    entry = known.get(source.id)
    if entry is not None and (entry.size, entry.modified) == (source.size, source.modified_ns):
        if source.is_archived and not entry.archived:
            planned.archived.append(entry)
    elif entry is None or not are_known_settled:
        planned.tasks += tasks_for([source], known, present, versions)
