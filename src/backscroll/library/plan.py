"""What there is to do for a store: which files are new, grew, went into the archive, or do not count any more."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.archive import Archive
from backscroll.files import TRANSCRIPTS, Bookmark, Discovery, FileKind, find_changes
from backscroll.library.sources import TITLE_FILE, Kept, Source, beside_paths
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
    kept = _kept_files(archive, {str(discovery.home.path) for discovery in discoveries})
    present: dict[Path, Source] = {}
    for discovery in discoveries:
        files = [file for file in discovery.files if is_tracked(file.kind, file.path.name)]
        present.update((file.path, file) for file in files)
    for path, source in kept.items():
        present.setdefault(path, source)
    for discovery in discoveries:
        _compare(planned, known, discovery, present, gone_stay=is_archive_unread)
    live = {file.path for discovery in discoveries for file in discovery.files}
    hidden = [item.path for discovery in discoveries for item in discovery.unreadable]
    for path, source in kept.items():
        if path not in live and not any(path.is_relative_to(folder) for folder in hidden):
            _settle(planned, known, source, present)
    for name, entry in known.items():
        path = Path(name)
        if entry.archived and path not in present and _is_forgotten(archive, discoveries, path):
            planned.removed.append(entry)
            planned.tasks += _tasks_without(path, entry, known, present)
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


def tasks_for(sources: Iterable[Source], known: dict[str, Known], present: dict[Path, Source], home: str) -> list[Task]:
    """What to do for these files of a home."""
    tasks = []
    files = list(sources)
    reading = {file.path for file in files}
    for file in files:
        beside = beside_of(file.path, present) if file.kind in TRANSCRIPTS else ()
        tasks.append(Task(file, home, known.get(str(file.path)), beside))
        if file.kind is FileKind.AGENT_META or file.path.name == TITLE_FILE:
            about = transcript_of(file.path)
            entry, source = known.get(str(about)), present.get(about)
            if about not in reading and entry is not None and source is not None:
                tasks.append(Task(source, home, entry, beside_of(about, present), only_beside=True))
                reading.add(about)
    return tasks


def _tasks_without(path: Path, entry: Known, known: dict[str, Known], present: dict[Path, Source]) -> list[Task]:
    """A small file does not count any more: what it said of a transcript does not either."""
    about = transcript_of(path)
    source, transcript = present.get(about), known.get(str(about))
    if entry.kind not in (FileKind.AGENT_META, FileKind.SIDECAR) or source is None or transcript is None:
        return []
    return [Task(source, source.home, transcript, beside_of(about, present), only_beside=True)]


def _compare(
    planned: Plan, known: dict[str, Known], discovery: Discovery, present: dict[Path, Source], *, gone_stay: bool
) -> None:
    home = discovery.home.path
    marks = {
        Path(name): Bookmark(*entry.bookmark)
        for name, entry in known.items()
        if entry.bookmark and not entry.archived and Path(name).is_relative_to(home)
    }
    files = [file for file in discovery.files if is_tracked(file.kind, file.path.name)]
    changes = find_changes(marks, files, discovery.unreadable)
    planned.tasks += tasks_for(changes.to_read, known, present, str(home))
    # Where rows have no names of their own, they are named after their file: one that moved is read anew.
    planned.removed += [known[str(origin)] for origin in changes.moved.values()]
    for path in () if gone_stay else changes.gone:
        source = present.get(path)
        if source is None or not source.is_kept:
            planned.removed.append(known[str(path)])
            planned.tasks += _tasks_without(path, known[str(path)], known, present)


def _settle(planned: Plan, known: dict[str, Known], source: Kept, present: dict[Path, Source]) -> None:
    """A file that is only kept any more: what was read of it stays, if that is all there is."""
    entry = known.get(str(source.path))
    if entry is not None and (entry.size, entry.modified) == (source.size, source.modified_ns):
        if not entry.archived:
            planned.archived.append(entry)
        return
    planned.tasks += tasks_for([source], known, present, source.home)


def _is_forgotten(archive: Archive | None, discoveries: Sequence[Discovery], path: Path) -> bool:
    if archive is None:
        return False
    homes = [discovery.home.path for discovery in discoveries if path.is_relative_to(discovery.home.path)]
    return any(archive.is_forgotten(str(home), path.relative_to(home).as_posix()) for home in homes)


def _kept_files(archive: Archive | None, homes: set[str]) -> dict[Path, Kept]:
    if archive is None:
        return {}
    found = {}
    for file in archive.files.values():
        version = file.latest
        if version is not None and file.home in homes and is_tracked(file.kind, file.path.rpartition("/")[2]):
            found[file.source] = Kept(archive, file, version)
    return found
