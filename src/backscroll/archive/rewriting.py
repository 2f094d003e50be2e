"""Rewrite an archive: to forget files, and to replace damaged chunks.

New packs are written and flushed before a new catalogue replaces the old one; the old packs are deleted last.
"""

import os
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import BEGINNING, encode
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.packing import Packed, in_chunks, pack
from backscroll.archive.recovery import BEFORE_REPAIR
from backscroll.archive.snapshot import entries_of, relation_of
from backscroll.archive.stamp import stamp_of
from backscroll.archive.writer import Appender, now
from backscroll.disk import append, open_own, read_at, read_whole, sync_folder, temporary_folder, write_private
from backscroll.errors import BackscrollError
from backscroll.files.layout import FileKind


class ReplacedVersion(NamedTuple):
    """A version whose bytes are removed: a later one of the file takes its place, or none does."""

    file: KeptFile
    old: Version
    new: Version | None = None


Rewrite = Callable[[KeptFile, Version], Iterable[bytes] | None]
"""Return the new bytes of a version, in pieces; None to keep it as it is."""


class Writer(Appender):
    """An archive that is open for writing; a context manager that holds the lock."""

    def __init__(self, folder: Path, *, accepts_loss: bool = False) -> None:
        """Take the lock; merge files that earlier versions wrote at one path into one."""
        super().__init__(folder, accepts_loss=accepts_loss)
        try:
            if self.is_complete:
                self._mend_files()
        except BaseException:
            self.close()
            raise

    def _mend_files(self) -> None:
        """Leave one file for each path, and relate each version to the one before."""
        has_united = self._make_one()
        related = [
            (file, version)
            for file in self.files.values()
            for version in file.versions[1:]
            if version.size and version.is_unrelated is None and self._relate(file, version)
        ]
        if has_united:
            self.commit()
            write_private(self.folder / BEFORE_REPAIR, read_whole(self.catalogue))
            self._write_anew()
            return
        for file, version in related:
            gone_since = file.gone_since
            self._write(relation_of(file, version))
            if gone_since is not None:
                self.gone(file, gone_since)

    def _make_one(self) -> bool:
        """Merge the files at one path into one, in memory; return whether there were any."""
        if not self._others:
            return False
        Archive._unite(self)
        return True

    def forget(
        self,
        files: Iterable[KeptFile],
        keys: Iterable[str],
        replaced: Sequence[ReplacedVersion] = (),
        rewrite: Rewrite = lambda _, __: None,
    ) -> None:
        """Remove these files for good: remove their own chunks from the packs, and never keep them again.

        A kept database loses the sessions in it that have one of these keys. Versions in `replaced` are removed, too,
        as are the bytes that `rewrite` replaces.
        """
        if not self.is_complete:
            hint = "see backscroll archive verify; take a backup with restore-backup, or keep it as it is"
            raise BackscrollError("the catalogue is damaged and cannot be rewritten until it is repaired", hint)
        self.commit()
        self.forgotten.update(keys)
        removed = {file.number for file in files}
        remaining = [file for file in self.files.values() if file.number not in removed]
        versions = [version for number in removed for version in self.files[number].versions]
        versions += [replaced_version.old for replaced_version in replaced]
        touched = {chunk.pack for version in versions for chunk in version.chunks}
        for replaced_version in replaced:
            _replace(replaced_version)
        # Copies of lines name these files, and an interrupted writer may have left bytes of them too.
        touched |= self._packs_with_more_than_chunks()
        self._next_pack()
        self.first_pack = self._pack_number
        touched |= self._rewrite_databases(remaining)
        touched |= self._rewrite_versions(remaining, rewrite)
        wanted = {chunk.id for file in remaining for version in file.versions for chunk in version.chunks}
        for chunk in [chunk for chunk in self.chunks.values() if chunk.pack in touched and chunk.id in wanted]:
            with open_own(self.pack(chunk.pack)) as pack:
                packed = read_at(pack.fileno(), chunk.offset, chunk.length)
            self.chunks[chunk.id] = self._append_to_pack(Packed(chunk.id, packed, chunk.size))
        for number in removed:
            file = self.files.pop(number)
            if self.sources.get(file.key) is file:
                del self.sources[file.key]
        self.chunks = {name: chunk for name, chunk in self.chunks.items() if name in wanted}
        for file in remaining:
            for version in file.versions:
                version.chunks = [self.chunks[chunk.id] for chunk in version.chunks]
        self._write_anew()
        for path in (self.folder / BEFORE_REPAIR, *map(self.pack, touched)):
            path.unlink(missing_ok=True)
        sync_folder(self.folder / "packs")

    def _rewrite_databases(self, files: Iterable[KeptFile]) -> set[int]:
        """Remove forgotten sessions from the databases among these files; return the packs that had them."""
        databases = [file for file in files if file.type == FileKind.DATABASE and file.versions]
        if not databases:
            return set()
        from backscroll.archive.early import without_forgotten

        touched: set[int] = set()
        with temporary_folder() as folder:
            for file in databases:
                paths = without_forgotten(self, file, folder)
                if paths is not None:
                    touched |= {chunk.pack for version in file.versions for chunk in version.chunks}
                    self._replace_versions(file, [path.read_bytes() for path in paths])
        return touched

    def _rewrite_versions(self, files: Iterable[KeptFile], rewrite: Rewrite) -> set[int]:
        """Replace the bytes of versions; return the packs that had them."""
        touched: set[int] = set()
        for file in files:
            for version in file.versions:
                pieces = rewrite(file, version)
                if pieces is not None:
                    touched |= {chunk.pack for chunk in version.chunks}
                    version.chunks, checksum = [], 0
                    for piece in in_chunks(pieces):
                        version.chunks.append(self._put(pack(piece)))
                        checksum = zlib.crc32(piece, checksum)
                    version.size = sum(chunk.size for chunk in version.chunks)
                    if file.bookmark is not None and version is file.latest:
                        file.bookmark = file.bookmark._replace(offset=version.size, head=0, edge=0, whole=checksum)
        return touched

    def _replace_versions(self, file: KeptFile, contents: Sequence[bytes]) -> None:
        for version, data in zip(file.versions, contents, strict=True):
            version.chunks = [self._put(pack(piece)) for piece in in_chunks([data])]
            version.size = len(data)
        if file.bookmark is not None:
            file.bookmark = file.bookmark._replace(offset=len(contents[-1]), whole=zlib.crc32(contents[-1]))

    def replace_chunks(self, sound: Iterable[Packed], still_bad: Collection[str]) -> None:
        """Replace damaged chunks by these and rewrite the catalogue; the old one stays next to it."""
        self.commit()
        self._make_one()
        for packed in sound:
            self.chunks[packed.id] = self._append_to_pack(packed)
        for file in self.files.values():
            for version in file.versions:
                version.chunks = [self.chunks[chunk.id] for chunk in version.chunks]
            file.is_marked = any(chunk.id in still_bad for version in file.versions for chunk in version.chunks)
            file.has_gap = False
        write_private(self.folder / BEFORE_REPAIR, read_whole(self.catalogue))
        self._write_anew()
        self.bad_lines = []

    def _write_anew(self) -> None:
        """Replace the catalogue by one of the files that are kept now."""
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
        self.stamp = stamp_of(self.folder)
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


def _replace(one: ReplacedVersion) -> None:
    """Empty a replaced version; only its number remains, and not even that for the last one."""
    old, new = one.old, one.new
    old.chunks, old.size = [], 0
    if new is not None:
        old.chunks, old.size, old.modified_ns = new.chunks, new.size, new.modified_ns
        new.chunks, new.size = [], 0
        if one.file.latest is new:
            one.file.versions.pop()
            if one.file.latest is not old:
                one.file.bookmark = None  # it is about the content that is in `old` now
