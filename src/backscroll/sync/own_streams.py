"""The streams of this device: which of its kept files leave, under which rules, and the lines that leave of each."""

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
"""How many bytes of a file are read at once."""
ModeOf = Callable[[KeptFile], SyncMode]


class OwnStream(NamedTuple):
    """A version of a file that may leave."""

    file: KeptFile
    version: Version
    mode: SyncMode
    home: str
    path: str
    """Under these names it leaves."""

    @property
    def base(self) -> str:
        """The id of the stream in its first generation."""
        return self.key(0).id

    @property
    def rules(self) -> str:
        """The rules under which its lines leave."""
        return rules_digest(self.mode)

    @property
    def is_finished(self) -> bool:
        """Whether no more bytes come: there is a newer version, or the file is gone from its home."""
        return self.version is not self.file.latest or self.file.gone_since is not None

    def key(self, generation: int) -> StreamKey:
        """The stream in one of its generations."""
        return StreamKey(self.home, self.path, self.version.number, generation)

    def facts(self, generation: int) -> FileFacts:
        """What a receiver has to know."""
        (home, home_hex), (path, path_hex) = written_name(self.home), written_name(self.path)
        return FileFacts(
            home=home, path=path, version=self.version.number, generation=generation, type=self.file.type,
            modified_ns=self.version.modified_ns, home_hex=home_hex, path_hex=path_hex, rules=self.rules,
        )  # fmt: skip


def own_streams(
    archive: Archive, is_own: Callable[[str], bool], mode_of: ModeOf, outgoing: Outgoing
) -> list[OwnStream]:
    """Every version of every file of this device that may leave; the files that changed last come first."""
    found = []
    for file in archive.files.values():
        if not is_own(file.machine) or not file.versions:
            continue
        mode = mode_of(file)
        if mode is SyncMode.OFF or (mode is SyncMode.METRICS and not file.path.endswith(".jsonl")):
            continue
        home, path = _names(file, mode, outgoing)
        found += [OwnStream(file, version, mode, home, path) for version in file.versions if version.is_whole]
    return sorted(found, key=lambda one: (-one.file.versions[-1].modified_ns, one.file.number, one.version.number))


def withheld_bases(archive: Archive, is_own: Callable[[str], bool], mode_of: ModeOf, outgoing: Outgoing) -> set[str]:
    """The ids of streams that are kept and may not leave, or not under that name: their project has another mode."""
    found = set()
    for file in archive.files.values():
        if is_own(file.machine):
            mode = mode_of(file)
            leaves = mode is not SyncMode.OFF and (mode is not SyncMode.METRICS or file.path.endswith(".jsonl"))
            for other in (SyncMode.FULL, SyncMode.METRICS):
                names = _names(file, other, outgoing)
                if not leaves or names != _names(file, mode, outgoing):
                    found |= {StreamKey(*names, version.number).id for version in file.versions}
    return found


def new_segments(
    archive: Archive, stream: OwnStream, outgoing: Outgoing, generation: int, head: Head, source: int
) -> Iterator[SentSegment]:
    """The segments that continue a stream, from this many bytes of its file on."""
    key, facts = stream.key(generation), stream.facts(generation)
    waiting: list[bytes] = []
    size = 0
    is_end = False
    for line in whole_lines(_pieces(archive, stream.version, source, stream.version.size)):
        if not _is_whole(line, key):
            if not stream.is_finished:
                break  # it is being written: it leaves when it is whole
            is_end = key.is_lines
        leaving = outgoing.line(stream.mode, line, is_json=key.is_lines) or b""
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
    """How many bytes of a file could leave, and have not: a line that is still being written does not count."""
    size = stream.version.size
    if source >= size or stream.is_finished or not stream.key(0).is_lines:
        return max(0, size - source)
    start, last = size, b""
    while start > source and b"\n" not in last:  # from the end: only the last line may be unfinished
        start = max(source, start - LONGEST_SEGMENT)
        last = archive.read(stream.version, start, size)
    last = last.rpartition(b"\n")[2]
    return size - source - (len(last) if last and not _is_whole(last, stream.key(0)) else 0)


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
    """The segment of these bytes of a file, made again."""
    key = stream.key(generation)
    lines = whole_lines(_pieces(archive, stream.version, start, source))
    leaving = (outgoing.line(stream.mode, line, is_json=key.is_lines) or b"" for line in lines)
    data = b"".join(leaving)
    return SentSegment(key, stream.facts(generation), extend(before, data), source, is_end=False, before=before)


def _pieces(archive: Archive, version: Version, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        stop = min(end, start + PIECE)
        yield archive.read(version, start, stop)
        start = stop


def _names(file: KeptFile, mode: SyncMode, outgoing: Outgoing) -> tuple[str, str]:
    if mode is not SyncMode.METRICS:
        return file.home, file.path
    # The folder of a project is named after its path.
    parts = file.path.split("/")
    if parts[0] == "projects" and len(parts) > 1:
        parts[1] = outgoing.hidden_name(parts[1])
    return outgoing.hidden_name(file.home), "/".join(parts)
