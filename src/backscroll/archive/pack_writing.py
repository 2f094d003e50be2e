"""Append chunks to the packs of an archive."""

import contextlib
import os
from pathlib import Path
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import Chunk
from backscroll.archive.packing import Packed
from backscroll.disk import open_private, sync_folder, write_all

PACK_SIZE: Final = 512 * 1024 * 1024


class PackWriter(Archive):
    """An archive whose packs are written."""

    def __init__(self, folder: Path) -> None:
        self._pack_number = 1
        self._pack: int | None = None
        self._pack_end = self._opened_at = 0
        self._sure_of = (1, 0)
        """The last pack, and the end of the bytes in it that the catalogue may name."""
        self._pending_bytes = 0
        super().__init__(folder)

    def put(self, packed: Packed) -> tuple[Chunk, int]:
        """Write a chunk that is already packed and checked; return its place and the number of bytes written."""
        before = self._pack_number, self._pack_end
        chunk = self._put(packed)
        return chunk, len(packed.data) if before != (self._pack_number, self._pack_end) else 0

    def _put(self, packed: Packed) -> Chunk:
        known = self.chunks.get(packed.id)
        if known is not None and (self._is_new(known) or self.is_sound(known)):
            return known  # the same bytes are already kept
        chunk = self._append_to_pack(packed)
        self.chunks[chunk.id] = chunk
        self._pending_bytes += packed.size
        return chunk

    def _is_new(self, chunk: Chunk) -> bool:
        """Whether the chunk was just written; it is not read again."""
        return chunk.pack == self._pack_number and chunk.offset >= self._opened_at

    def _append_to_pack(self, packed: Packed) -> Chunk:
        offset = self._write_to_pack(packed.data)
        return Chunk(packed.id, self._pack_number, offset, len(packed.data), packed.size)

    def _write_to_pack(self, data: bytes) -> int:
        """Append to the pack; return the offset."""
        if self._pack is None or self._pack_end >= PACK_SIZE:
            self._open_pack()
        assert self._pack is not None  # noqa: S101
        # A failed write may still have moved the position.
        os.lseek(self._pack, self._pack_end, os.SEEK_SET)
        write_all(self._pack, data)
        self._pack_end += len(data)
        return self._pack_end - len(data)

    def _open_pack(self) -> None:
        if self._pack is not None or self._pack_end >= PACK_SIZE:
            self._next_pack()
        path = self.pack(self._pack_number)
        is_new = not path.exists()
        self._pack = open_private(path, os.O_WRONLY | os.O_CREAT)
        os.lseek(self._pack, self._pack_end, os.SEEK_SET)
        if is_new:
            sync_folder(path.parent)

    def _next_pack(self) -> None:
        """Start a new pack with the next chunk."""
        if self._pack is not None:
            os.fsync(self._pack)
            os.close(self._pack)
            self._pack = None
        self._pack_number = max([self._pack_number, *self.packs_on_disk()]) + 1
        self._pack_end = self._opened_at = 0

    def _close_pack(self) -> None:
        if self._pack is None:
            return
        number, end = self._sure_of
        end = end if number == self._pack_number else 0
        try:
            # Bytes that the catalogue does not name yet are useless, and take up room for the next attempt.
            if os.fstat(self._pack).st_size > end:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._pack, end)
        finally:
            os.close(self._pack)
            self._pack = None
