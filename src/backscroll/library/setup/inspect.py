"""Read session files and count their contents."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from backscroll.errors import NothingFound, UsageError
from backscroll.files.discovery import HomeFile, Unreadable, discover, look
from backscroll.files.early_reading import EarlyReading
from backscroll.files.homes import Home
from backscroll.files.inside import find_inside
from backscroll.files.layout import CONTAINERS, DATABASE, LOGS, TRANSCRIPTS, LeftOut, place_of
from backscroll.files.reading import Line, Reading
from backscroll.records.decode import Problem, decode_all
from backscroll.records.drift import Drift, drift
from backscroll.records.kinds import ChainRecord, type_of
from backscroll.records.long_lines import decode_long_line
from backscroll.records.record import Record, usual_time

MAX_LISTED_PROBLEMS: Final = 1000
"""Number of problems that are listed one by one; all are counted."""


class LocatedProblem(NamedTuple):
    """A problem with its place. `line` counts from 1, `offset` is in bytes; both are None for a whole file."""

    file: Path
    line: int | None
    offset: int | None
    kind: str
    detail: str


@dataclass
class DriftExample:
    """A kind of drift: its count, and its first place."""

    drift: Drift
    count: int
    file: Path
    line: int
    version: str | None


class LineSource(Protocol):
    """A file that is read line by line, live or kept."""

    tail: Line | None

    def __iter__(self) -> Iterator[Line]: ...

    def pieces(self, line: Line) -> Iterator[bytes]:
        """Return the bytes of a line that is too long to return at once."""
        ...


class LocatedRecord(NamedTuple):
    """A record with its file, line and offset."""

    record: Record
    file: Path
    line: int
    offset: int


@dataclass
class Inspection:
    """Counts over session files. Grows as they are read."""

    files: int = 0
    size: int = 0
    lines: int = 0
    records: int = 0
    problems: int = 0
    types: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    troubles: list[LocatedProblem] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    unknown: dict[Drift, DriftExample] = field(default_factory=dict)
    """Drift in the records that were searched for it."""

    def read(
        self, paths: Iterable[Path], on_bytes: Callable[[int], object] = lambda _: None
    ) -> Iterator[LocatedRecord]:
        """Read these files, count everything, yield every record. An unreadable file affects only itself."""
        for path in paths:
            container = _container_at(path)
            for item in [None] if container is None else find_inside(container):
                if isinstance(item, Unreadable):
                    self.unreadable.append(item)
                else:
                    opened = partial(Reading, path) if item is None else item.open
                    yield from self._read_with(opened, path if item is None else item.path, on_bytes)

    def look_for_unknown(self, seen: LocatedRecord) -> None:
        """Note the drift in a record. It decodes the record again."""
        for what in drift(seen.record):
            if what in self.unknown:
                self.unknown[what].count += 1
            else:
                version = seen.record.version if isinstance(seen.record, ChainRecord) else None
                self.unknown[what] = DriftExample(what, 1, seen.file, seen.line, version)

    def read_file(self, file: HomeFile, on_bytes: Callable[[int], object] = lambda _: None) -> Iterator[LocatedRecord]:
        """Read a file of a home, count everything, yield every record."""
        return self._read_with(file.open, file.path, on_bytes)

    def _read_with(
        self, opened: Callable[[], Reading | EarlyReading], path: Path, on_bytes: Callable[[int], object]
    ) -> Iterator[LocatedRecord]:
        try:
            with opened() as reading:
                yield from self.read_lines(path, reading, on_bytes)
        except OSError as error:
            self.unreadable.append(Unreadable(path, error.strerror or str(error)))

    def read_lines(
        self, path: Path, source: LineSource, on_bytes: Callable[[int], object] = lambda _: None
    ) -> Iterator[LocatedRecord]:
        """Read lines from any source, count everything, yield every record; `path` names their file."""
        self.files += 1
        number = 0
        for line in source:
            number += 1
            yield from self._count(path, number, line, _decode(source, line))
            on_bytes(line.end - line.start)
        if tail := source.tail:
            items = list(_decode(source, tail))
            # A whole record may lack only its newline; half a record is still being written, or never will be.
            if any(isinstance(item, Problem) for item in items):
                items = [Problem(kind="unfinished", detail="the last line breaks off", raw=b"")]
            yield from self._count(path, number + 1, tail, items)
            on_bytes(tail.end - tail.start)

    def _count(self, path: Path, number: int, line: Line, items: Iterable[Record | Problem]) -> Iterator[LocatedRecord]:
        self.lines += 1
        self.size += line.end - line.start
        offset = line.start
        for item in items:
            if isinstance(item, Problem):
                if item.kind != "blank":
                    self._count_problem(LocatedProblem(path, number, offset, item.kind, item.detail))
            else:
                self._count_record(item)
                yield LocatedRecord(item, path, number, offset)
            offset += len(item.raw)

    def _count_problem(self, trouble: LocatedProblem) -> None:
        self.problems += 1
        if len(self.troubles) < MAX_LISTED_PROBLEMS:
            self.troubles.append(trouble)

    def _count_record(self, record: Record) -> None:
        self.records += 1
        self.types[type_of(record)] += 1
        if isinstance(record, ChainRecord) and record.version:
            self.versions[record.version] += 1
        if when := usual_time(record.timestamp):
            if self.first is None or when < self.first:
                self.first = when
            if self.last is None or when > self.last:
                self.last = when


def inspect(paths: Iterable[Path], on_bytes: Callable[[int], object] = lambda _: None) -> Inspection:
    """Read these files from end to end and count their contents."""
    inspection = Inspection()
    for seen in inspection.read(paths, on_bytes):
        inspection.look_for_unknown(seen)
    return inspection


def find_transcripts(named: Sequence[Path], homes: Sequence[Home]) -> list[Path]:
    """Return the session files at these paths: files, folders and homes; without paths, those of the homes."""
    paths: dict[Path, None] = {}  # each once, in order
    for path in named:
        paths.update(dict.fromkeys(_transcripts_at(path)))
    if not named:
        for home in homes:
            paths.update(dict.fromkeys(_transcripts_of(home)))
    if not paths:
        places = ", ".join(str(path) for path in named or [home.path for home in homes])
        raise NothingFound(f"no session files in {places}", "name a file or folder, or a Claude Code home with --home")
    return list(paths)


def _transcripts_at(named: Path) -> Iterable[Path]:
    # A path from the user may be a link; links below it are not followed.
    path = named.expanduser().resolve()
    if not path.exists():
        raise UsageError(f"no such file or folder: {named}", "check the path")
    if not path.is_dir():
        return [path]
    if Home(path).exists:
        return _transcripts_of(Home(path))
    return sorted(
        file
        for file in path.rglob("*.jsonl")
        if file.is_file() and not file.is_symlink() and place_of(file.parts[-1:]) is not LeftOut.SET_ASIDE
    )


def _transcripts_of(home: Home) -> list[Path]:
    return [file.path for file in discover(home).files if file.kind in TRANSCRIPTS or file.kind in CONTAINERS]


def _container_at(path: Path) -> HomeFile | None:
    """Return the database or log at this path, by its name."""
    depth = 1 if path.name == DATABASE else 3 if path.parent.name == LOGS and path.suffix == ".json" else 0
    return look(Home(path.parents[depth - 1]), path) if depth else None


def _decode(reading: LineSource, line: Line) -> Iterable[Record | Problem]:
    if line.data is None:
        return decode_long_line(reading.pieces(line))
    return decode_all(line.data)
