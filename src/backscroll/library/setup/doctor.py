"""Inspect the homes: their contents, problems, and upcoming deletions."""

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
from backscroll.files.task_outputs import find_task_outputs
from backscroll.library.homes import cleanup_days
from backscroll.library.setup.inspect import Inspection
from backscroll.records.project import ProjectFinder
from backscroll.records.sidecars import LiveSession, live_session


@dataclass
class HomeHealth:
    """The result of inspecting one home."""

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
    """Number of sessions in each database or log of early clients, by its path in the home."""
    project_of: dict[Path, str] = field(default_factory=dict)
    """The project of each session, if its rows name one."""

    @property
    def exists(self) -> bool:
        """Whether there is a home to read."""
        return self.home.exists

    @property
    def days(self) -> int:
        """Number of days after which Claude Code deletes a session of this home."""
        return retention_days(self.cleanup_days)


@dataclass
class Health:
    """The result of inspecting all homes."""

    homes: list[HomeHealth]
    inspection: Inspection = field(default_factory=Inspection)


def examine(
    homes: Sequence[Home],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Health:
    """Inspect the homes and read every session in them."""
    health = Health([])
    transcripts: list[tuple[HomeHealth, HomeFile]] = []
    for home in homes:
        home_health, files = _look_over(home)
        health.homes.append(home_health)
        transcripts += ((home_health, file) for file in files if file.kind in TRANSCRIPTS)
    on_total(sum(file.size for _, file in transcripts))
    for home_health, file in transcripts:
        _read(health, home_health, file, on_bytes)
    return health


def _look_over(home: Home) -> tuple[HomeHealth, list[HomeFile]]:
    home_health = HomeHealth(home)
    if not home.exists:
        return home_health, []
    discovery = discover(home)
    for output in list(find_task_outputs(discovery.files)):
        discovery.add(output)
    inside: list[HomeFile] = []
    for file in discovery.files:
        for item in find_inside(file) if file.kind in CONTAINERS else ():
            if isinstance(item, Unreadable):
                home_health.unreadable.append(item)
            else:
                inside.append(item)
        home_health.files[file.kind] += 1
        home_health.sizes[file.kind] += file.size
    home_health.left_out.update(omission.reason for omission in discovery.left_out)
    home_health.unreadable += discovery.unreadable
    home_health.cleanup_days = cleanup_days(home)
    home_health.deletions = deletions(discovery.files, home_health.cleanup_days)
    home_health.live = _live(discovery.files)
    home_health.early_sessions = Counter(container_of(file.relative) or "" for file in inside)
    return home_health, [*discovery.files, *inside]


def _read(health: Health, found: HomeHealth, file: HomeFile, on_bytes: Callable[[int], object]) -> None:
    finder = ProjectFinder()
    for seen in health.inspection.read_file(file, on_bytes):
        finder.see(seen.record)
        health.inspection.look_for_unknown(seen)
    if finder.path and file.kind is FileKind.SESSION:
        found.projects.add(finder.path)
        found.project_of[file.path] = finder.path


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
