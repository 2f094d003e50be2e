"""Tell what happened to a home between two visits: which files are new, changed, moved or gone."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from backscroll.files.discovery import HomeFile, Unreadable
from backscroll.files.reading import Bookmark, Reading


class Changes(NamedTuple):
    """What to look at, and what to forget about."""

    to_read: list[HomeFile]
    """New files, and those that do not look as they did. `Reading` tells which it was."""
    moved: dict[Path, Path]
    """Where a file that we know is now → where it was. Its bookmark goes with it."""
    gone: list[Path]


def find_changes(
    known: Mapping[Path, Bookmark], found: Iterable[HomeFile], unreadable: Iterable[Unreadable] = ()
) -> Changes:
    """Compare what was found with the bookmarks of the last visit, without reading what did not change.

    What lies in a folder that could not be listed this time is not gone: a disk may be away for a moment. After each
    reading keep its bookmark, also where nothing had changed.
    """
    changes = Changes([], {}, [])
    fresh = []
    present = set()
    for file in found:
        present.add(file.path)
        bookmark = known.get(file.path)
        if bookmark is None:
            fresh.append(file)
        elif not _looks_the_same(file, bookmark):
            changes.to_read.append(file)
    missing = {path: bookmark for path, bookmark in known.items() if path not in present}
    for hidden in unreadable:
        missing = {path: bookmark for path, bookmark in missing.items() if not path.is_relative_to(hidden.path)}
    origins = _Origins(missing)
    for file in fresh:
        origin = origins.of(file)
        if origin is not None:
            changes.moved[file.path] = origin
            del missing[origin]
        changes.to_read.append(file)
    changes.gone.extend(missing)
    return changes


def _looks_the_same(file: HomeFile, bookmark: Bookmark) -> bool:
    return (file.identity, file.size, file.modified_ns, file.changed_ns) == (
        (bookmark.device, bookmark.inode),
        bookmark.size,
        bookmark.modified_ns,
        bookmark.changed_ns,
    )


class _Origins:
    """Finds the missing file that a new one was: the same inode or the same name, and what was read of it inside."""

    def __init__(self, missing: Mapping[Path, Bookmark]) -> None:
        self._missing = missing
        self._candidates: dict[tuple[int, int] | str, list[Path]] = {}
        for path, bookmark in missing.items():
            if bookmark.offset > 0:
                for key in ((bookmark.device, bookmark.inode), path.name):
                    self._candidates.setdefault(key, []).append(path)

    def of(self, file: HomeFile) -> Path | None:
        candidates: list[Path] = [*self._candidates.get(file.identity, ()), *self._candidates.get(file.path.name, ())]
        for path in candidates:
            if path in self._missing and _continues(file.path, self._missing[path]):
                return path
        return None


def _continues(path: Path, bookmark: Bookmark) -> bool:
    try:
        with Reading(path, bookmark) as reading:
            return not reading.change.starts_over
    except OSError:
        return False
