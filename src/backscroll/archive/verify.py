"""Check that the archive is intact."""

import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import BadLine, Chunk
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.line_copies import copies_in, gaps
from backscroll.archive.packs import DamagedError, ForgottenError
from backscroll.archive.recovery import has_all_copies
from backscroll.errors import BackscrollError, StorageError, storage_error
from backscroll.files.layout import FileKind


class Damage(NamedTuple):
    """A problem, and the files it affects."""

    what: str
    files: list[KeptFile]


@dataclass
class Verification:
    """The result of a verification."""

    chunks: int = 0
    size: int = 0
    files: int = 0
    unclaimed: int = 0
    """Bytes in packs that the catalogue does not name: left by an interrupted writer, and harmless."""
    damages: list[Damage] = field(default_factory=list)
    unreadable: list[Damage] = field(default_factory=list)
    """Data that the system failed to read. That is not damage: the stored bytes may be intact."""
    whole_again: list[KeptFile] = field(default_factory=list)
    """Files that are marked as damaged, but intact: the mark was a mistake, or the damage was repaired."""
    united: list[KeptFile] = field(default_factory=list)
    """Files that the catalogue has several times at one path. They are read as one, and nothing of them is out of
    reach; the next writer merges them.
    """


def verify(
    archive: Archive, *, quick: bool = False, on_bytes: Callable[[int], object] = lambda _: None
) -> Verification:
    """Check every line of the catalogue, every chunk in the packs, every version of every file.

    `quick` only checks that all bytes exist, not that they are unchanged.
    """
    report = Verification(files=len(archive.files), united=list(archive.united))
    if archive.lost_end is not None:
        report.damages.append(Damage(f"the end of the catalogue is lost: {archive.lost_end}; {REPAIR}", []))
    if not archive.has_header and not archive.bad_lines and _has_lost_its_catalogue(archive):
        report.damages.append(Damage("the catalogue is lost, and its packs are there", []))
    for bad in archive.bad_lines:
        what = f"line {bad.number} of the catalogue is not what was written"
        report.damages.append(Damage(what, _files_in(archive, bad)))
    if archive.odd_lines:
        lines = ", ".join(map(str, archive.odd_lines[:10]))
        what = f"lines of the catalogue with impossible numbers or names are left out: {lines}"
        report.damages.append(Damage(what, []))
    looked = _Verifier(archive, report, quick=quick, on_bytes=on_bytes)
    for file in archive.files.values():
        for version in file.versions:
            looked.at(file, version, is_latest=version is file.latest)
    _look_at_copies(archive, report)
    damaged = {file.number for damage in report.damages for file in damage.files} | looked.numbers
    for file in archive.files.values():
        if file.is_marked and not file.has_gap and not quick and file.number not in damaged:
            report.whole_again.append(file)
        elif file.is_suspect:
            what = f"a line about {file.path} is lost, or it was found damaged before"
            hint = "; run backscroll archive verify to check it again" if quick and file.is_marked else ""
            looked.problems.setdefault(f"{what}{hint}", []).append(file)
    report.damages += _together(looked.problems)
    report.unreadable += _together(looked.unreadable)
    return report


def whole_again(archive: Archive) -> list[KeptFile]:
    """Return the files that are marked as damaged, but intact. Reads only these."""
    looked = _Verifier(archive, Verification(), quick=False, on_bytes=lambda _: None)
    marked = [file for file in archive.files.values() if file.is_marked and not file.has_gap]
    for file in marked:
        for version in file.versions:
            looked.at(file, version, is_latest=version is file.latest)
    lost = {file.number for bad in archive.bad_lines for file in _files_in(archive, bad)}
    return [file for file in marked if file.number not in lost | looked.numbers]


def _together(problems: dict[str, list[KeptFile]]) -> list[Damage]:
    return [Damage(what, list(dict.fromkeys(files))) for what, files in problems.items()]


