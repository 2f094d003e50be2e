"""What there is to do for a store: which files are new, grew, went into the archive, or do not count any more."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from backscroll.archive import Archive, KeptFile
from backscroll.files import TRANSCRIPTS, Bookmark, Discovery, FileKind, HomeFile, find_changes
from backscroll.library.indexing.sources import TITLE_FILE, Kept, Source, beside_paths, earlier_versions, split_version
from backscroll.library.indexing.tasks import Task, new_bytes
from backscroll.store import IndexedFile

UNREAD: Final = Bookmark(*[0] * len(Bookmark._fields))
"""In the place of a bookmark, of a file that is to be read from its beginning: no file looks like it."""


@dataclass
class Plan:
    """The work that lies before a store."""

    tasks: list[Task] = field(default_factory=list)
    removed: list[IndexedFile] = field(default_factory=list)
    archived: list[IndexedFile] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.tasks or self.removed or self.archived)

    @property
    def size(self) -> int:
        """How many bytes are to be read."""
        return sum(map(new_bytes, self.tasks))


def is_tracked(kind: FileKind, path: str) -> bool:
    """Whether a store reads such files."""
    is_read = kind in TRANSCRIPTS or kind in (FileKind.AGENT_META, FileKind.TOOL_RESULT)
    return is_read or path.rpartition("/")[2] == TITLE_FILE


def plan(
    known: dict[str, IndexedFile],
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
    live: dict[str, HomeFile] = {file.name: file for discovery in discoveries for file in discovery.files}
    present: dict[str, Source] = {name: file for name, file in live.items() if is_tracked(file.kind, file.relative)}
    versions: dict[str, list[Kept]] = {}
    """The earlier versions of files that shrank."""
    for name, file in files.items():
        if archive is not None and file.latest is not None:
            if name not in present:
                present[name] = Kept(archive, file, file.latest)
            if found := earlier_versions(archive, file, live.get(name)):
                versions[name] = [kept for kept in found if kept.name not in live]
    present.update((kept.name, kept) for earlier in versions.values() for kept in earlier)
    is_incomplete = is_archive_unread or (archive is not None and not archive.is_complete)
    for discovery in discoveries:
        _compare(planned, known, discovery, present, versions, gone_stay=is_incomplete)
    hidden = [item.path for discovery in discoveries for item in discovery.unreadable]
    for name, source in present.items():
        if isinstance(source, Kept) and not any(Path(name).is_relative_to(folder) for folder in hidden):
            _settle(planned, known, source, present, versions, are_known_settled=is_incomplete)
    for name, entry in known.items():
        if entry.archived and name not in present and name not in live:
            origin, version = split_version(name)
            was_hidden = version is not None and origin in files and not is_incomplete
            if was_hidden or was_forgotten(archive, discoveries, Path(origin)):
                planned.removed.append(entry)
                planned.tasks += _tasks_without(entry, known, present, versions)
    # A file that is read anyway is not looked at for what stands beside it as well.
    read = {task.source.name: task for task in planned.tasks if not task.only_beside}
    once = {task.source.name: task for task in planned.tasks if task.only_beside} | read
    planned.tasks = sorted(once.values(), key=lambda task: task.source.modified_ns, reverse=True)
    return planned


def beside_of(path: Path, present: dict[str, Source]) -> tuple[Source, ...]:
    """The small files that say something of a transcript."""
    return tuple(present[str(name)] for name in beside_paths(path) if str(name) in present)


def transcript_of(path: Path) -> Path:
    """The transcript that a small file says something of."""
    if path.name == TITLE_FILE:
        return path.parent.with_suffix(".jsonl")
    return path.with_name(path.name.removesuffix(".meta.json") + ".jsonl")


def tasks_for(
    sources: Iterable[Source],
    known: dict[str, IndexedFile],
    present: dict[str, Source],
    home: str,
    versions: Mapping[str, Sequence[Kept]] = MappingProxyType({}),
) -> list[Task]:
    """What to do for these files of a home, of which some have earlier `versions`."""
    tasks = []
    files = list(sources)
    reading = {file.name for file in files}
    for file in files:
        beside = beside_of(Path(file.origin), present) if file.kind in TRANSCRIPTS else ()
        tasks.append(Task(file, home, known.get(file.name), beside))
        if file.kind is FileKind.AGENT_META or file.path.name == TITLE_FILE:
            for task in _tasks_beside(file.path, known, present, versions):
                if task.source.name not in reading:
                    tasks.append(task)
                    reading.add(task.source.name)
    return tasks


def _tasks_without(
    entry: IndexedFile,
    known: dict[str, IndexedFile],
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
) -> list[Task]:
    """A small file does not count any more: what it said of a transcript does not either."""
    is_beside = entry.kind in (FileKind.AGENT_META, FileKind.SIDECAR)
    return list(_tasks_beside(Path(entry.path), known, present, versions)) if is_beside else []


def _tasks_beside(
    path: Path, known: dict[str, IndexedFile], present: dict[str, Source], versions: Mapping[str, Sequence[Kept]]
) -> Iterator[Task]:
    """To look at the transcript that a small file says something of, and at its earlier versions."""
    about = transcript_of(path)
    for source in (present.get(str(about)), *versions.get(str(about), ())):
        entry = known.get(source.name) if source else None
        if source is not None and entry is not None:
            yield Task(source, source.home, entry, beside_of(about, present), only_beside=True)


def _compare(
    planned: Plan,
    known: dict[str, IndexedFile],
    discovery: Discovery,
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
    *,
    gone_stay: bool,
) -> None:
    home = str(discovery.home.path)
    inside = os.path.join(home, "")  # noqa: PTH118 - with a slash at its end
    marks = {
        name: Bookmark(*entry.bookmark) if entry.bookmark else UNREAD
        for name, entry in known.items()
        if not entry.archived and name.startswith(inside)
    }
    files = (file for file in discovery.files if is_tracked(file.kind, file.relative))
    changes = find_changes(marks, files, discovery.unreadable)
    planned.tasks += tasks_for(changes.to_read, known, present, home, versions)
    # Where rows have no names of their own, they are named after their file: one that moved is read anew.
    planned.removed += [known[origin] for origin in changes.moved.values()]
    for name in () if gone_stay else changes.gone:
        source = present.get(name)
        if source is None or not source.is_kept:
            planned.removed.append(known[name])
            planned.tasks += _tasks_without(known[name], known, present, versions)


def _settle(
    planned: Plan,
    known: dict[str, IndexedFile],
    source: Kept,
    present: dict[str, Source],
    versions: Mapping[str, Sequence[Kept]],
    *,
    are_known_settled: bool,
) -> None:
    """What is read from the archive: what was read of it stays, if that is all there is."""
    entry = known.get(source.name)
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


def _kept_files(archive: Archive | None, homes: set[str]) -> dict[str, KeptFile]:
    if archive is None:
        return {}
    return {
        file.name: file for file in archive.files.values() if file.home in homes and is_tracked(file.kind, file.path)
    }
