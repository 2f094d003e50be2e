"""Read chunks from the packs of an archive, each checked against its hash."""

import hashlib
import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

import zstandard

from backscroll.archive.catalogue import Chunk
from backscroll.archive.stamp import disk_state
from backscroll.disk import open_own, read_at
from backscroll.errors import BackscrollError, StorageError, storage_error

CACHED: Final = 4
"""The number of unpacked chunks that a reader caches."""


class Packs:
    """The packs of an archive, and the places of its chunks in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks: dict[str, Chunk] = {}
        self.first_pack = 1
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cache_lock = threading.Lock()
        self._current: tuple[object, Packs] | None = None

    def pack(self, number: int) -> Path:
        """Return the path of a pack, a file with chunks in it."""
        return self.folder / "packs" / f"{number:06}.pack"

    def packs_on_disk(self) -> list[int]:
        """Return the numbers of all packs on disk."""
        pack_files = (self.folder / "packs").glob("*.pack")
        return sorted(int(path.stem) for path in pack_files if path.stem.isdecimal())

    def chunk_bytes(self, chunk: Chunk) -> bytes:
        """Return the bytes of a chunk; an error if they differ from the source."""
        with self._cache_lock:
            if chunk.id in self._cache:
                self._cache.move_to_end(chunk.id)
                return self._cache[chunk.id]
        data = self.unpack(chunk)
        with self._cache_lock:
            self._cache[chunk.id] = data
            if len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return data

    def unpack(self, chunk: Chunk) -> bytes:
        """Read a chunk from its pack and check its hash."""
        if not self._is_there(chunk.pack):
            # A `forget` may have run since the catalogue was read: the chunk has then moved, or is gone.
            now = self._as_it_is_now()
            if chunk.id not in now.chunks and now.first_pack > chunk.pack:
                raise ForgottenError("this was forgotten", "it was removed on request; there is nothing to do")
            chunk = now.chunks.get(chunk.id, chunk)
        packed = self.read_packed(chunk)
        try:
            # The size is known: a frame that claims another one is not ours, and could unpack to anything.
            if zstandard.frame_content_size(packed) != chunk.size:
                raise DamagedError(chunk, "the bytes are not those that were kept")
            data = zstandard.ZstdDecompressor().decompress(packed)
        except zstandard.ZstdError as error:
            raise DamagedError(chunk, str(error)) from error
        if len(data) != chunk.size or hashlib.sha256(data).hexdigest() != chunk.id:
            raise DamagedError(chunk, "the bytes are not those that were kept")
        return data

    def is_sound(self, chunk: Chunk) -> bool:
        """Whether the chunk can be read and has its hash."""
        try:
            self.unpack(chunk)
        except (DamagedError, StorageError):
            return False
        return True

    def read_packed(self, chunk: Chunk) -> bytes:
        """Return the frame of a chunk from its pack, unchecked.

        A missing pack is damage. A pack that the system fails to read is not: StorageError has the reason.
        """
        try:
            with open_own(self.pack(chunk.pack)) as file:
                length = min(chunk.length, os.fstat(file.fileno()).st_size)  # a line may have any number
                return read_at(file.fileno(), chunk.offset, length)
        except FileNotFoundError as error:
            raise DamagedError(chunk, str(error)) from error
        except OSError as error:
            raise storage_error(error, f"pack {chunk.pack} could not be read") from error

    def _is_there(self, pack: int) -> bool:
        try:
            self.pack(pack).stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise storage_error(error, f"pack {pack} could not be read") from error
        return True

    def _as_it_is_now(self) -> "Packs":
        """Return the packs by the current catalogue, which is read only if it was written since the last time."""
        state = disk_state(self.folder)
        with self._cache_lock:
            if self._current is None or self._current[0] != state:
                self._current = (state, self._read_again())
            return self._current[1]

    def _read_again(self) -> "Packs":
        """Read the catalogue again."""
        raise NotImplementedError


class ForgottenError(BackscrollError):
    """The file was forgotten meanwhile."""


class DamagedError(BackscrollError):
    """Stored bytes differ from what was written."""

    def __init__(self, chunk: Chunk, reason: str) -> None:
        message = f"pack {chunk.pack} is damaged at byte {chunk.offset}: {reason}"
        super().__init__(message, "run backscroll archive verify to see what that affects")
        self.chunk = chunk
