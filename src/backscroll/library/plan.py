"""What there is to do for a store: which files are new, grew, went into the archive, or do not count any more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from backscroll.archive import Archive, KeptFile
from backscroll.files import TRANSCRIPTS, Bookmark, Discovery, FileKind, HomeFile, find_changes
from backscroll.library.sources import TITLE_FILE, Kept, Source, beside_paths, earlier_versions, split_version
from backscroll.library.tasks import Task, new_bytes
from backscroll.store import Known


@dataclass
class Plan:
    """The work that lies before a store."""

    tasks: list[Task] = field(default_factory=list)
    removed: list[Known] = field(default_factory=list)
    archived: list[Known] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.tasks or self.removed or self.archived)

    @property
    def size(self) -> int:
        """How many bytes are to be read."""
        return sum(map(new_bytes, self.tasks))


def is_tracked(kind: FileKind, name: str) -> bool:
    """Whether a store reads such files."""
    return kind in TRANSCRIPTS or kind in (FileKind.AGENT_META, FileKind.TOOL_RESULT) or name == TITLE_FILE


def plan(
    known: dict[str, Known],
    discoveries: Sequence[Discovery],
    archive: Archive | None,
    *,
    is_archive_unread: bool = False,
) -> Plan:
    """Compare what a store has read with what there is.

    Nothing that was kept is dropped unless the archive says that it was forgotten. Where the archive could not be read
    (`is_archive_unread`), a file that is gone from its home is left as it is, too: it may well be kept.
    """
    planned = Plan()
    files = _kept_files(archive, {str(discovery.home.path) for discovery in discoveries})
    live: dict[Path, HomeFile] = {file.path: file for discovery in discoveries for file in discovery.files}
    present: dict[Path, Source] = {path: file for path, file in live.items() if is_tracked(file.kind, file.path.name)}
    versions: dict[Path, list[Kept]] = {}
    """The earlier versions of files that shrank."""
    for path, file in files.items():
        if archive is not None and file.latest is not None:
            present.setdefault(path, Kept(archive, file, file.latest))
            if found := earlier_versions(archive, file, live.get(path)):
                versions[path] = [kept for kept in found if kept.path not in live]
    present.update((kept.path, kept) for earlier in versions.values() for kept in earlier)
    is_incomplete = is_archive_unread or (archive is not None and not archive.is_complete)
    for discovery in discoveries:
        _compare(planned, known, discovery, present, versions, gone_stay=is_incomplete)
    hidden = [item.path for discovery in discoveries for item in discovery.unreadable]
    for path, source in present.items():
        if isinstance(source, Kept) and not any(path.is_relative_to(folder) for folder in hidden):
            _settle(planned, known, source, present, versions, are_known_settled=is_incomplete)
    for name, entry in known.items():
        path = Path(name)
        if entry.archived and path not in present and path not in live:
            origin, version = split_version(name)
            was_hidden = version is not None and Path(origin) in files and not is_incomplete
            if was_hidden or was_forgotten(archive, discoveries, Path(origin)):
                planned.removed.append(entry)
                planned.tasks += _tasks_without(path, entry, known, present, versions)
    # A file that is read anyway is not looked at for what stands beside it as well.
    read = {task.source.path for task in planned.tasks if not task.only_beside}
    once = {task.source.path: task for task in planned.tasks if not task.only_beside or task.source.path not in read}
    planned.tasks = sorted(once.values(), key=lambda task: task.source.modified_ns, reverse=True)
    return planned


def beside_of(path: Path, present: dict[Path, Source]) -> tuple[Source, ...]:
    """The small files that say something of a transcript."""
    return tuple(present[name] for name in beside_paths(path) if name in present)


def transcript_of(path: Path) -> Path:
    """The transcript that a small file says something of."""
    if path.name == TITLE_FILE:
        return path.parent.with_suffix(".jsonl")
    return path.with_name(path.name.removesuffix(".meta.json") + ".jsonl")


def tasks_for(
    sources: Iterable[Source],
    known: dict[str, Known],
    present: dict[Path, Source],
    home: str,
    versions: Mapping[Path, Sequence[Kept]] = MappingProxyType({}),
) -> list[Task]:
    """What to do for these files of a home, of which some have earlier `versions`."""
    tasks = []
    files = list(sources)
    reading = {file.path for file in files}
    for file in files:
        beside = beside_of(Path(file.origin), present) if file.kind in TRANSCRIPTS else ()
        tasks.append(Task(file, home, known.get(str(file.path)), beside))
        if file.kind is FileKind.AGENT_META or file.path.name == TITLE_FILE:
            for task in _tasks_beside(file.path, known, present, versions):
                if task.source.path not in reading:
                    tasks.append(task)
                    reading.add(task.source.path)
    return tasks


def _tasks_without(
    path: Path,
    entry: Known,
    known: dict[str, Known],
    present: dict[Path, Source],
    versions: Mapping[Path, Sequence[Kept]],
) -> list[Task]:
    """A small file does not count any more: what it said of a transcript does not either."""
    is_beside = entry.kind in (FileKind.AGENT_META, FileKind.SIDECAR)
    return list(_tasks_beside(path, known, present, versions)) if is_beside else []


def _tasks_beside(
    path: Path, known: dict[str, Known], present: dict[Path, Source], versions: Mapping[Path, Sequence[Kept]]
) -> Iterator[Task]:
    """To look at the transcript that a small file says something of, and at its earlier versions."""
    about = transcript_of(path)
    for source in (present.get(about), *versions.get(about, ())):
        entry = known.get(str(source.path)) if source else None
        if source is not None and entry is not None:
            yield Task(source, source.home, entry, beside_of(about, present), only_beside=True)


def _compare(
    planned: Plan,
    known: dict[str, Known],
    discovery: Discovery,
    present: dict[Path, Source],
    versions: Mapping[Path, Sequence[Kept]],
    *,
    gone_stay: bool,
) -> None:
    home = discovery.home.path
    marks = {
        Path(name): Bookmark(*entry.bookmark)
        for name, entry in known.items()
        if entry.bookmark and not entry.archived and Path(name).is_relative_to(home)
    }
    files = [file for file in discovery.files if is_tracked(file.kind, file.path.name)]
    changes = find_changes(marks, files, discovery.unreadable)
    planned.tasks += tasks_for(changes.to_read, known, present, str(home), versions)
    # Where rows have no names of their own, they are named after their file: one that moved is read anew.
    planned.removed += [known[str(origin)] for origin in changes.moved.values()]
    for path in () if gone_stay else changes.gone:
        source = present.get(path)
        if source is None or not source.is_kept:
            planned.removed.append(known[str(path)])
            planned.tasks += _tasks_without(path, known[str(path)], known, present, versions)


def _settle(
    planned: Plan,
    known: dict[str, Known],
    source: Kept,
    present: dict[Path, Source],
    versions: Mapping[Path, Sequence[Kept]],
    *,
    are_known_settled: bool,
) -> None:
    """What is read from the archive: what was read of it stays, if that is all there is."""
    entry = known.get(str(source.path))
    if entry is not None and (entry.size, entry.modified) == (source.size, source.modified_ns):
        if not entry.archived:
            planned.archived.append(entry)
    elif entry is None or not are_known_settled:
        planned.tasks += tasks_for([source], known, present, source.home, versions)


def was_forgotten(archive: Archive | None, discoveries: Sequence[Discovery], path: Path) -> bool:
    """Whether the user had this file forgotten."""
    homes = [discovery.home.path for discovery in discoveries if path.is_relative_to(discovery.home.path)]
    return archive is not None and any(
        archive.is_forgotten(str(home), path.relative_to(home).as_posix()) for home in homes
    )


def _kept_files(archive: Archive | None, homes: set[str]) -> dict[Path, KeptFile]:
    if archive is None:
        return {}
    return {
        file.source: file
        for file in archive.files.values()
        if file.home in homes and is_tracked(file.kind, file.path.rpartition("/")[2])
    }
