"""Bundles: segments of many streams in one object, so that a push takes one request and a listing is short.

The bundles of a device are numbered from 1 and chained: each has the hash of the one before it. A bundle begins with
its index, which says what is in it; the segments follow, each packed by itself. Bundles that stand one after another
in one object are still single bundles, so that small objects can be merged by writing them behind one another.

An entry whose content was removed keeps only its hashes. These are all that the chain is made of, so that it still
holds. docs/reference/sync-format.md describes the bytes.

Nothing that an object says about itself is believed: what is read takes memory by what is there, not by what is
claimed, and a long segment is unpacked piece by piece.
"""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Annotated, Final, NamedTuple, cast

import msgspec
import zstandard
from msgspec import Meta, Struct

from backscroll.errors import BackscrollError
from backscroll.sync.streams import LONGEST_SEGMENT, Head, StreamKey, StreamSegment, extend, head_after

MAGIC: Final = b"BSYNC1\n"
FORMAT: Final = 1
NO_BUNDLE: Final = "0" * 64
"""Stands for the bundle before the first."""
LEVEL: Final = 3
LARGEST_INDEX: Final = 1 << 28
MAX_ENTRIES: Final = 20_000
"""Segments of a bundle, so that its index takes a few megabytes: a server refuses one that is too long to check."""
SHORTEST_KEY: Final = 16
"""Characters of the hash of a forgotten file: many short texts would take many times their size in memory."""
LARGEST_WINDOW: Final = 8 << 20
"""What a frame may have the reader remember while it is unpacked: what every reader of zstd can be expected to."""
PIECE: Final = 1 << 20
LONGEST_FRAME_HEADER: Final = 18
FRAME_MARGIN: Final = 4096
"""Bytes that a frame and its seal may take beyond their contents."""


