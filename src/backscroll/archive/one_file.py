"""One kept file for each path of a home: merge several into one, and relate a version to the one before.

Earlier versions of backscroll recorded a file that moved, or came from a backup, as another one at the same path. Only
one of the two was found. Readers make one file of them whenever they open such an archive, and the next writer rewrites
the catalogue.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from backscroll.archive.kept_file import KeptFile, Version
from backscroll.errors import BackscrollError
from backscroll.files.layout import TRANSCRIPTS, FileKind

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

BEGINNING: Final = 64 * 1024
"""The number of bytes of two versions that are compared."""


def in_one(files: Sequence[KeptFile]) -> KeptFile:
    """Return one file with the versions of all of them; the last file is the one that is at the path now."""
    versions: list[Version] = []
    for file in files:
        for version in file.versions:
            is_first = versions and version is file.versions[0]
            relation = True if is_first else version.is_unrelated
            versions.append(replace(version.copy(), number=len(versions) + 1, is_unrelated=relation))
    return replace(
        files[-1],
        versions=versions,
        is_marked=any(file.is_marked for file in files),
        has_gap=any(file.has_gap for file in files),
    )


def is_relation_needed(file: KeptFile) -> bool:
    """Whether readers show earlier versions of such a file, so that their relation to the latest counts."""
    return file.kind in TRANSCRIPTS or file.kind is FileKind.TOOL_RESULT


def version_before(file: KeptFile, number: int) -> Version | None:
    """Return the last version before this one, by its number, that is not empty."""
    return next((version for version in reversed(file.versions[: number - 1]) if version.size), None)


def begin_differently(archive: "Archive", earlier: Version, later: Version) -> bool:
    """Whether two versions have no line in common, as far as they are compared. True if one of them cannot be read."""
    try:
        earlier_bytes, other = (archive.read(version, 0, min(BEGINNING, version.size)) for version in (earlier, later))
    except BackscrollError:
        return True
    length = min(len(earlier_bytes), len(other))
    if earlier_bytes[:length].partition(b"\n")[0] == other[:length].partition(b"\n")[0]:
        return False  # also for a line that is longer, or not finished
    return set(earlier_bytes.split(b"\n")[:-1]).isdisjoint(other.split(b"\n")[:-1])
