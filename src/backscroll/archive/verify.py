"""Prove that everything that was kept is still what it was."""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backscroll.archive.archive import Archive, DamagedError, KeptFile, Version
from backscroll.archive.catalogue import BadLine, Bytes, Chunk, Gone, Moved, NewFile


class Damage(NamedTuple):
    """Something that is not what was put there, and the files that it touches."""

    what: str
    files: list[KeptFile]


@dataclass
class Report:
    """What a verification found."""

    chunks: int = 0
    size: int = 0
    files: int = 0
    damages: list[Damage] = field(default_factory=list)


def verify(archive: Archive, *, quick: bool = False, on_bytes: Callable[[int], object] = lambda _: None) -> Report:
    """Look at everything: every line of the catalogue, every chunk in the packs, every version of every file.

    Quick only looks whether all is there, and not whether the bytes are still the same.
    """
    report = Report(files=len(archive.files))
    for bad in archive.bad_lines:
        number = bad.entry.file if isinstance(bad.entry, (NewFile, Bytes, Moved, Gone)) else None
        touched = [archive.files[number]] if number in archive.files else _near(archive, bad)
        report.damages.append(Damage(f"line {bad.number} of the catalogue is not what was written", touched))
    looked = _Looker(archive, report, quick=quick, on_bytes=on_bytes)
    for file in archive.files.values():
        for version in file.versions:
            looked.at(file, version, is_latest=version is file.latest)
    report.damages += [Damage(what, list(dict.fromkeys(files))) for what, files in looked.problems.items()]
    return report


def _near(archive: Archive, bad: BadLine) -> list[KeptFile]:
    """The files that an unreadable line may have been about, by the number that is left in it."""
    return [archive.files[int(number)] for number in FILE.findall(bad.text) if int(number) in archive.files]


class _Looker:
    """Looks at versions, at each chunk only once, and gathers what is wrong with them."""

    def __init__(self, archive: Archive, report: Report, *, quick: bool, on_bytes: Callable[[int], object]) -> None:
        self.problems: dict[str, list[KeptFile]] = {}
        self._archive = archive
        self._report = report
        self._quick = quick
        self._on_bytes = on_bytes
        self._seen: dict[str, str | None] = {}

    def at(self, file: KeptFile, version: Version, *, is_latest: bool) -> None:
        """Look at a version of a file."""
        checksum = size = 0
        whole = True
        for chunk in version.chunks:
            data, problem = self._chunk(chunk)
            size += chunk.size
            checksum = zlib.crc32(data, checksum)
            if problem:
                whole = False
                self.problems.setdefault(problem, []).append(file)
        if size != version.size:
            self.problems.setdefault(f"{file.path} is not as long as it was", []).append(file)
        comparable = whole and is_latest and not self._quick and file.bookmark and file.bookmark.offset == size
        if comparable and file.bookmark and checksum != file.bookmark.whole:
            self.problems.setdefault(f"{file.path} is not what its source was", []).append(file)

    def _chunk(self, chunk: Chunk) -> tuple[bytes, str | None]:
        """The bytes of a chunk, and what is wrong with it."""
        is_new = chunk.id not in self._seen
        if is_new:
            self._report.chunks += 1
            self._report.size += chunk.size
            self._on_bytes(chunk.size)
        if self._quick:
            if is_new:
                self._seen[chunk.id] = _missing(self._archive, chunk)
            return b"", self._seen[chunk.id]
        try:
            data = self._archive.unpack(chunk)
        except DamagedError as error:
            self._seen[chunk.id] = error.message
            return b"", error.message
        self._seen[chunk.id] = None
        return data, None


def _missing(archive: Archive, chunk: Chunk) -> str | None:
    end = chunk.offset + chunk.length
    try:
        size = archive.pack(chunk.pack).stat().st_size
    except OSError as error:
        return f"pack {chunk.pack}: {error.strerror}"
    return None if size >= end else f"pack {chunk.pack} ends before byte {end}"


FILE: Final = re.compile(rb'"file":(\d+)')
