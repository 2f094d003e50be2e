"""Bundles: segments of many streams in one object, so that a push takes one request and a listing is short.

The bundles of a device are numbered from 1 and chained: each has the hash of the one before it. A bundle begins with
its index, which lists its contents; the segments follow, each packed by itself. Consecutive bundles in one object are
still single bundles, so that small objects can be merged by concatenating them.

An entry whose content was removed keeps only its hashes. The chain is made of nothing else, so it still holds.
docs/reference/sync-format.md describes the bytes.

Nothing that an object says about itself is trusted: reading takes memory by the bytes that are there, not by the sizes
that are claimed, and a long segment is unpacked piece by piece. `bounds` has the limits of each field.
"""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Annotated, Final, NamedTuple, cast

import msgspec
import zstandard
from msgspec import Meta, Struct

from backscroll.errors import BackscrollError
from backscroll.sync.bounds import (
    LARGEST_INDEX,
    MAX_ENTRIES,
    Count,
    DeviceName,
    Digits,
    Hash,
    HeadHash,
    LogName,
    Moment,
    Number,
    StreamId,
    is_heavy,
    problem_of_file,
    problem_of_index,
)
from backscroll.sync.frames import FramePart, read_at, unpacked
from backscroll.sync.signing import UNSIGNED, Signer, WrongSignatureError, sign_index, signed_by
from backscroll.sync.streams import LONGEST_SEGMENT, Head, StreamKey, StreamSegment, extend, head_after

MAGIC: Final = b"BSYNC1\n"
FORMAT: Final = 1
NO_BUNDLE: Final = "0" * 64
"""Hash that stands for the bundle before the first."""
LEVEL: Final = 3
LONGEST_FRAME_HEADER: Final = 18
FRAME_MARGIN: Final = 4096
"""Bytes that a frame and its seal may take beyond their contents."""


class FileFacts(Struct, frozen=True, omit_defaults=True):
    """Facts about the file of a stream that a receiver needs. Names are text; those in `hex` are not UTF-8."""

    home: str
    path: str
    version: int
    generation: int
    type: str
    modified_ns: int
    home_hex: str | None = None
    path_hex: str | None = None
    rules: str = "full"
    """The rules under which the lines of the file were sent."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """A segment in a bundle. Without `file`, its content was removed."""

    stream: StreamId
    number: Count
    start: Count
    length: Count
    head: HeadHash
    before: HeadHash = ""
    """The head of the stream before this segment."""
    offset: Count = 0
    """Start of its packed bytes, counted from the end of the index."""
    packed: Count = 0
    source: Count = 0
    """Bytes of the file that the stream covers up to the end of this segment."""
    is_end: bool = False
    """Whether the file was finished: its last line left without a newline."""
    file: FileFacts | None = None

    @property
    def after(self) -> Head:
        """The head of the stream up to the end of this segment."""
        return Head(self.number + 1, self.start + self.length, self.head)


class Index(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The index at the beginning of a bundle. Readers ignore the fields that they do not know."""

    signature: Digits = ""
    """Signature by the device, in hexadecimal. The first field, because it is put into the encoded index."""
    key: Digits = ""
    """Public key that the index was signed with."""
    device: DeviceName
    """The name of the device on the remote."""
    machine: DeviceName
    """Name of the machine; on an encrypted remote the name of its device is a hash."""
    number: Number
    previous: Hash
    """The hash of the bundle before it."""
    at: Moment
    """Time at which the bundle was made, by the clock of the device. Nothing is ordered by it."""
    entries: Annotated[list[Entry], Meta(max_length=MAX_ENTRIES)]
    forgotten: list[Hash] = []
    """Hashes of files that the user removed; receivers remove them too."""
    size: Count = 0
    """Bytes of all packed segments."""
    log: LogName = ""
    """Log that the bundle was written for: a signed bundle counts in no other log."""

    @property
    def hash(self) -> str:
        """Hash of the bundle: of its statements, whether its contents are still there or not."""
        lines = [f"{self.previous} {self.number} {self.device} {self.machine}"]
        lines += (f"{entry.stream} {entry.number} {entry.head}" for entry in self.entries)
        lines += self.forgotten
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


class Seal(NamedTuple):
    """Functions that encrypt bytes on their way out, and decrypt them on their way in."""

    close: Callable[[bytes, bytes], bytes]
    """Encrypts plain bytes, bound to the context in the second argument."""
    open: Callable[[bytes, bytes], bytes]
    open_file: Callable[[IO[bytes], bytes], IO[bytes]]
    """Decrypts bytes that are too long for memory into a temporary file."""


