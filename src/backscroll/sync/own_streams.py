"""The streams of this device: the kept files that leave, their rules, and the lines that leave of each."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import written_name
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.sync.bundles import FileFacts, SentSegment
from backscroll.sync.outgoing import Outgoing, rules_digest
from backscroll.sync.policy import SyncMode
from backscroll.sync.streams import LONGEST_SEGMENT, Head, StreamKey, extend, whole_lines

PIECE: Final = 4 << 20
"""Bytes of a file that are read at once."""
ModeOf = Callable[[KeptFile], SyncMode]


class LineModes(NamedTuple):
    """The modes of the lines of a file whose lines are of different projects."""

    mode_of: Callable[[bytes], SyncMode]
    """Returns the mode of a line."""
    digest: str
    """Digest that changes if existing lines may have other modes than before."""


LinesOf = Callable[[KeptFile], LineModes | None]


def no_lines(_: KeptFile) -> None:
    """Decide about every file as a whole."""


class OwnStream(NamedTuple):
    """A version of a file that may leave."""

    file: KeptFile
    version: Version
    mode: SyncMode
    home: str
    path: str
    """The path, like the home, is the name under which the file leaves."""
    lines: LineModes | None = None
    """The modes of its lines; None if all have the mode of the file."""

    @property
    def base(self) -> str:
        """The id of the stream in its first generation."""
        return self.key(0).id

    @property
    def rules(self) -> str:
        """Digest of the rules under which its lines leave."""
        digest = rules_digest(self.mode)
        return f"{digest} lines {self.lines.digest}" if self.lines else digest

    @property
    def is_finished(self) -> bool:
        """Whether no more bytes can come: there is a newer version, or the file is gone from its home."""
        return self.version is not self.file.latest or self.file.gone_since is not None

    def key(self, generation: int) -> StreamKey:
        """Return the key of the stream in a generation."""
        return StreamKey(self.home, self.path, self.version.number, generation)

    def facts(self, generation: int) -> FileFacts:
        """Return the facts about the file that a receiver needs."""
        (home, home_hex), (path, path_hex) = written_name(self.home), written_name(self.path)
        return FileFacts(
            home=home, path=path, version=self.version.number, generation=generation, type=self.file.type,
            modified_ns=self.version.modified_ns, home_hex=home_hex, path_hex=path_hex, rules=self.rules,
        )  # fmt: skip


def own_streams(
    archive: Archive, is_own: Callable[[str], bool], mode_of: ModeOf, outgoing: Outgoing, lines_of: LinesOf = no_lines
) -> list[OwnStream]:
    """Return every version of every file of this device that may leave, last changed files first."""
    streams = []
    for file in archive.files.values():
        if not is_own(file.machine) or not file.versions:
            continue
        mode = mode_of(file)
        if mode is SyncMode.OFF or (mode is SyncMode.METRICS and not file.path.endswith(".jsonl")):
            continue
        home, path = names_of(file, mode, outgoing)
        lines = lines_of(file)
        streams += [OwnStream(file, version, mode, home, path, lines) for version in file.versions if version.is_whole]
    return sorted(
        streams, key=lambda stream: (-stream.file.versions[-1].modified_ns, stream.file.number, stream.version.number)
    )


def new_segments(
    archive: Archive, stream: OwnStream, outgoing: Outgoing, generation: int, head: Head, source: int
) -> Iterator[SentSegment]:
    """Yield the segments that continue a stream, from byte `source` of its file on."""
    key, facts = stream.key(generation), stream.facts(generation)
    waiting: list[bytes] = []
    size = 0
    is_end = False
    for line in whole_lines(_pieces(archive, stream.version, source, stream.version.size)):
        if not _is_whole(line, key):
            if not stream.is_finished:
                break  # still being written: it leaves when it is whole
            is_end = key.is_lines
        leaving = _leaving(stream, line, outgoing, key)
        if waiting and size + len(leaving) > LONGEST_SEGMENT:
            segment = extend(head, b"".join(waiting))
            yield SentSegment(key, facts, segment, source, is_end=False, before=head)
            head, waiting, size = segment.head, [], 0
        if leaving:
            waiting.append(leaving)
            size += len(leaving)
        source += len(line)
    if waiting:
        yield SentSegment(key, facts, extend(head, b"".join(waiting)), source, is_end, head)


def unsent(archive: Archive, stream: OwnStream, source: int) -> int:
    """Count the bytes of a file that could leave, and have not: a line that is still being written does not count."""
    size = stream.version.size
    if stream.lines is not None:
        lines = whole_lines(_pieces(archive, stream.version, source, size))
        return sum(len(line) for line in lines if stream.lines.mode_of(line) is not SyncMode.OFF)
    if source >= size or stream.is_finished or not stream.key(0).is_lines:
        return max(0, size - source)
    start, last = size, b""
    while start > source and b"\n" not in last:  # from the end: only the last line may be unfinished
        start = max(source, start - LONGEST_SEGMENT)
        last = archive.read(stream.version, start, size)
    last = last.rpartition(b"\n")[2]
    return size - source - (len(last) if last and not _is_whole(last, stream.key(0)) else 0)


def _leaving(stream: OwnStream, line: bytes, outgoing: Outgoing, key: StreamKey) -> bytes:
    """Return the bytes of a line that leave. A line cut off may end in half a secret, so it is withheld."""
    mode = stream.lines.mode_of(line) if stream.lines else stream.mode
    if mode is SyncMode.REDACTED and not _is_whole(line, key):
        return outgoing.cut_line(line)
    return outgoing.line(mode, line, is_json=key.is_lines) or b""


def _is_whole(line: bytes, key: StreamKey) -> bool:
    """Whether a line is whole: it ends with a newline, or it is a record that only lacks one."""
    if line.endswith(b"\n") or not key.is_lines:
        return True
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def same_segment(
    archive: Archive, stream: OwnStream, outgoing: Outgoing, generation: int, before: Head, start: int, source: int
) -> SentSegment:
    """Rebuild the segment of these bytes of a file."""
    key = stream.key(generation)
    lines = whole_lines(_pieces(archive, stream.version, start, source))
    data = b"".join(_leaving(stream, line, outgoing, key) for line in lines)
    return SentSegment(key, stream.facts(generation), extend(before, data), source, is_end=False, before=before)


def _pieces(archive: Archive, version: Version, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        stop = min(end, start + PIECE)
        yield archive.read(version, start, stop)
        start = stop


def names_of(file: KeptFile, mode: SyncMode, outgoing: Outgoing) -> tuple[str, str]:
    """Return the names of home and path under which a file leaves."""
    if mode is not SyncMode.METRICS:
        return file.home, file.path
    # The folder of a project is named after its path.
    parts = file.path.split("/")
    if parts[0] == "projects" and len(parts) > 1:
        parts[1] = outgoing.hidden_name(parts[1])
    return outgoing.hidden_name(file.home), "/".join(parts)
