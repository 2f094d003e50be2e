"""The source of a session's bytes: its live file, else the kept copy, and the sidecars next to it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final, TypeVar

from backscroll.archive.archive import Archive
from backscroll.archive.early import kept_contents
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.reading import KeptReading
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.transcripts import Transcript, TranscriptPlace
from backscroll.errors import BackscrollError
from backscroll.files.discovery import HomeFile, look
from backscroll.files.early_reading import EarlyReading
from backscroll.files.early_sessions import EarlySession
from backscroll.files.homes import Home
from backscroll.files.inside import container_bookmark
from backscroll.files.layout import CONTAINERS, TITLE_FILE, TRANSCRIPTS, FileKind, container_of
from backscroll.files.layout import Place as FilePlace
from backscroll.files.reading import Bookmark, Line, Reading
from backscroll.files.source_key import SourceKey
from backscroll.records.decode import Problem, decode_all
from backscroll.records.long_lines import decode_long_line
from backscroll.records.record import Record
from backscroll.records.sidecars import agent_meta, custom_title

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Kept:
    """A version of a file that is read from the archive."""

    is_kept: ClassVar = True
    archive: Archive
    file: KeptFile
    version: Version
    is_earlier: bool = False
    """Whether this is a source of its own, beside the current or last content of the file."""
    is_archived: bool = True
    """Whether the file is gone from its home, as far as known. A file of another machine may still be there."""
    renamed: str = ""
    """Current id of the machine, if it kept the file under another id."""
    session: EarlySession | None = None
    """The session, where the file holds several."""

    @property
    def key(self) -> SourceKey:
        """The key that identifies file and version, on any machine."""
        path = self.file.path if self.session is None else f"{self.file.path}/{self.session.name}.jsonl"
        return SourceKey(
            self.file.machine, self.file.home, path, version=self.version.number if self.is_earlier else None
        )

    @property
    def id(self) -> str:
        """The key as a string."""
        return self.key.id

    @property
    def machine(self) -> str:
        """The machine of the file."""
        return self.renamed or self.file.machine

    @property
    def name(self) -> str:
        """The original path as text; for an earlier version, with its number."""
        return self.key.name

    @property
    def path(self) -> Path:
        """The original path."""
        return Path(self.name)

    @property
    def home(self) -> str:
        """The home of the file."""
        return self.file.home

    @property
    def kind(self) -> FileKind:
        """The kind of file."""
        return self.file.kind if self.session is None else FileKind.SESSION

    @property
    def place(self) -> FilePlace:
        """Project and session of the file."""
        if self.session is None:
            return self.file.place
        return FilePlace(FileKind.SESSION, self.file.place.project_folder, self.session.name)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.version.size if self.session is None else self.session.size

    @property
    def modified_ns(self) -> int:
        """Time of the last write."""
        return self.version.modified_ns if self.session is None else self.session.modified_ns

    def open(self, bookmark: Bookmark | None = None) -> KeptReading | EarlyReading:
        """Open from a bookmark if the file has only grown since; a session inside a file, from its beginning."""
        if self.session is None:
            return KeptReading(self.archive, self.version, bookmark)
        contents = kept_contents(self.archive, self.file, self.version)
        session = contents.sessions.get(self.session.name)
        if session is None:
            raise FileNotFoundError(f"{self.file.path} has no session {self.session.name}")
        return EarlyReading(contents, session)


Source = HomeFile | Kept
"""A live file or kept bytes: both are opened and read in the same way."""
AnyReading = Reading | KeptReading | EarlyReading
"""One pass over the lines of a source."""
Item = tuple[Record | Problem, int, int]
"""An item on a line, its offset, and its length."""
MAX_SIDECAR_BYTES: Final = 1024 * 1024


class Sources:
    """All readable files: those of some homes, and all in an archive.

    An id in a store names exactly one file. A file of another machine is read from the archive alone, even if this
    machine has a file at the same path; a file outside of the homes, or behind a link, is not opened.
    """

    def __init__(self, homes: Sequence[Home], archive: Archive | None) -> None:
        self._homes = {(home.machine, str(home.path)): home for home in homes}
        self._archive = archive

    def find(self, source: str) -> Source | None:
        """Return the live file, else its kept copy; or an earlier version of it."""
        key = SourceKey.parse(source)
        return self._live(key) or self._kept(key)

    def beside(self, source: Source) -> list[Source]:
        """Return the sidecars of a transcript."""
        sidecars = (self.find(key.id) for key in beside_keys(source.key))
        return [sidecar for sidecar in sidecars if sidecar is not None]

    def earlier(self, live: Source) -> list[Kept]:
        """Return the kept versions of a live file that hold more than it does now."""
        file = self._file(live.key)
        return earlier_versions(self._archive, file, live) if self._archive and file and not live.is_kept else []

    def _live(self, key: SourceKey) -> HomeFile | None:
        home = self._homes.get((key.machine, key.home)) if key.version is None else None
        path = home.path / key.path if home else None
        return look(home, path) if home and path and path.is_relative_to(home.path) else None

    def _kept(self, key: SourceKey) -> Kept | None:
        if (container := container_of(key.path)) is not None:
            return self._kept_inside(key, container)
        file = self._file(key)
        if self._archive is None or file is None:
            return None
        version = file.latest if key.version is None else file.version(key.version)
        return Kept(self._archive, file, version, is_earlier=key.version is not None) if version else None

    def _kept_inside(self, key: SourceKey, container: str) -> Kept | None:
        file = self._file(key.beside(container))
        if self._archive is None or file is None:
            return None
        numbered = file.version(key.version) if key.version is not None else None
        versions = [numbered] if numbered else file.shown_versions[::-1] if key.version is None else []
        name = PurePosixPath(key.path).stem
        for version in versions:
            with suppress(OSError, BackscrollError):
                if session := kept_contents(self._archive, file, version).sessions.get(name):
                    return Kept(self._archive, file, version, is_earlier=key.version is not None, session=session)
        return None

    def _file(self, key: SourceKey) -> KeptFile | None:
        return self._archive.sources.get(key.current) if self._archive is not None else None


def conversation_place(source: Source) -> TranscriptPlace:
    """Return the place of a source in the conversation."""
    place, key = source.place, source.key
    return TranscriptPlace(key.id, place.session_id, place.agent_id, key.origin, key.name)


def earlier_versions(archive: Archive, file: KeptFile, live: Source | None) -> list[Kept]:
    """Return the versions of a file that are sources of their own: each that is larger than all after it and the live
    file, or that was at the path before another file replaced it.

    A file only grows in ordinary use. If it shrank, its earlier content is in the archive, and stays readable.
    """
    if file.kind not in TRANSCRIPTS and file.kind is not FileKind.TOOL_RESULT:
        return []
    latest = file.latest
    if latest is None or (len(file.versions) == 1 and (live is None or latest.size <= live.size)):
        return []
    versions = file.shown_versions
    if live is None:
        versions = versions[:-1]
    else:
        size, first = live.size, file.first_related
        if any(version.size > size for version in versions if version.number >= first):
            size = max(size, _size_of(live.path))  # it may have grown since we looked
        versions = [version for version in versions if version.number < first or version.size > size]
    return [Kept(archive, file, version, is_earlier=True) for version in versions]


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


class SourceError(Exception):
    """A source could not be read. Only this source is skipped; an error of the store or archive itself is not one."""

    def __init__(self, path: Path, error: OSError | BackscrollError) -> None:
        reason = error.message if isinstance(error, BackscrollError) else error.strerror or str(error)
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.is_gone = isinstance(error, FileNotFoundError)


@contextmanager
def reading_of(source: Source) -> Iterator[None]:
    """Turn every failure to read into a SourceError."""
    try:
        yield
    except (OSError, BackscrollError) as error:
        raise SourceError(source.path, error) from error


def read_from(source: Source, parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the pieces read from a source; every failure to read is raised as a SourceError."""
    with reading_of(source):
        yield from parts


