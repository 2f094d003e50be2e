"""A kept file and its versions, as the catalogue lists them."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

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

    @property
    def is_whole(self) -> bool:
        """Whether the catalogue has all of it: a lost line leaves a gap."""
        return sum(chunk.size for chunk in self.chunks) == self.size


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
    """When it was first missing from its home; None while it is there."""
    is_suspect: bool = False
    """Whether part of it is damaged, so that it has to be kept again from the start."""

    @property
    def key(self) -> SourceKey:
        """What tells it from every other file, on any machine."""
        return SourceKey(self.machine, self.home, self.path)

    @property
    def kind(self) -> FileKind:
        """Its kind."""
        return FileKind(self.type)

    @property
    def place(self) -> Place:
        """What its name says about it."""
        place = place_of(self.path.split("/"))
        return Place(self.kind) if isinstance(place, LeftOut) else place

    @property
    def name(self) -> str:
        """Its path, as text; the file may be gone."""
        return os.path.join(self.home, self.path)  # noqa: PTH118 - a Path takes three times as much

    @property
    def source(self) -> Path:
        """Its path; the file may be gone."""
        return Path(self.home, self.path)

    @property
    def latest(self) -> Version | None:
        """The latest version: new bytes are added to it, and the live file is compared with it."""
        return self.versions[-1] if self.versions else None

    @property
    def shown_versions(self) -> list[Version]:
        """The versions that lists, search and readers show, the oldest first: the latest, and each that is larger than
        all after it.

        A file only grows in ordinary use. One that shrank was emptied, cut or rewritten, so what it held before must
        stay in reach: a shrunken file never hides what was kept. A smaller version before a larger one is not shown,
        but `archive versions` lists it.
        """
        shown: list[Version] = []
        for version in reversed(self.versions):
            if not shown or version.size > shown[-1].size:
                shown.append(version)
        return shown[::-1]

    @property
    def fullest(self) -> Version | None:
        """The largest version, the latest of equal ones: what a restore writes."""
        return max(reversed(self.versions), key=lambda version: version.size, default=None)

    def version(self, number: int) -> Version | None:
        """The version with this number, from 1."""
        return self.versions[number - 1] if 0 < number <= len(self.versions) else None

    def copy(self) -> "KeptFile":
        """The same file, to be changed while this one stays as it is."""
        return replace(self, versions=[replace(version, chunks=list(version.chunks)) for version in self.versions])
