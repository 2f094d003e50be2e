"""Put kept files back: byte for byte, never over a newer file."""

import errno
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.disk import write_new
from backscroll.errors import BackscrollError

Outcome = Literal["restored", "already there", "another file is there", "damaged", "not a path of a home"]


class Restored(NamedTuple):
    """A file with its target and the outcome of the restore."""

    file: KeptFile
    version: Version
    target: Path
    outcome: Outcome


def restore(
    archive: Archive,
    files: Iterable[KeptFile],
    root: Path,
    *,
    fresh: bool,
    number: int | None = None,
    place: Callable[[str], str] = lambda path: path,
) -> Iterable[Restored]:
    """Write the fullest version of each file, or the one with this number, below `root`, at its path in its home.

    With `fresh` it counts as changed now, so that Claude Code does not delete it at once again; else it keeps its old
    time. `place` may give a file another path.
    """
    for file in files:
        version = file.fullest if number is None else file.version(number)
        if version is not None:
            target = root.joinpath(*place(file.path).split("/"))
            try:
                outcome = _write(archive, version, root, target, fresh=fresh)
            except OSError as error:
                if error.errno not in IMPOSSIBLE:
                    raise
                outcome = "another file is there" if error.errno == errno.ENOTDIR else "not a path of a home"
            yield Restored(file, version, target, outcome)


def _write(archive: Archive, version: Version, root: Path, target: Path, *, fresh: bool) -> Outcome:
    if ".." in target.parts or "\0" in str(target) or not _is_inside(root, target):
        return "not a path of a home"
    if target.is_symlink() or target.exists():
        return "already there" if _is_same(archive, version, target) else "another file is there"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_new(target, archive.content(version), None if fresh else version.modified_ns)
    except FileExistsError:
        return "another file is there"
    except BackscrollError:
        return "damaged"
    return "restored"


IMPOSSIBLE: Final = frozenset(
    {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.EEXIST}
)
"""Errors of a bad name; any other error is a failure of the disk."""


def _is_inside(root: Path, target: Path) -> bool:
    """Whether the target is below the root, after following links."""
    try:
        return target.parent.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):  # a name that is too long, or a loop of links
        return False


def _is_same(archive: Archive, version: Version, target: Path) -> bool:
    if target.is_symlink() or not target.is_file() or target.stat().st_size != version.size:
        return False
    try:
        with target.open("rb") as file:
            return all(file.read(len(data)) == data for data in archive.content(version))
    except BackscrollError:
        return False
