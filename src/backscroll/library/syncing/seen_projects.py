"""Find the folders of sessions: every folder in their rows, and every git remote of these folders.

Each is noted when it is seen, so that a clone that is moved or deleted later is still known. Notes only grow. Only new
bytes are scanned; folders are checked when their sessions grow, and at intervals. The notes of each update of the index
count, too: also on a clone that was gone before the first sync, or if these notes are lost.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.errors import BackscrollError
from backscroll.files.layout import FileKind
from backscroll.files.opening import open_regular
from backscroll.library.git_remotes import git_remotes
from backscroll.library.syncing.noted_projects import NotedProjects, ScanProgress, Unit
from backscroll.library.syncing.row_fields import CWD, PROJECT, SESSION_ID, distinct_texts
from backscroll.sync.policy import RanIn

PIECE: Final = 4 << 20
SAMPLE: Final = 32 << 10
"""Bytes of each end of a session that are read while no rule needs all of it."""
REFRESH_SECONDS: Final = 24 * 3600
"""Interval of checking a folder again if nothing happens in it."""
MOST_REFRESHED: Final = 50
"""Number of such folders that one run checks."""
SCANNED: Final = frozenset({FileKind.SESSION, FileKind.AGENT, FileKind.LIVE_SESSION, FileKind.JOB, FileKind.HISTORY})
"""The kinds of files that name the folder of a project."""


class SeenProjects:
    """Folders and git remotes of the sessions of one machine."""

    def __init__(
        self,
        folder: Path,
        is_own: Callable[[str], bool],
        clock: Callable[[], float] = time.time,
        indexed: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        """Open the notes in a folder; `indexed` has the git remotes that updates of the index noted for folders."""
        self._noted = NotedProjects(folder)
        self._is_own, self._clock, self._indexed = is_own, clock, indexed
        self.unreadable: set[Unit] = set()
        """Units with bytes that could not be read."""

    def places_of(self, unit: Unit) -> list[RanIn]:
        """Return the folders that a session, or a file, names."""
        remotes = self._noted.remotes
        ran = sorted(self._noted.ran.get(unit, {}).items())
        return [RanIn(path, frozenset(remotes.get(path, ())), bare) for path, bare in ran]

    def sessions_named_in(self, unit: Unit) -> set[str]:
        """Return the sessions that a file of no session names."""
        return self._noted.sessions.get(unit, set())

    def units(self) -> Iterable[Unit]:
        """Return all units that name a folder or a session."""
        return self._noted.ran.keys() | self._noted.sessions.keys()

    def refresh(self, archive: Archive, *, is_complete: bool) -> None:
        """Scan new bytes in the archive, check the folders named there, and note both.

        Without `is_complete`, only both ends of sessions that grew are read, in their home.
        """
        changed: set[Unit] = set()
        for file in archive.files.values():
            if file.kind in SCANNED and file.versions and self._is_own(file.machine):
                is_new = self._scan(archive, file) if is_complete else self._sample(file)
                if is_new:
                    changed.add(unit_of(file))
        self._look(changed)
        self._noted.save()

    def _scan(self, archive: Archive, file: KeptFile) -> bool:
        """Scan the new bytes of a file; return whether there were any."""
        is_new = False
        for version in file.versions:
            key = (file.home, file.path, version.number)
            known = self._noted.progress.get(key)
            reached = (version.size, len(version.chunks), version.chunks[-1].id if version.chunks else "")
            if known is not None and known[1:] == reached:
                continue
            is_new = True
            start = known.until if known is not None and _goes_on(version, known) else 0
            try:
                until = self._scan_bytes(_pieces(archive, version, start), start, file)
            except BackscrollError:
                self.unreadable.add(unit_of(file))
            else:
                self._noted.set_progress(key, ScanProgress(until, *reached))
        return is_new

    def _sample(self, file: KeptFile) -> bool:
        """Read both ends of a file that grew, if it is still in its home; return whether they had anything new."""
        size = file.versions[-1].size
        if self._noted.sampled.get((file.home, file.path)) == size or file.gone_since is not None:
            return False
        try:
            with os.fdopen(open_regular(file.source), "rb") as live:
                head = live.read(SAMPLE)
                live.seek(max(len(head), size - SAMPLE))
                tail = live.read(SAMPLE)
        except (OSError, ValueError):
            return False
        self._take(head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 : tail.rfind(b"\n") + 1], file)
        self._noted.set_sampled(file.home, file.path, size)
        return True

    def _scan_bytes(self, pieces: Iterable[bytes], start: int, file: KeptFile) -> int:
        """Scan a file from a byte on; return the start of its last line, if that is not whole."""
        rest = b""
        for piece in pieces:
            lines, newline, rest = (rest + piece).rpartition(b"\n")
            start += len(lines) + len(newline)
            self._take(lines, file)
        self._take(rest, file)
        return start

    def _take(self, lines: bytes, file: KeptFile) -> None:
        """Note the folders that some lines name, and, in a file of no session, the sessions."""
        unit = unit_of(file)
        field = PROJECT if file.type == FileKind.HISTORY else CWD
        for path in [*distinct_texts(lines, field, self._noted.ran.get(unit, ()))]:
            if path:
                self._noted.add_folder(unit, path)
        if unit.name == file.path:
            for session in {name.lower() for name in distinct_texts(lines, SESSION_ID)}:
                if session not in self.sessions_named_in(unit):
                    self._noted.add_session(unit, session)

    def _look(self, changed: set[Unit]) -> None:
        """Check the folders of units with new rows, those never checked, and some that were not checked lately."""
        noted, now = self._noted, self._clock()
        units: dict[str, list[Unit]] = {}
        for unit, ran in noted.ran.items():
            for path in ran:
                units.setdefault(path, []).append(unit)
        for path in units.keys() & self._indexed.keys():
            noted.add_remotes(path, frozenset(self._indexed[path]))
        active = {path for unit in changed for path in noted.ran.get(unit, ())}
        due = sorted((at, path) for path, at in noted.looked.items() if path in units and now - at > REFRESH_SECONDS)
        for path in active | (units.keys() - noted.looked.keys()) | {path for _, path in due[:MOST_REFRESHED]}:
            remotes = git_remotes(path)
            if remotes is not None or path in noted.looked:
                noted.set_looked(path, now)
            if remotes is None:
                continue
            noted.add_remotes(path, remotes)
            if not remotes:
                for unit in units[path]:
                    if unit in changed or not noted.remotes[path]:
                        noted.add_folder(unit, path, was_bare=True)


def unit_of(file: KeptFile) -> Unit:
    """Return the unit of a file: its session, or itself."""
    return Unit(file.home, file.place.session_id or file.path)


def _goes_on(version: Version, known: ScanProgress) -> bool:
    """Whether the scanned bytes are still the beginning of a version."""
    is_longer = 0 < known.chunks <= len(version.chunks) and known.size <= version.size
    return is_longer and version.chunks[known.chunks - 1].id == known.last


def _pieces(archive: Archive, version: Version, start: int) -> Iterator[bytes]:
    while start < version.size:
        stop = min(version.size, start + PIECE)
        yield archive.read(version, start, stop)
        start = stop