class FileFacts(Struct, frozen=True, omit_defaults=True):
    """What a receiver has to know of the file that a stream is of. Names are text; `hex` ones are not UTF-8."""

    home: str
    path: str
    version: int
    generation: int
    type: str
    modified_ns: int
    home_hex: str | None = None
    path_hex: str | None = None
    rules: str = "full"
    """Under which rules its lines left."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """One segment in a bundle. Without `file` its content was removed."""

    stream: str
    number: int
    start: int
    length: int
    head: str
    before: str = ""
    """The head of the stream before this segment."""
    offset: int = 0
    """Where its packed bytes begin, counted from the end of the index."""
    packed: int = 0
    source: int = 0
    """How many bytes of the file the stream covers up to here."""
    is_end: bool = False
    """Whether the file was finished: its last line left without a newline."""
    file: FileFacts | None = None

    @property
    def after(self) -> Head:
        """The head of the stream up to the end of this segment."""
        return Head(self.number + 1, self.start + self.length, self.head)


class Index(Struct, frozen=True, omit_defaults=True):
    """What stands at the beginning of a bundle."""

    device: str
    """The name of the device on the remote."""
    machine: str
    """What the machine is called; on an encrypted remote its device has a name that tells nothing."""
    number: int
    previous: str
    """The hash of the bundle before it."""
    at: str
    """When it was made, by the clock of the device. Nothing is ordered by it."""
    entries: list[Entry]
    forgotten: list[Annotated[str, Meta(min_length=SHORTEST_KEY)]] = []
    """Hashes of files that the user removed; receivers remove them too."""
    size: int = 0
    """Bytes of all packed segments."""

    @property
    def hash(self) -> str:
        """The hash of the bundle: of what it says, whether its contents are still there or not."""
        told = [f"{self.previous} {self.number} {self.device} {self.machine}"]
        told += (f"{entry.stream} {entry.number} {entry.head}" for entry in self.entries)
        told += self.forgotten
        return hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()


class Seal(NamedTuple):
    """How bytes are encrypted on their way out, and decrypted on their way in."""

    close: Callable[[bytes, bytes], bytes]
    """Takes the plain bytes and what they belong to."""
    open: Callable[[bytes, bytes], bytes]


PLAIN: Final = Seal(lambda data, _: data, lambda data, _: data)


class SentSegment(NamedTuple):
    """A segment on its way into a bundle."""

    key: StreamKey
    file: FileFacts
    segment: StreamSegment
    source: int
    """How many bytes of the file the stream covers up to the end of it."""
    is_end: bool
    before: Head
    """The head of the stream before it."""


class DamagedBundleError(BackscrollError):
    """Bytes of a remote that are not what a device wrote."""

    def __init__(self, what: str) -> None:
        super().__init__(f"an object of the remote is damaged: {what}", "run backscroll sync verify --deep")


class IndexTooLongError(DamagedBundleError):
    """An index that is longer than is read."""

    def __init__(self) -> None:
        super().__init__("its index is too long")


def encode_bundle(index: Index, parts: Sequence[SentSegment | Entry], seal: Seal = PLAIN) -> tuple[Index, bytes]:
    """A bundle of these segments; an entry stands for a segment whose content was removed. `index` has the rest."""
    compressor = zstandard.ZstdCompressor(LEVEL)
    entries, frames, offset = [], [], 0
    for part in parts:
        if isinstance(part, Entry):
            entries.append(part)
            continue
        frame = seal.close(compressor.compress(part.segment.data), _about(index, part.key.id, part.segment.number))
        entries.append(_entry(part, offset, len(frame)))
        frames.append(frame)
        offset += len(frame)
    whole = msgspec.structs.replace(index, entries=entries, size=offset)
    return whole, _write(whole, b"".join(frames), seal)


def _entry(part: SentSegment, offset: int, packed: int) -> Entry:
    segment = part.segment
    return Entry(
        stream=part.key.id, number=segment.number, start=segment.start, length=len(segment.data),
        head=segment.head.hash, before=part.before.hash, offset=offset, packed=packed, source=part.source,
        is_end=part.is_end, file=part.file,
    )  # fmt: skip


def without(bundle: "Bundle", removed: Callable[[Entry], bool], seal: Seal = PLAIN) -> bytes:
    """The same bundle without the content of some entries."""
    entries, frames, offset = [], [], 0
    for entry in bundle.index.entries:
        if entry.file is None or removed(entry):
            entries.append(msgspec.structs.replace(entry, offset=0, packed=0, file=None))
            continue
        frame = bundle.frame(entry)
        entries.append(msgspec.structs.replace(entry, offset=offset))
        frames.append(frame)
        offset += len(frame)
    return _write(msgspec.structs.replace(bundle.index, entries=entries, size=offset), b"".join(frames), seal)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read. Its segments are in the object, which has to be open as long as they are asked for."""

    index: Index
    file: IO[bytes]
    begin: int
    """Where the packed segments begin in the object."""
    seal: Seal = PLAIN

    def frame(self, entry: Entry) -> bytes:
        """The packed bytes of a segment."""
        return _read_at(self.file, self.begin + entry.offset, entry.packed)

    def content(self, entry: Entry) -> bytes:
        """The bytes of a segment. What does not have its length is damaged."""
        return b"".join(self.pieces(entry))

    def pieces(self, entry: Entry) -> Iterator[bytes]:
        """The bytes of a segment, piece by piece; an error at the end at the latest if it has another length."""
        number = self.index.number
        source = self._packed(entry)
        try:
            if zstandard.frame_content_size(source.read(LONGEST_FRAME_HEADER)) != entry.length:
                raise DamagedBundleError(f"segment {entry.number} has another length than bundle {number} says")
            source.seek(0)
            if entry.length <= LONGEST_SEGMENT:
                yield zstandard.ZstdDecompressor().decompress(source.read())
                return
            left = entry.length
            for piece in _unpacked(source):
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        except zstandard.ZstdError as error:
            raise DamagedBundleError(f"segment {entry.number} in bundle {number}: {error}") from error
        if left:
            raise DamagedBundleError(f"segment {entry.number} in bundle {number} has another length than it says")

    def check(self, entry: Entry) -> None:
        """An error if the bytes of a segment are not those that were sent. They are not held in memory as a whole."""
        self.check_after(entry, Head(entry.number, entry.start, entry.before))

    def check_after(self, entry: Entry, before: Head) -> None:
        """The same, and if the segment does not continue a stream with this head."""
        if before.segments != entry.number or head_after(before, self.pieces(entry)) != entry.after:
            raise self._does_not_follow(entry)

    def segment(self, entry: Entry, before: Head) -> StreamSegment:
        """A segment that continues a stream with this head; an error if it does not."""
        segment = extend(before, self.content(entry))
        if segment.number != entry.number or segment.head != entry.after:
            raise self._does_not_follow(entry)
        return segment

    def _does_not_follow(self, entry: Entry) -> DamagedBundleError:
        return DamagedBundleError(
            f"segment {entry.number} in bundle {self.index.number} does not follow the one before"
        )

    def _packed(self, entry: Entry) -> IO[bytes]:
        """The frame of a segment, decrypted."""
        if self.seal is PLAIN:
            return cast("IO[bytes]", _Part(self.file, self.begin + entry.offset, entry.packed))
        about = _about(self.index, entry.stream, entry.number)
        return io.BytesIO(self.seal.open(self.frame(entry), about))


