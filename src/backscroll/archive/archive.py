"""Read an archive. Readers never wait and never change anything."""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from copy import copy
from pathlib import Path
from sys import intern

from backscroll.archive.catalogue import (
    BEGINNING,
    FORMAT,
    AddedBytes,
    BadLine,
    CaptureEnd,
    CatalogueEntry,
    Forgotten,
    Gone,
    Header,
    ImpossibleLine,
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
from backscroll.archive.one_file import in_one
from backscroll.archive.packs import Packs
from backscroll.archive.plausible import bookmark_in, is_plausible
from backscroll.archive.stamp import CATALOGUE, text_of
from backscroll.disk import TO_THE_END, open_own, read_at
from backscroll.errors import BackscrollError, NewerVersion
from backscroll.files.source_key import SourceKey
from backscroll.files.times import storable_time


class Archive(Packs):
    """The content of an archive."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.files: dict[int, KeptFile] = {}
        self.sources: dict[SourceKey, KeptFile] = {}
        """The files by their keys."""
        self.united: list[KeptFile] = []
        """Files that the catalogue has several times at one path, as earlier versions wrote it."""
        self._others: dict[SourceKey, list[KeptFile]] = {}
        """Files whose path was taken by another one since."""
        self.has_header = False
        self.forgotten: set[str] = set()
        self.machines: set[str] = set()
        """The names of all machines with kept files."""
        self.captured: dict[tuple[str, str], str] = {}
        """The time of the last complete capture of each home, by machine and home."""
        self.verified: VerificationEnd | None = None
        self.bad_lines: list[BadLine] = []
        self.odd_lines: list[int] = []
        """Intact lines with content that no file can have; they are left out."""
        self.lost_end: str | None = None
        """The reason why the end of the catalogue counts as lost; None if it does not."""
        self.stamp = ""
        """The stamp of the catalogue when it was last read or written, by `stamp_of`: new content changes it."""
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
        see `is_forgotten`.
        """
        return self.has_header and not self.bad_lines and self.lost_end is None

    @property
    def homes(self) -> set[tuple[str, str]]:
        """The homes with kept files, each with its machine."""
        return {(file.machine, file.home) for file in self.files.values()}

    def is_forgotten(self, home: str, path: str, machine: str = "") -> bool:
        """Whether the user removed this file, or its session, from the archive.

        It must not be kept or shown again, even if the machine was renamed or the file moved within its home. A file
        that is merely not in the archive is not forgotten.
        """
        return is_forgotten(self.forgotten, self.machines, machine, home, path)

    def read(self, version: Version, start: int, end: int) -> bytes:
        """Return some bytes of a version, without unpacking the others."""
        _demand_whole(version)
        parts = []
        ends = version.ends
        number = bisect_right(ends, start)
        at = ends[number - 1] if number else 0
        while number < len(ends) and at < end:
            parts.append(self.chunk_bytes(version.chunks[number])[max(0, start - at) : end - at])
            at = ends[number]
            number += 1
        return b"".join(parts)

    def content(self, version: Version) -> Iterator[bytes]:
        """Return all bytes of a version, chunk by chunk."""
        _demand_whole(version)
        return map(self.chunk_bytes, version.chunks)

    def _read_again(self) -> Packs:
        return Archive(self.folder)

    def _load(self) -> None:
        note = self._note = read_note(self.folder)  # before the catalogue, which may grow meanwhile
        try:
            with open_own(self.catalogue) as file:
                self.stamp = text_of(os.fstat(file.fileno()))  # before the bytes, which may become more
                data = read_at(file.fileno(), 0, TO_THE_END)
        except FileNotFoundError:
            self.stamp, data = "", b""
        self._sum, self._header_sum = BEGINNING, ""
        self._end = self._lines = 0
        self._copied = (0, 0, BEGINNING)
        """The lines that have a copy in the packs: their number, their end, and the checksum of the last."""
        self._take_lines(data, note)
        if note and self.has_header and note.header != self._header_sum:
            note = self._note = self.lost_end = None  # the note is about the catalogue before a forgetting
            self._copied = (0, 0, BEGINNING)
        if note is None:
            self._look_into_packs()
        elif self._lines < note.lines:
            self.lost_end = f"the catalogue has {self._lines} lines, and {note.lines} were written"
        self._unite()

    def _unite(self) -> None:
        """Make one file of those that the catalogue has at one path: no path has two kept files."""
        for key, others in self._others.items():
            last = self.sources[key]
            for file in others:
                del self.files[file.number]
            self.files[last.number] = self.sources[key] = in_one([*others, last])
            self.united.append(self.sources[key])
        self._others = {}

    def _take_lines(self, data: bytes, note: EndNote | None) -> None:
        """Apply the lines that follow those read so far."""
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
            elif isinstance(line.entry, ImpossibleLine):
                self.has_header = self.has_header or line.entry.is_header
                self._leave_out(line.entry.files)
            else:
                self._apply(line.entry)
        self._needs_newline = self._end > 0 and data[self._end - start - 1 : self._end - start] != b"\n"

    def grown(self) -> "Archive | None":
        """Return the archive as it is now, if lines were only added since this one was read; otherwise None.

        Only the new lines are read, and both share everything that they do not change: readers that look at a growing
        archive again and again neither read nor hold the whole catalogue each time. This one stays as it is.
        """
        note = read_note(self.folder)
        if note is None or not self.is_complete or note.header != self._header_sum or self.united:
            return None
        ending = last_bytes(self._sum)
        try:
            with open_own(self.catalogue) as file:
                stamp = text_of(os.fstat(file.fileno()))
                data = read_at(file.fileno(), self._end - len(ending), TO_THE_END)
        except OSError:
            return None
        if len(data) <= len(ending) or not data.startswith(ending):
            return None  # it was replaced, or has not grown
        now = copy(self)
        now.stamp = stamp
        now.files, now.sources, now.chunks = dict(self.files), dict(self.sources), dict(self.chunks)
        now.forgotten, now.machines, now.captured = set(self.forgotten), set(self.machines), dict(self.captured)
        now.bad_lines, now._own, now._note = [], set(), note
        now.odd_lines, now._others = list(self.odd_lines), {}
        now._take_lines(data[len(ending) :], note)
        return now if now.is_complete and now._lines >= note.lines and not now._others else None

    def _writable(self, number: int) -> KeptFile:
        """Return a file that lines may change: a copy of it, if another archive shares it."""
        file = self.files[number]
        if self._own is not None and number not in self._own:
            self._own.add(number)
            shared, file = file, file.copy()
            self.files[number] = file
            if self.sources.get(file.key) is shared:
                self.sources[file.key] = file
        return file

    def _look_into_packs(self) -> None:
        """Without the note, look for lines that only the packs have: they show that the catalogue has lost its end."""
        more = sum(map(len, continuation(list(copies_in(self, gaps(self))), self._sum)))
        if more and read_note(self.folder) is None:  # otherwise a writer has started since we looked for the note
            self.lost_end = f"the packs have {more} more lines than the catalogue"

    def _apply(self, entry: CatalogueEntry) -> None:
        """Apply a line of the catalogue."""
        if not is_plausible(entry):
            self.has_header = self.has_header or isinstance(entry, Header)
            self._leave_out([entry.file] if isinstance(entry, AddedBytes) else [])
        elif isinstance(entry, Header):
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
            self._arrive(file)
        elif isinstance(entry, Forgotten):
            self.forgotten.add(entry.key)
        elif isinstance(entry, CaptureEnd):
            self.machines.add(entry.machine)
            self.captured[(entry.machine, read_name(entry.home, entry.home_hex))] = entry.at
        elif isinstance(entry, VerificationEnd):
            self.verified = entry
        elif isinstance(entry, (AddedBytes, Moved, Gone, Suspect)) and entry.file in self.files:
            self._apply_to_file(entry, self._writable(entry.file))

    def _arrive(self, file: KeptFile) -> None:
        """Put the file at its path, also if another one is kept there."""
        other = self.sources.get(file.key)
        if other is not None:
            self._others.setdefault(file.key, []).append(other)
        self.sources[file.key] = file

    def _leave(self, file: KeptFile) -> None:
        """Remove the file from its path, and restore the file that was kept there before, if there is one."""
        others = self._others.get(file.key, [])
        if self.sources.get(file.key) is not file:
            others.remove(file)
        elif others:
            self.sources[file.key] = others.pop()
        else:
            del self.sources[file.key]
        if not others:
            self._others.pop(file.key, None)

    def _leave_out(self, files: Iterable[int]) -> None:
        """Record a line with content that no file can have, and the files that have a gap because of it."""
        self.odd_lines.append(self._lines)
        for number in files:
            if number in self.files:
                self._writable(number).has_gap = True

    def _apply_to_file(self, entry: AddedBytes | Moved | Gone | Suspect, file: KeptFile) -> None:
        if isinstance(entry, Moved):
            self._leave(file)
            file.path = read_name(entry.path, entry.path_hex)
            self._arrive(file)
        elif isinstance(entry, Gone):
            file.gone_since = entry.at
        elif isinstance(entry, Suspect):
            file.is_marked = not entry.withdrawn
        else:
            while len(file.versions) <= entry.version:
                file.versions.append(Version(len(file.versions) + 1, intern(entry.at)))
                file.is_marked = file.has_gap = False
            version = file.versions[entry.version]
            self.chunks.update((chunk.id, chunk) for chunk in entry.chunks)
            if version.size + sum(chunk.size for chunk in entry.chunks) != entry.size:
                file.has_gap = True  # an earlier line is lost, or this one is doubled
                return
            version.chunks.extend(entry.chunks)
            version.size = entry.size
            version.modified_ns = storable_time(entry.modified_ns)
            if entry.unrelated is not None:
                version.is_unrelated = entry.unrelated
            file.bookmark = bookmark_in(entry)
            file.gone_since = None


def _demand_whole(version: Version) -> None:
    if not version.is_whole:
        hint = "run backscroll archive verify to see what that affects"
        raise BackscrollError("a line of the catalogue is lost, and with it the place of some bytes", hint)
