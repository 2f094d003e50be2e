"""Cut bytes into chunks, name them by their hash and pack them."""

import hashlib
import threading
from collections.abc import Iterable
from typing import Final, NamedTuple

import zstandard

CHUNK: Final = 4 * 1024 * 1024
LEVEL: Final = 3


class Packed(NamedTuple):
    """A chunk: the hash of its bytes, the compressed bytes, and their unpacked size."""

    id: str
    data: bytes
    size: int


def pack(data: bytes) -> Packed:
    """Hash and compress a chunk. Both release the GIL, so several chunks are packed at once."""
    if not hasattr(OWN, "compressor"):
        OWN.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=True)
    return Packed(hashlib.sha256(data).hexdigest(), OWN.compressor.compress(data), len(data))


def in_chunks(pieces: Iterable[bytes], least: int | None = None) -> Iterable[bytes]:
    """Yield the bytes in larger pieces: of the usual size of a chunk, or of at least `least` bytes, except the last."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= (CHUNK if least is None else least):
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


OWN: Final = threading.local()
"""One compressor per thread: it cannot be shared, and one per chunk would cost time."""