def whole_of(source: Source) -> bytes:
    """Return all bytes of a small file."""
    if source.size > MAX_SIDECAR_BYTES:
        raise OSError(f"longer than {MAX_SIDECAR_BYTES} bytes: {source.path}")
    return b"".join(_blocks(source))


def lines_in(reading: AnyReading) -> Iterator[tuple[Line, list[Item], bool]]:
    """Yield each line with its items, and whether it is complete.

    A last line without its newline is included, and counts as read, if its record is whole. Half a record is still
    being written, or never will be.
    """
    for line in reading:
        yield line, list(records_on(reading, line)), True
    if (tail := reading.tail) is not None:
        items = list(records_on(reading, tail))
        if items and not any(isinstance(item, Problem) for item, _, _ in items):
            reading.take_tail()
            yield tail, items, False


def records_in(reading: AnyReading) -> Iterator[tuple[Record, int, int]]:
    """Yield every record with its offset and its length."""
    for _, items, _ in lines_in(reading):
        for item, start, length in items:
            if not isinstance(item, Problem):
                yield item, start, length


def records_on(reading: AnyReading, line: Line) -> Iterator[Item]:
    """Yield every item on a line with its offset and length; all items of a long line have the offset of the line."""
    if line.data is None:
        for item in decode_long_line(reading.pieces(line)):
            yield item, line.start, line.end - line.start
        return
    start = line.start
    for item in decode_all(line.data):
        yield item, start, len(item.raw)
        start += len(item.raw)