PLAIN: Final = Seal(lambda data, _: data, lambda data, _: data, lambda file, _: file)


class SentSegment(NamedTuple):
    """A segment on its way into a bundle."""

    key: StreamKey
    file: FileFacts
    segment: StreamSegment
    source: int
    """Bytes of the file that the stream covers up to the end of the segment."""
    is_end: bool
    before: Head
    """Head of the stream before the segment."""


class DamagedBundleError(BackscrollError):
    """Bytes on a remote that differ from what a device wrote."""

    def __init__(self, what: str) -> None:
        super().__init__(f"an object of the remote is damaged: {what}", "run backscroll sync verify --deep")


class OddFileError(DamagedBundleError):
    """An entry that no machine writes: it costs only itself."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class IndexTooLongError(DamagedBundleError):
    """An index longer than the reader accepts."""

    def __init__(self) -> None:
        super().__init__("its index is too long")


def encode_bundle(
    index: Index, parts: Sequence[SentSegment | Entry], seal: Seal = PLAIN, signer: Signer | None = None
) -> tuple[Index, bytes]:
    """Return a signed bundle of these segments; an entry stands for a segment whose content was removed.

    The other fields are taken from `index`.
    """
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
    return whole, _write(whole, b"".join(frames), seal, signer)


def _entry(part: SentSegment, offset: int, packed: int) -> Entry:
    segment = part.segment
    return Entry(
        stream=part.key.id, number=segment.number, start=segment.start, length=len(segment.data),
        head=segment.head.hash, before=part.before.hash, offset=offset, packed=packed, source=part.source,
        is_end=part.is_end, file=part.file,
    )  # fmt: skip


def without(
    bundle: "Bundle",
    removed: Callable[[Entry], bool],
    seal: Seal = PLAIN,
    signer: Signer | None = None,
    log: str | None = None,
) -> bytes:
    """Return the bundle without the content of some entries.

    Its device signs it again, for its log; without a `signer`, as anywhere else, it loses its signature.
    """
    entries, frames, offset = [], [], 0
    for entry in bundle.index.entries:
        if entry.file is None or removed(entry):
            entries.append(msgspec.structs.replace(entry, offset=0, packed=0, file=None))
            continue
        frame = bundle.frame(entry)
        entries.append(msgspec.structs.replace(entry, offset=offset))
        frames.append(frame)
        offset += len(frame)
    index = msgspec.structs.replace(bundle.index, entries=entries, size=offset)
    if log is not None:
        index = msgspec.structs.replace(index, log=log)
    return _write(index, b"".join(frames), seal, signer)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read. Its segments are read from the object, which must stay open for that."""

    index: Index
    file: IO[bytes]
    begin: int
    """Start of the packed segments in the object."""
    seal: Seal = PLAIN
    plain: bytes = b""
    """The index as it was encoded."""

    @property
    def signer(self) -> str | None:
        """The public key that signed it; None if it is not signed, DamagedBundleError if the signature is wrong."""
        try:
            return signed_by(self.plain)
        except WrongSignatureError as error:
            raise DamagedBundleError(f"bundle {self.index.number}: {error.message}") from error

    def frame(self, entry: Entry) -> bytes:
        """Return the packed bytes of a segment."""
        return read_at(self.file, self.begin + entry.offset, entry.packed)

    def content(self, entry: Entry) -> bytes:
        """Return the bytes of a segment; DamagedBundleError if they do not have its length."""
        return b"".join(self.pieces(entry))

    def pieces(self, entry: Entry) -> Iterator[bytes]:
        """Yield the bytes of a segment, piece by piece; raise at the end at the latest if it has another length."""
        number = self.index.number
        try:
            with closing(self._packed(entry)) as source:
                if zstandard.frame_content_size(source.read(LONGEST_FRAME_HEADER)) != entry.length:
                    raise DamagedBundleError(f"segment {entry.number} has another length than bundle {number} says")
                source.seek(0)
                if entry.length <= LONGEST_SEGMENT:
                    yield zstandard.ZstdDecompressor().decompress(source.read())
                    return
                left = entry.length
                for piece in unpacked(source):
                    left -= len(piece)
                    if left < 0:
                        break
                    yield piece
        except zstandard.ZstdError as error:
            raise DamagedBundleError(f"segment {entry.number} in bundle {number}: {error}") from error
        if left:
            raise DamagedBundleError(f"segment {entry.number} in bundle {number} has another length than it says")

    def check(self, entry: Entry) -> None:
        """Raise if the bytes of a segment are not those that were sent. They are never held in memory as a whole."""
        self.check_after(entry, Head(entry.number, entry.start, entry.before))

    def check_after(self, entry: Entry, before: Head) -> None:
        """Raise if the bytes of a segment are wrong, or the segment does not continue a stream with this head."""
        if before.segments != entry.number or head_after(before, self.pieces(entry)) != entry.after:
            raise self._does_not_follow(entry)

    def segment(self, entry: Entry, before: Head) -> StreamSegment:
        """Return the segment, which must continue a stream with this head; raise if it does not."""
        segment = extend(before, self.content(entry))
        if segment.number != entry.number or segment.head != entry.after:
            raise self._does_not_follow(entry)
        return segment

    def _does_not_follow(self, entry: Entry) -> DamagedBundleError:
        return DamagedBundleError(
            f"segment {entry.number} in bundle {self.index.number} does not follow the one before"
        )

    def _packed(self, entry: Entry) -> IO[bytes]:
        """Return the decrypted frame of a segment."""
        part = cast("IO[bytes]", FramePart(self.file, self.begin + entry.offset, entry.packed))
        about = _about(self.index, entry.stream, entry.number)
        if self.seal is PLAIN or entry.length > LONGEST_SEGMENT:
            return self.seal.open_file(part, about)
        return io.BytesIO(self.seal.open(part.read(), about))


