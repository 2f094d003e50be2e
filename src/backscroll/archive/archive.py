"""Read an archive. Readers never wait and never change anything."""

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from sys import intern
from typing import Final

import zstandard

from backscroll.archive.catalogue import (
    BEGINNING,
    FORMAT,
    AddedBytes,
    BadLine,
    CaptureEnd,
    CatalogueEntry,
    Chunk,
    Forgotten,
    Gone,
    Header,
    Moved,
    NewFile,
    Suspect,
    VerificationEnd,
    decode,
    last_bytes,
    read_name,
)
from backscroll.archive.end_note import EndNote, read_note
from backscroll.archive.forgetting import is_forgotten
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.line_copies import continuation, copies_in, gaps
from backscroll.archive.stamp import CATALOGUE
from backscroll.errors import BackscrollError, NewerVersion, StorageError, storage_error
from backscroll.files.reading import Bookmark
from backscroll.files.source_key import SourceKey

CACHED: Final = 4
"""How many unpacked chunks a reader caches."""


class Archive:
    """Everything kept in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[int, KeptFile] = {}
        self.sources: dict[SourceKey, KeptFile] = {}
        """The files by what identifies them."""
        self.chunks: dict[str, Chunk] = {}
        self.first_pack = 1
        self.has_header = False
        self.forgotten: set[str] = set()
        self.machines: set[str] = set()
        """The names of all machines with kept files."""
        self.captured: dict[tuple[str, str], str] = {}
        """When each home was last captured completely, by machine and home."""
        self.verified: VerificationEnd | None = None
        self.bad_lines: list[BadLine] = []
        self.lost_end: str | None = None
        """Why the end of the catalogue counts as lost; None if it does not."""
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cache_lock = threading.Lock()
        self._own: set[int] | None = None
        """The files that no other archive shares; None if it shares none."""
        self._load()

    @property
    def catalogue(self) -> Path:
        """The file that lists what is kept."""
        return self.folder / CATALOGUE

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept here."""
        return self.catalogue.exists()

    @property
    def last_sum(self) -> str:
        """The checksum of the last line of the catalogue."""
        return self._sum

    @property
    def copied_sum(self) -> str:
        """The checksum of the last line that has a copy in the packs."""
        return self._copied[2]

    @property
    def note(self) -> EndNote | None:
        """The note about the end of the catalogue, if it belongs to this catalogue."""
        return self._note

    @property
    def is_complete(self) -> bool:
        """Whether the catalogue is complete: every line is intact, and its end is there.

        Only then does a missing file mean that it was not kept. A missing file never means that the user forgot it:
        only `is_forgotten` says so.
        """
        return self.has_header and not self.bad_lines and self.lost_end is None

    def is_forgotten(self, home: str, path: str, machine: str = "") -> bool:
        """Whether the user removed this file, or its session, from the archive.

        It must not be kept or shown again, even if the machine was renamed or the file moved within its home. A file
        that is merely not in the archive is not forgotten.
        """
        return is_forgotten(self.forgotten, self.machines, machine, home, path)

    def pack(self, number: int) -> Path:
        """A file with chunks in it."""
        return self.folder / "packs" / f"{number:06}.pack"

    def packs_on_disk(self) -> list[int]:
        """The numbers of all packs on disk."""
        found = (self.folder / "packs").glob("*.pack")
        return sorted(int(path.stem) for path in found if path.stem.isdecimal())

    def chunk_bytes(self, chunk: Chunk) -> bytes:
        """The bytes of a chunk; an error if they differ from the source."""
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
            # A `forget` may have run since we read the catalogue: the chunk has then moved, or is gone.
            now = Archive(self.folder)
            if chunk.id not in now.chunks and now.first_pack > chunk.pack:
                raise ForgottenError("this was forgotten", "it was removed on request; there is nothing to do")
            chunk = now.chunks.get(chunk.id, chunk)
        packed = self.read_packed(chunk)
        try:
            # The size is known: a frame that claims another is not ours, and could unpack to anything.
            if zstandard.frame_content_size(packed) != chunk.size:
                raise DamagedError(chunk, "the bytes are not those that were kept")
            data = zstandard.ZstdDecompressor().decompress(packed)
        except zstandard.ZstdError as error:
            raise DamagedError(chunk, str(error)) from error
        if len(data) != chunk.size or hashlib.sha256(data).hexdigest() != chunk.id:
            raise DamagedError(chunk, "the bytes are not those that were kept")
        return data

    def is_sound(self, chunk: Chunk) -> bool:
        """Whether it can be read and has its hash."""
        try:
            self.unpack(chunk)
        except (DamagedError, StorageError):
            return False
        return True

    def read_packed(self, chunk: Chunk) -> bytes:
        """The frame of a chunk from its pack, unchecked.

        A missing pack is damage. A pack that the system fails to read is not: StorageError says why.
        """
        try:
            with self.pack(chunk.pack).open("rb") as file:
                return os.pread(file.fileno(), chunk.length, chunk.offset)
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

    def read(self, version: Version, start: int, end: int) -> bytes:
        """Some bytes of a version, without unpacking the others."""
        _demand_whole(version)
        parts = []
        at = 0
        for chunk in version.chunks:
            if at >= end:
                break
            if at + chunk.size > start:
                parts.append(self.chunk_bytes(chunk)[max(0, start - at) : end - at])
            at += chunk.size
        return b"".join(parts)

    def content(self, version: Version) -> Iterator[bytes]:
        """All bytes of a version, chunk by chunk."""
        _demand_whole(version)
        return map(self.chunk_bytes, version.chunks)

    def _load(self) -> None:
        note = self._note = read_note(self.folder)  # before the catalogue, which may grow while we read
        try:
            data = self.catalogue.read_bytes()
        except FileNotFoundError:
            data = b""
        self._sum, self._header_sum = BEGINNING, ""
        self._end = self._lines = 0
        self._copied = (0, 0, BEGINNING)
        """The lines that have a copy in the packs: how many, where they end, and the checksum of the last."""
        self._take_lines(data, note)
        if note and self.has_header and note.header != self._header_sum:
            note = self._note = self.lost_end = None  # the note is about the catalogue before a forgetting
            self._copied = (0, 0, BEGINNING)
        if note is None:
            self._look_into_packs()
        elif self._lines < note.lines:
            self.lost_end = f"the catalogue has {self._lines} lines, and {note.lines} were written"

    def _take_lines(self, data: bytes, note: EndNote | None) -> None:
        """Apply the lines that follow those that were read."""
        start = self._end
        for line in decode(data, self._sum, self._lines + 1):
            self._lines += 1
            self._end = start + line.end
            self._sum = line.sum
            if self._lines == 1:
                self._header_sum = line.sum
            if note and self._lines == note.copied:
                self._copied = (self._lines, self._end, self._sum)
            if note and self._lines == note.lines and line.sum != note.sum and not isinstance(line.entry, BadLine):
                self.lost_end = f"line {note.lines} of the catalogue is another than was written"
            if isinstance(line.entry, BadLine):
                self.bad_lines.append(line.entry)
                if line.entry.is_intact and line.entry.entry is not None:
                    self._apply(line.entry.entry)
            else:
                self._apply(line.entry)
        self._needs_newline = self._end > 0 and data[self._end - start - 1 : self._end - start] != b"\n"

    def grown(self) -> "Archive | None":
        """The archive as it is now, if lines were only added since this one was read; otherwise None.

        The new lines alone are read, and both share everything that they do not change: readers that look at a growing
        archive again and again neither read nor hold the whole catalogue each time. This one stays as it is.
        """
        note = read_note(self.folder)
        if note is None or not self.is_complete or note.header != self._header_sum:
            return None
        ending = last_bytes(self._sum)
        try:
            with self.catalogue.open("rb") as file:
                file.seek(self._end - len(ending))
                data = file.read()
        except OSError:
            return None
        if len(data) <= len(ending) or not data.startswith(ending):
            return None  # it was replaced, or has not grown
        now = copy(self)
        now.files, now.sources, now.chunks = dict(self.files), dict(self.sources), dict(self.chunks)
        now.forgotten, now.machines, now.captured = set(self.forgotten), set(self.machines), dict(self.captured)
        now.bad_lines, now._own, now._note = [], set(), note
        now._take_lines(data[len(ending) :], note)
        return now if now.is_complete and now._lines >= note.lines else None

    def _writable(self, number: int) -> KeptFile:
        """A file that lines may change: a copy of it, if another archive shares it."""
        file = self.files[number]
        if self._own is not None and number not in self._own:
            self._own.add(number)
            shared, file = file, file.copy()
            self.files[number] = file
            if self.sources.get(file.key) is shared:
                self.sources[file.key] = file
        return file

    def _look_into_packs(self) -> None:
        """Without the note, lines that are only in the packs show that the catalogue has lost its end."""
        more = sum(map(len, continuation(list(copies_in(self, gaps(self))), self._sum)))
        if more and read_note(self.folder) is None:  # otherwise a writer has started since we looked for the note
            self.lost_end = f"the packs have {more} more lines than the catalogue"

    def _apply(self, entry: CatalogueEntry) -> None:
        """Apply a line of the catalogue."""
        if isinstance(entry, Header):
            if entry.format > FORMAT:
                hint = "use a newer version of backscroll with this library"
                raise NewerVersion(f"the archive has format {entry.format}, and this version knows {FORMAT}", hint)
            self.first_pack = entry.first_pack
            self.has_header = True
        elif isinstance(entry, NewFile):
            # Thousands of files share these three: one copy of each is enough.
            machine, home, kind = map(intern, (entry.machine, read_name(entry.home, entry.home_hex), str(entry.type)))
            file = KeptFile(entry.file, machine, home, read_name(entry.path, entry.path_hex), kind)
            self.files[entry.file] = file
            if self._own is not None:
                self._own.add(entry.file)
            self.machines.add(file.machine)
            self.sources[file.key] = file
        elif isinstance(entry, Forgotten):
            self.forgotten.add(entry.key)
        elif isinstance(entry, CaptureEnd):
            self.machines.add(entry.machine)
            self.captured[(entry.machine, read_name(entry.home, entry.home_hex))] = entry.at
        elif isinstance(entry, VerificationEnd):
            self.verified = entry
        elif isinstance(entry, (AddedBytes, Moved, Gone, Suspect)) and entry.file in self.files:
            self._apply_to_file(entry, self._writable(entry.file))

    def _apply_to_file(self, entry: AddedBytes | Moved | Gone | Suspect, file: KeptFile) -> None:
        if isinstance(entry, Moved):
            if self.sources.get(file.key) is file:
                del self.sources[file.key]
            file.path = read_name(entry.path, entry.path_hex)
            self.sources[file.key] = file
        elif isinstance(entry, Gone):
            file.gone_since = entry.at
        elif isinstance(entry, Suspect):
            file.is_suspect = True
        else:
            while len(file.versions) <= entry.version:
                file.versions.append(Version(len(file.versions) + 1, intern(entry.at)))
                file.is_suspect = False
            version = file.versions[entry.version]
            self.chunks.update((chunk.id, chunk) for chunk in entry.chunks)
            if version.size + sum(chunk.size for chunk in entry.chunks) != entry.size:
                file.is_suspect = True  # an earlier line is lost, or this one is doubled
                return
            version.chunks.extend(entry.chunks)
            version.size = entry.size
            version.modified_ns = entry.modified_ns
            file.bookmark = Bookmark(*entry.bookmark) if len(entry.bookmark) == len(Bookmark._fields) else None
            file.gone_since = None


def _demand_whole(version: Version) -> None:
    if not version.is_whole:
        hint = "run backscroll archive verify to see what that affects"
        raise BackscrollError("a line of the catalogue is lost, and with it the place of some bytes", hint)


class ForgottenError(BackscrollError):
    """The file was forgotten meanwhile."""


class DamagedError(BackscrollError):
    """Stored bytes differ from what was written."""

    def __init__(self, chunk: Chunk, reason: str) -> None:
        message = f"pack {chunk.pack} is damaged at byte {chunk.offset}: {reason}"
        super().__init__(message, "run backscroll archive verify to see what that affects")
        self.chunk = chunk
