"""Bundles: segments of many streams in one object, so that a push takes one request and a listing is short.

The bundles of a device are numbered from 1 and chained: each has the hash of the one before it. A bundle begins with
its index, which says what is in it; the segments follow, each packed by itself. Bundles that stand one after another
in one object are still single bundles, so that small objects can be merged by writing them behind one another.

An entry whose content was removed keeps only its hashes. These are all that the chain is made of, so that it still
holds. docs/reference/sync-format.md describes the bytes.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import zstandard
from msgspec import Struct

from backscroll.errors import BackscrollError
from backscroll.sync.streams import Head, StreamKey, StreamSegment, extend

MAGIC: Final = b"BSYNC1\n"
FORMAT: Final = 1
NO_BUNDLE: Final = "0" * 64
"""Stands for the bundle before the first."""
LEVEL: Final = 3
LARGEST_INDEX: Final = 1 << 28


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
    forgotten: list[str] = []
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
        frame = bundle.data[entry.offset : entry.offset + entry.packed]
        entries.append(msgspec.structs.replace(entry, offset=offset))
        frames.append(frame)
        offset += len(frame)
    return _write(msgspec.structs.replace(bundle.index, entries=entries, size=offset), b"".join(frames), seal)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read."""

    index: Index
    data: bytes
    """The packed segments."""
    seal: Seal = PLAIN

    def content(self, entry: Entry) -> bytes:
        """The bytes of a segment. What does not have its length is damaged."""
        frame = self.data[entry.offset : entry.offset + entry.packed]
        about = _about(self.index, entry.stream, entry.number)
        try:
            packed = self.seal.open(frame, about)
            if zstandard.frame_content_size(packed) != entry.length:
                raise DamagedBundleError(
                    f"segment {entry.number} has another length than bundle {self.index.number} says"
                )
            return zstandard.ZstdDecompressor().decompress(packed)
        except zstandard.ZstdError as error:
            raise DamagedBundleError(f"segment {entry.number} in bundle {self.index.number}: {error}") from error

    def check(self, entry: Entry) -> None:
        """An error if the bytes of a segment are not those that were sent."""
        self.segment(entry, Head(entry.number, entry.start, entry.before))

    def segment(self, entry: Entry, before: Head) -> StreamSegment:
        """A segment that continues a stream with this head; an error if it does not."""
        segment = extend(before, self.content(entry))
        if segment.number != entry.number or segment.head != entry.after:
            raise DamagedBundleError(
                f"segment {entry.number} in bundle {self.index.number} does not follow the one before"
            )
        return segment


def read_bundles(data: bytes, seal: Seal = PLAIN) -> Iterator[Bundle]:
    """The bundles in an object, one after another."""
    at = 0
    while at < len(data):
        if data[at : at + len(MAGIC)] != MAGIC:
            raise DamagedBundleError("it does not begin like a bundle")
        at += len(MAGIC)
        length = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if length > LARGEST_INDEX or at + length > len(data):
            raise DamagedBundleError("it is cut short")
        index = _read_index(data[at : at + length], seal)
        at += length
        if at + index.size > len(data):
            raise DamagedBundleError("it is cut short")
        yield Bundle(index, data[at : at + index.size], seal)
        at += index.size


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


def _read_index(packed: bytes, seal: Seal) -> Index:
    try:
        plain = seal.open(packed, INDEX)
        if zstandard.frame_content_size(plain) > LARGEST_INDEX:
            raise DamagedBundleError("its index is too long")
        index = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(plain), type=Index)
    except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedBundleError(f"its index cannot be read ({error})") from error
    ends = max((entry.offset + entry.packed for entry in index.entries), default=0)
    if index.size < 0 or ends > index.size or any(_is_odd(entry) for entry in index.entries):
        raise DamagedBundleError("its index says what cannot be")
    return index


def _is_odd(entry: Entry) -> bool:
    return min(entry.number, entry.start, entry.length, entry.offset, entry.packed) < 0


def _about(index: Index, stream: str, number: int) -> bytes:
    return f"{index.number} {stream} {number}".encode()


INDEX: Final = b"index"