def read_bundles(source: bytes | IO[bytes], seal: Seal = PLAIN, largest_index: int = LARGEST_INDEX) -> Iterator[Bundle]:
    """Yield the bundles in an object, one after another. A file is read where needed, never as a whole."""
    file: IO[bytes] = io.BytesIO(source) if isinstance(source, bytes) else source
    end, at = file.seek(0, io.SEEK_END), 0
    while at < end:
        if read_at(file, at, len(MAGIC)) != MAGIC:
            raise DamagedBundleError("it does not begin like a bundle")
        at += len(MAGIC)
        length = int.from_bytes(read_at(file, at, 4), "big")
        at += 4
        if at + length > end:
            raise DamagedBundleError("it is cut short")
        if length > largest_index:
            raise IndexTooLongError
        index, plain = _read_index(read_at(file, at, length), seal, largest_index)
        at += length
        if at + index.size > end:
            raise DamagedBundleError("it is cut short")
        yield Bundle(index, file, at, seal, plain)
        at += index.size


def file_key(entry: Entry) -> StreamKey:
    """Return the stream of an entry with content; OddFileError if its facts about the file are impossible."""
    from backscroll.archive.catalogue import read_name

    facts = entry.file
    if facts is None:
        raise DamagedBundleError("the content of a segment was removed")
    if problem := problem_of_file(entry, facts):
        raise OddFileError(problem)
    home, path = read_name(facts.home, facts.home_hex), read_name(facts.path, facts.path_hex)
    key = StreamKey(home, path, facts.version, facts.generation)
    if key.id != entry.stream:
        raise OddFileError("another name than its stream")
    return key


def _write(index: Index, frames: bytes, seal: Seal, signer: Signer | None) -> bytes:
    signature, key = (UNSIGNED, signer.public) if signer else ("", "")
    plain = msgspec.json.encode(msgspec.structs.replace(index, signature=signature, key=key))
    if signer:
        plain = sign_index(plain, signer)
    packed = seal.close(zstandard.ZstdCompressor(LEVEL).compress(plain), INDEX)
    return b"".join([MAGIC, len(packed).to_bytes(4, "big"), packed, frames])


def _read_index(packed: bytes, seal: Seal, largest: int) -> tuple[Index, bytes]:
    """Return an index, and the signed bytes that it was read from."""
    try:
        frame = seal.open(packed, INDEX)
        if not 0 <= zstandard.frame_content_size(frame) <= largest:
            raise IndexTooLongError
        plain = zstandard.ZstdDecompressor().decompress(frame)
        if is_heavy(plain):
            raise IndexTooLongError
        index = msgspec.json.decode(plain, type=Index)
    except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedBundleError(f"its index cannot be read ({error})") from error
    problem = problem_of_index(index, FRAME_MARGIN)
    if problem:
        raise DamagedBundleError(f"its index says what cannot be: {problem}")
    return index, plain


def _about(index: Index, stream: str, number: int) -> bytes:
    return f"{index.number} {stream} {number}".encode()


INDEX: Final = b"index"
