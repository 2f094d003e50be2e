"""Inspect the homes: what they contain, what is wrong, and what will be deleted when."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.files.discovery import HomeFile, Unreadable, discover
from backscroll.files.homes import Home
from backscroll.files.inside import find_inside
from backscroll.files.layout import CONTAINERS, TRANSCRIPTS, FileKind, LeftOut, container_of
from backscroll.files.live import is_running
from backscroll.files.opening import read_small
from backscroll.files.retention import Deletion, deletions, retention_days
from backscroll.library.homes import cleanup_days
from backscroll.library.setup.inspect import Inspection, LocatedRecord
from backscroll.records.drift import Drift, drift
from backscroll.records.kinds import ChainRecord
from backscroll.records.project import ProjectFinder
from backscroll.records.sidecars import LiveSession, live_session


@dataclass
class DriftExample:
    """Something unknown: how often it was seen, and where first."""

    drift: Drift
    count: int
    file: Path
    line: int
    version: str | None


@dataclass
class HomeHealth:
    """What was found in one home."""

    home: Home
    files: Counter[FileKind] = field(default_factory=Counter)
    sizes: Counter[FileKind] = field(default_factory=Counter)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    unreadable: list[Unreadable] = field(default_factory=list)
    projects: set[str] = field(default_factory=set)
    cleanup_days: int | None = None
    """The value in the home's settings; None for the client's default."""
    deletions: list[Deletion] = field(default_factory=list)
    live: list[LiveSession] = field(default_factory=list)
    early_sessions: Counter[str] = field(default_factory=Counter)
    """How many sessions are in each database or log of early clients, by its path in the home."""
    project_of: dict[Path, str] = field(default_factory=dict)
    """The project of each session, if its rows name one."""

    @property
    def exists(self) -> bool:
        """Whether there is anything to read."""
        return self.home.exists

    @property
    def days(self) -> int:
        """After how many days Claude Code deletes a session of this home."""
        return retention_days(self.cleanup_days)


@dataclass
class Health:
    """What was found in all of them."""

    homes: list[HomeHealth]
    inspection: Inspection = field(default_factory=Inspection)
    unknown: dict[Drift, DriftExample] = field(default_factory=dict)


def examine(
    homes: Sequence[Home],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Health:
    """Inspect the homes and read every session in them."""
    health = Health([])
    transcripts: list[tuple[HomeHealth, HomeFile]] = []
    for home in homes:
        found, files = _look_over(home)
        health.homes.append(found)
        transcripts += ((found, file) for file in files if file.kind in TRANSCRIPTS)
    on_total(sum(file.size for _, file in transcripts))
    for found, file in transcripts:
        _read(health, found, file, on_bytes)
    return health


def _look_over(home: Home) -> tuple[HomeHealth, list[HomeFile]]:
    found = HomeHealth(home)
    if not home.exists:
        return found, []
    discovery = discover(home)
    inside: list[HomeFile] = []
    for file in discovery.files:
        for item in find_inside(file) if file.kind in CONTAINERS else ():
            if isinstance(item, Unreadable):
                found.unreadable.append(item)
            else:
                inside.append(item)
        found.files[file.kind] += 1
        found.sizes[file.kind] += file.size
    found.left_out.update(omission.reason for omission in discovery.left_out)
    found.unreadable += discovery.unreadable
    found.cleanup_days = cleanup_days(home)
    found.deletions = deletions(discovery.files, found.cleanup_days)
    found.live = _live(discovery.files)
    found.early_sessions = Counter(container_of(file.relative) or "" for file in inside)
    return found, [*discovery.files, *inside]


def _read(health: Health, found: HomeHealth, file: HomeFile, on_bytes: Callable[[int], object]) -> None:
    finder = ProjectFinder()
    for seen in health.inspection.read_file(file, on_bytes):
        finder.see(seen.record)
        for unknown in drift(seen.record):
            _note(health.unknown, unknown, seen)
    if finder.path and file.kind is FileKind.SESSION:
        found.projects.add(finder.path)
        found.project_of[file.path] = finder.path


def _note(unknown: dict[Drift, DriftExample], what: Drift, seen: LocatedRecord) -> None:
    if what in unknown:
        unknown[what].count += 1
    else:
        version = seen.record.version if isinstance(seen.record, ChainRecord) else None
        unknown[what] = DriftExample(what, 1, seen.file, seen.line, version)


def _live(files: Iterable[HomeFile]) -> list[LiveSession]:
    running = []
    for file in files:
        if file.kind is FileKind.LIVE_SESSION:
            try:
                session = live_session(read_small(file.path))
            except OSError:
                continue  # gone since we looked, so it is not running
            if session and is_running(session.pid, session.process_start):
                running.append(session)
    return running
