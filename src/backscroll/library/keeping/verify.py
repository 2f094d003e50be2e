"""Check that the archive is intact, and compare it with the live files."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.archive.capture import most_of
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import Verification, verify
from backscroll.errors import BackscrollError
from backscroll.files.discovery import look
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.files.reading import Bookmark, Reading
from backscroll.files.task_outputs import live_path
from backscroll.library.archives import open_archive
from backscroll.library.machine import read_machine
from backscroll.settings import Settings


@dataclass
class ArchiveVerification:
    """The result of a verification, and of the comparison with the live files."""

    report: Verification
    same: int = 0
    ahead: list[Path] = field(default_factory=list)
    """Live files with content that is not kept yet."""
    not_noted: str | None = None
    """Why the result could not be recorded in the archive, for example in a read-only library."""


def prove(
    settings: Settings,
    homes: Sequence[Home],
    *,
    quick: bool,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> ArchiveVerification:
    """Verify the archive, compare it with the live files, and record the result."""
    archive = open_archive(settings)
    on_total(sum(chunk.size for chunk in archive.chunks.values()))
    proof = ArchiveVerification(verify(archive, quick=quick, on_bytes=on_bytes))
    names = {str(home.path) for home in homes if home.exists}
    machine = read_machine(settings.library).id
    for file in archive.files.values():
        if file.machine == machine and file.home in names and file.gone_since is None and not quick:
            if _is_like_source(file):
                proof.same += 1
            else:
                proof.ahead.append(file.source)
    try:
        with Writer(archive.folder) as writer:
            for damage in proof.report.damages:
                for file in damage.files:
                    kept = writer.files.get(file.number)
                    if kept is not None and not kept.is_marked:
                        writer.suspect(kept)
            for file in proof.report.whole_again:
                if file.number in writer.files:
                    writer.trust(writer.files[file.number])
            writer.verified_all(len(proof.report.damages), quick=quick)
    except (OSError, BackscrollError) as error:
        proof.not_noted = str(error)  # busy, read-only, or its end lost: the result is valid all the same
    return proof


def _is_like_source(file: KeptFile) -> bool:
    """Whether the live file is, byte for byte, the last kept version."""
    latest, bookmark = file.latest, file.bookmark
    if latest is None or bookmark is None:
        return False
    if file.kind is FileKind.DATABASE:  # a copy is made page by page, and its bytes may differ
        return _is_database_unchanged(file, bookmark)
    checksum = size = 0
    try:
        with Reading(live_path(file.key)) as reading:
            for piece in reading.rest(most_of(file.kind)):
                checksum = zlib.crc32(piece, checksum)
                size += len(piece)
    except OSError:
        return False
    return (size, checksum) == (latest.size, bookmark.whole)


def _is_database_unchanged(file: KeptFile, bookmark: Bookmark) -> bool:
    """Whether a database is unchanged since it was copied."""
    now = look(Home(Path(file.home)), file.source)
    return now is not None and (*now.identity, now.size, now.modified_ns, now.changed_ns) == bookmark[1:6]