def _files_in(archive: Archive, bad: BadLine) -> list[KeptFile]:
    """Return the files that a damaged line was about: known ones, and the rest of the names of others."""
    texts = {
        name: [name_bytes.decode("utf-8", "replace") for name_bytes in NAMES[name].findall(bad.text)] for name in NAMES
    }
    home, path = (texts["home"] or [""])[0], (texts["path"] or ["?"])[0]
    files = [archive.files.get(number) or KeptFile(number, "", home, path, FileKind.SIDECAR) for number in bad.files]
    if not files and texts["path"]:
        files = [KeptFile(0, "", home, path, FileKind.SIDECAR)]
    return files or list(archive.files.values())  # unknown: it may be any of them


class _Verifier:
    """Checks versions, each chunk only once, and collects the problems."""

    def __init__(
        self, archive: Archive, report: Verification, *, quick: bool, on_bytes: Callable[[int], object]
    ) -> None:
        self.problems: dict[str, list[KeptFile]] = {}
        self.unreadable: dict[str, list[KeptFile]] = {}
        self._archive = archive
        self._report = report
        self._quick = quick
        self._on_bytes = on_bytes
        self._seen: dict[str, BackscrollError | None] = {}

    @property
    def numbers(self) -> set[int]:
        """The numbers of the files with a problem."""
        lists = (*self.problems.values(), *self.unreadable.values())
        return {file.number for files in lists for file in files}

    def at(self, file: KeptFile, version: Version, *, is_latest: bool) -> None:
        """Check a version of a file."""
        checksum = size = read = 0
        whole = True
        for chunk in version.chunks:
            data, problem = self._chunk(chunk)
            size += chunk.size
            read += len(data)
            checksum = zlib.crc32(data, checksum)
            if problem:
                whole = False
                where = self.unreadable if isinstance(problem, StorageError) else self.problems
                where.setdefault(problem.message, []).append(file)
        if size != version.size:
            self.problems.setdefault(f"{file.path} is not as long as it was", []).append(file)
        is_comparable = whole and is_latest and not self._quick and read == size and file.checksum is not None
        if is_comparable and checksum != file.checksum:
            self.problems.setdefault(f"{file.path} is not what its source was", []).append(file)

    def _chunk(self, chunk: Chunk) -> tuple[bytes, BackscrollError | None]:
        """Return the bytes of a chunk, and its problem if it has one."""
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
        except ForgottenError:
            return b"", None
        except (DamagedError, StorageError) as error:
            self._seen[chunk.id] = error
            return b"", error
        self._seen[chunk.id] = None
        return data, None


def _has_lost_its_catalogue(archive: Archive) -> bool:
    """Whether there are packs but no catalogue: a writer may have started since the archive was opened."""
    with suppress(OSError):  # reported for each chunk
        has_packs = any(archive.pack(number).stat().st_size for number in archive.packs_on_disk())
        return has_packs and not Archive(archive.folder).has_header
    return False


def _look_at_copies(archive: Archive, report: Verification) -> None:
    """Check the copies of lines in the packs, and count other bytes that the catalogue does not name."""
    with suppress(StorageError):  # reported for each chunk
        between = list(gaps(archive))
        copies = list(copies_in(archive, between))
        report.unclaimed = sum(gap.end - gap.start for gap in between) - sum(copy.length for copy in copies)
        if not has_all_copies(archive, copies):
            what = f"the copy of the catalogue's lines in the packs is damaged; {REPAIR}"
            report.damages.append(Damage(what, []))


def _missing(archive: Archive, chunk: Chunk) -> BackscrollError | None:
    end = chunk.offset + chunk.length
    try:
        size = archive.pack(chunk.pack).stat().st_size
    except FileNotFoundError as error:
        return DamagedError(chunk, str(error))
    except OSError as error:
        return storage_error(error, f"pack {chunk.pack} could not be read")
    return None if size >= end else DamagedError(chunk, f"the pack ends before byte {end}")


REPAIR: Final = "run backscroll archive repair"
NAMES: Final = {
    "home": re.compile(rb'"home":"([^"]*)'),
    "path": re.compile(rb'"path":"([^"]*)'),
}