def beside_keys(key: SourceKey) -> tuple[SourceKey, SourceKey]:
    """Return the keys of a transcript's sidecars: the kind of agent, and the title that the user gave."""
    stem = PurePosixPath(key.path).with_suffix("")
    return key.beside(f"{stem}.meta.json"), key.beside(f"{stem}/{TITLE_FILE}")


def take_beside(
    chats: ChatBuilder, place: TranscriptPlace, beside: Iterable[Source], before: Transcript | None = None
) -> list[SourceError]:
    """Read the sidecars of a transcript; without them, it has only its own title.

    A sidecar that cannot be read keeps its content from `before`. Returns the failures, except for sidecars that are
    just gone.
    """
    title: str | None = None
    failed = []
    for source in beside:
        try:
            with reading_of(source):
                data = whole_of(source)
        except SourceError as error:
            if error.is_gone:
                continue
            failed.append(error)
            if before is not None and source.kind is FileKind.AGENT_META:
                chats.add(place, (), before.meta)
            elif before is not None:
                title = before.title_beside
            continue
        if source.kind is FileKind.AGENT_META:
            chats.add(place, (), agent_meta(data))
        else:
            title = custom_title(data)
    chats.entitle(place, title)
    return failed


def in_pieces(source: Source, size: int = 256 * 1024) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces, split after a newline if there is one, otherwise between words."""
    rest = b""
    for block in _blocks(source):
        rest += block
        while len(rest) > size:
            newline = rest.rfind(b"\n", 0, size) + 1
            cut = newline or max(rest.rfind(mark, 0, size) for mark in (b" ", b'"', b",")) + 1 or size
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def bookmark_of(source: Source) -> Bookmark | None:
    """Return the bookmark at the end of a file; None for a kept file."""
    if isinstance(source, Kept):
        return None
    if source.kind in CONTAINERS:
        return container_bookmark(source)
    with source.open() as reading:
        for _ in reading.rest():
            pass
        return reading.bookmark


def _blocks(source: Source) -> Iterator[bytes]:
    with source.open() as reading:
        yield from reading.rest()