class _Part:
    """Some bytes of a file, to be read as a file."""

    def __init__(self, file: IO[bytes], begin: int, length: int) -> None:
        self._file, self._begin, self._length, self._at = file, begin, length, 0

    def seek(self, offset: int) -> int:
        """Go on reading there."""
        self._at = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        left = self._length - self._at
        data = _read_at(self._file, self._begin + self._at, left if size < 0 else min(size, left))
        self._at += len(data)
        return data


def _unpacked(source: IO[bytes]) -> Iterator[bytes]:
    """What a frame unpacks to. However much that is, it is in memory only piece by piece."""
    with zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW).stream_reader(source, read_size=PIECE) as reader:
        while piece := reader.read(PIECE):
            yield piece


def read_bundles(source: bytes | IO[bytes], seal: Seal = PLAIN, largest_index: int = LARGEST_INDEX) -> Iterator[Bundle]:
    """The bundles in an object, one after another. A file is read where it is needed, never as a whole."""
    file: IO[bytes] = io.BytesIO(source) if isinstance(source, bytes) else source
    end, at = file.seek(0, io.SEEK_END), 0
    while at < end:
        if _read_at(file, at, len(MAGIC)) != MAGIC:
            raise DamagedBundleError("it does not begin like a bundle")
        at += len(MAGIC)
        length = int.from_bytes(_read_at(file, at, 4), "big")
        at += 4
        if at + length > end:
            raise DamagedBundleError("it is cut short")
        if length > largest_index:
            raise IndexTooLongError
        index = _read_index(_read_at(file, at, length), seal, largest_index)
        at += length
        if at + index.size > end:
            raise DamagedBundleError("it is cut short")
        yield Bundle(index, file, at, seal)
        at += index.size


def _read_at(file: IO[bytes], at: int, length: int) -> bytes:
    file.seek(at)
    return file.read(length)


def file_key(entry: Entry) -> StreamKey:
    """The stream that an entry with content belongs to; an error if its name is not that of the stream."""
    from backscroll.archive.catalogue import read_name

    facts = entry.file
    if facts is None:
        raise DamagedBundleError("the content of a segment was removed")
    home, path = read_name(facts.home, facts.home_hex), read_name(facts.path, facts.path_hex)
    key = StreamKey(home, path, facts.version, facts.generation)
    if key.id != entry.stream:
        raise DamagedBundleError("a stream has another name than its segments say")
    return key


def _write(index: Index, frames: bytes, seal: Seal) -> bytes:
    packed = seal.close(zstandard.ZstdCompressor(LEVEL).compress(msgspec.json.encode(index)), INDEX)
    return b"".join([MAGIC, len(packed).to_bytes(4, "big"), packed, frames])


def _read_index(packed: bytes, seal: Seal, largest: int) -> Index:
    try:
        plain = seal.open(packed, INDEX)
        if not 0 <= zstandard.frame_content_size(plain) <= largest:
            raise IndexTooLongError
        index = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(plain), type=Index)
    except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedBundleError(f"its index cannot be read ({error})") from error
    ends = max((entry.offset + entry.packed for entry in index.entries), default=0)
    if index.size < 0 or ends > index.size or any(_is_odd(entry) for entry in index.entries):
        raise DamagedBundleError("its index says what cannot be")
    return index


def _is_odd(entry: Entry) -> bool:
    is_negative = min(entry.number, entry.start, entry.length, entry.offset, entry.packed) < 0
    return is_negative or entry.packed > entry.length + (entry.length >> 7) + FRAME_MARGIN


def _about(index: Index, stream: str, number: int) -> bytes:
    return f"{index.number} {stream} {number}".encode()


INDEX: Final = b"index"
