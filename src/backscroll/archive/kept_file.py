"""A kept file and its versions, as the catalogue lists them."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from backscroll.archive.catalogue import Chunk
from backscroll.files.layout import FileKind, LeftOut, Place, place_of
from backscroll.files.reading import Bookmark
from backscroll.files.source_key import SourceKey


@dataclass(slots=True)
class Version:
    """The content of a file from one rewrite to the next. Versions are numbered from 1."""

    number: int
    since: str
    chunks: list[Chunk] = field(default_factory=list)
    size: int = 0
    modified_ns: int = 0
    is_unrelated: bool | None = None
    """Whether the version has nothing in common with the one before it: another file took the path. None if unknown."""
    _ends: list[int] = field(default_factory=list, repr=False, compare=False)
    _summed: list[Chunk] | None = field(default=None, repr=False, compare=False)

    @property
    def ends(self) -> list[int]:
        """The end of each chunk in the version. Only chunks that are new since the last call are added up."""
        if self._summed is not self.chunks:
            self._ends, self._summed = [], self.chunks
        end = self._ends[-1] if self._ends else 0
        for number in range(len(self._ends), len(self.chunks)):
            end += self.chunks[number].size
            self._ends.append(end)
        return self._ends

    @property
    def is_whole(self) -> bool:
        """Whether the catalogue has all of the version: a lost line leaves a gap."""
        return (self.ends[-1] if self.chunks else 0) == self.size

    def copy(self) -> "Version":
        """Return a copy of the version, to be changed while this one stays as it is."""
        chunks = list(self.chunks)
        return replace(self, chunks=chunks, _ends=list(self.ends), _summed=chunks)


@dataclass(eq=False, slots=True)
class KeptFile:
    """A kept file with all its versions."""

    number: int
    machine: str
    home: str
    path: str
    type: str
    versions: list[Version] = field(default_factory=list)
    bookmark: Bookmark | None = None
    gone_since: str | None = None
    """The time when the file was first missing from its home; None while it exists."""
    is_marked: bool = False
    """Whether a verification found part of the file damaged."""
    has_gap: bool = False
    """Whether a line of the catalogue about the file is lost or doubled."""

    @property
    def key(self) -> SourceKey:
        """The key that distinguishes the file from every other, on any machine."""
        return SourceKey(self.machine, self.home, self.path)

    @property
    def is_suspect(self) -> bool:
        """Whether part of the file is damaged, so that it has to be kept again from the start."""
        return self.is_marked or self.has_gap

    @property
    def checksum(self) -> int | None:
        """CRC-32 of the latest version, as its source was read; None if it was not recorded.

        Files that early versions took from other machines have a bookmark of zeros: their chunks alone prove them.
        """
        mark, latest = self.bookmark, self.latest
        if mark is None or latest is None or mark.offset != latest.size:
            return None
        is_recorded = any((mark.device, mark.inode, mark.changed_ns, mark.head, mark.edge, mark.whole))
        return mark.whole if is_recorded else None

    @property
    def kind(self) -> FileKind:
        """The kind of the file; for a kind that this version does not know, that of files which are only kept."""
        kind = KINDS.get(self.type, FileKind.SIDECAR)
        if kind is FileKind.SIDECAR:
            place = place_of(self.path.split("/"))
            if isinstance(place, Place) and place.kind in WRITTEN_AS_SIDECARS:
                return place.kind
        return kind

    @property
    def place(self) -> Place:
        """The kind, session and agent that its path names."""
        place = place_of(self.path.split("/"))
        return Place(self.kind) if isinstance(place, LeftOut) else place

    @property
    def name(self) -> str:
        """The path as text; the file may be gone."""
        return os.path.join(self.home, self.path)  # noqa: PTH118 - a Path takes three times as much

    @property
    def source(self) -> Path:
        """The path; the file may be gone."""
        return Path(self.home, self.path)

    @property
    def latest(self) -> Version | None:
        """The latest version: new bytes are added to it, and the live file is compared with it."""
        return self.versions[-1] if self.versions else None

    @property
    def shown_versions(self) -> list[Version]:
        """The versions that lists, search and readers show, the oldest first: the latest, and each that is larger than
        all after it, up to where another file took the path.

        A file only grows in ordinary use. A file that shrank was emptied, cut or rewritten, so its earlier content must
        stay in reach: a shrunken file never hides kept content. A smaller version before a larger one is not shown, but
        `archive versions` lists it. Another file hides nothing that was kept at its path, whatever the sizes.
        """
        selected: list[Version] = []
        largest = -1
        for version in reversed(self.versions):
            if version.size > largest:
                if all(version.chunks != later.chunks for later in selected):
                    selected.append(version)
                largest = version.size
            if version.is_unrelated:
                largest = 0
        return selected[::-1]

    @property
    def first_related(self) -> int:
        """The number of the first version since another file took the path, from which the latest comes."""
        return next((version.number for version in reversed(self.versions) if version.is_unrelated), 1)

    @property
    def fullest(self) -> Version | None:
        """The largest version, the latest of equal ones: a restore writes it."""
        return max(reversed(self.versions), key=lambda version: version.size, default=None)

    def version(self, number: int) -> Version | None:
        """Return the version with this number, from 1."""
        return self.versions[number - 1] if 0 < number <= len(self.versions) else None

    def copy(self) -> "KeptFile":
        """Return a copy of the file, to be changed while this one stays as it is."""
        return replace(self, versions=[version.copy() for version in self.versions])


def written_type(kind: str) -> str:
    """Return the catalogue's name for files of a kind."""
    return FileKind.SIDECAR if kind in WRITTEN_AS_SIDECARS else kind


KINDS: Final = {str(kind): kind for kind in FileKind}
WRITTEN_AS_SIDECARS: Final = frozenset({FileKind.TASK_OUTPUT, FileKind.JOB})
"""Kinds that follow only from the path of a file. Earlier versions, whose hooks may still run, fail if a catalogue has
a kind that they do not know.
"""
