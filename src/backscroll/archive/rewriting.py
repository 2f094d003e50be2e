"""Rewrite an archive: to forget files, and to replace damaged chunks.

New packs are written and flushed before a new catalogue replaces the old one; the old packs are deleted last.
"""

import os
from collections.abc import Collection, Iterable

from backscroll.archive.archive import KeptFile
from backscroll.archive.catalogue import BEGINNING, encode
from backscroll.archive.packing import Packed
from backscroll.archive.recovery import BEFORE_REPAIR
from backscroll.archive.snapshot import entries_of
from backscroll.archive.writer import Appender, now
from backscroll.disk import append, sync_folder, write_private
from backscroll.errors import BackscrollError


class Writer(Appender):
    """An archive that is open for writing; a context manager that holds the lock."""

    def forget(self, files: Iterable[KeptFile], keys: Iterable[str]) -> None:
        """Remove these files for good: remove their own chunks from the packs, and never keep them again."""
        if not self.is_complete:
            hint = "see backscroll archive verify; take a backup with restore-backup, or keep it as it is"
            raise BackscrollError("the catalogue is damaged and cannot be rewritten until it is repaired", hint)
        self.commit()
        removed = {file.number for file in files}
        remaining = [file for file in self.files.values() if file.number not in removed]
        wanted = {chunk.id for file in remaining for version in file.versions for chunk in version.chunks}
        touched = {
            chunk.pack for number in removed for version in self.files[number].versions for chunk in version.chunks
        }
        # Copies of lines name these files, and an interrupted writer may have left bytes of them too.
        touched |= self._packs_with_more_than_chunks()
        self._next_pack()
        self.first_pack = self._pack_number
        for chunk in [chunk for chunk in self.chunks.values() if chunk.pack in touched and chunk.id in wanted]:
            with self.pack(chunk.pack).open("rb") as pack:
                packed = os.pread(pack.fileno(), chunk.length, chunk.offset)
            self.chunks[chunk.id] = self._append_to_pack(Packed(chunk.id, packed, chunk.size))
        for number in removed:
            file = self.files.pop(number)
            if self.sources.get(file.key) is file:
                del self.sources[file.key]
        self.chunks = {name: chunk for name, chunk in self.chunks.items() if name in wanted}
        self.forgotten.update(keys)
        for file in remaining:
            for version in file.versions:
                version.chunks = [self.chunks[chunk.id] for chunk in version.chunks]
        self._write_anew()
        for path in (self.folder / BEFORE_REPAIR, *map(self.pack, touched)):
            path.unlink(missing_ok=True)
        sync_folder(self.folder / "packs")

    def replace_chunks(self, sound: Iterable[Packed], still_bad: Collection[str]) -> None:
        """Replace damaged chunks by these and rewrite the catalogue; the old one stays next to it."""
        self.commit()
        for packed in sound:
            self.chunks[packed.id] = self._append_to_pack(packed)
        for file in self.files.values():
            for version in file.versions:
                version.chunks = [self.chunks[chunk.id] for chunk in version.chunks]
            file.is_suspect = any(chunk.id in still_bad for version in file.versions for chunk in version.chunks)
        write_private(self.folder / BEFORE_REPAIR, self.catalogue.read_bytes())
        self._write_anew()
        self.bad_lines = []

    def _write_anew(self) -> None:
        """Replace the catalogue by one of what is kept now."""
        entries = list(entries_of(self, now()))
        lines, last_sum = encode(entries, BEGINNING)
        self._copy(lines, BEGINNING)
        if self._pack is not None:
            os.fsync(self._pack)
        fresh = self.catalogue.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        self._sure_of = (self._pack_number, self._pack_end)
        append(fresh, lines, 0)
        fresh.replace(self.catalogue)
        sync_folder(self.folder)
        self._sum, self._end, self._lines = last_sum, len(lines), len(entries)
        self._header_sum = encode(entries[:1], BEGINNING)[1]
        self._copied = (self._lines, self._end, self._sum)
        self._note_end()

    def _packs_with_more_than_chunks(self) -> set[int]:
        claimed: dict[int, int] = {}
        for chunk in self.chunks.values():
            claimed[chunk.pack] = claimed.get(chunk.pack, 0) + chunk.length
        return {n for n in self.packs_on_disk() if self.pack(n).stat().st_size != claimed.get(n, 0)}
