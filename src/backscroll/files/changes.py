"""Detect changes in a home between two visits: new, changed, moved and deleted files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from backscroll.files.discovery import HomeFile, Unreadable
from backscroll.files.reading import Bookmark, Reading


class HomeChanges(NamedTuple):
    """The files to read, and those to forget."""

    to_read: list[HomeFile]
    """New and changed files. `Reading` distinguishes the two."""
    moved: dict[str, str]
    """New path → old path of a known file. Its bookmark moves with it."""
    gone: list[str]


def find_changes(
    known: Mapping[str, Bookmark], found: Iterable[HomeFile], unreadable: Iterable[Unreadable] = ()
) -> HomeChanges:
    """Compare the files of a home with the bookmarks of the last visit, by path, without reading unchanged files.

    Files in a folder that could not be listed this time are not gone: a disk may be unmounted for a moment. After each
    reading keep its bookmark, even if nothing had changed.
    """
    changes = HomeChanges([], {}, [])
    fresh = []
    missing = dict(known)
    for file in found:
        bookmark = missing.pop(file.name, None)
        if bookmark is None:
            fresh.append(file)
        elif not looks_the_same(file, bookmark):
            changes.to_read.append(file)
    hidden = [item.path for item in unreadable]
    if hidden:
        missing = {
            name: bookmark
            for name, bookmark in missing.items()
            if not any(Path(name).is_relative_to(folder) for folder in hidden)
        }
    origins = _Origins(missing)
    for file in fresh:
        origin = origins.of(file)
        if origin is not None:
            changes.moved[file.name] = origin
            del missing[origin]
        changes.to_read.append(file)
    changes.gone.extend(missing)
    return changes


def looks_the_same(file: HomeFile, bookmark: Bookmark) -> bool:
    """Whether a file is known to be unchanged without reading it."""
    return (file.identity, file.size, file.modified_ns, file.changed_ns) == (
        (bookmark.device, bookmark.inode),
        bookmark.size,
        bookmark.modified_ns,
        bookmark.changed_ns,
    )


def was_seen(file: HomeFile, bookmark: Bookmark) -> bool:
    """Whether a file was read in this state, or in a later one."""
    if looks_the_same(file, bookmark) or bookmark.modified_ns > file.modified_ns:
        return True
    return bookmark.modified_ns == file.modified_ns and bookmark.size >= file.size


class _Origins:
    """Finds the missing file that became a new one: same inode or name, and the same content as far as it was read."""

    def __init__(self, missing: Mapping[str, Bookmark]) -> None:
        self._missing = missing
        self._candidates: dict[tuple[int, int] | str, list[str]] = {}
        for name, bookmark in missing.items():
            if bookmark.offset > 0:
                for key in ((bookmark.device, bookmark.inode), _last_part(name)):
                    self._candidates.setdefault(key, []).append(name)

    def of(self, file: HomeFile) -> str | None:
        named = _last_part(file.relative)
        candidates: list[str] = [*self._candidates.get(file.identity, ()), *self._candidates.get(named, ())]
        for name in candidates:
            if name in self._missing and continues(file.path, self._missing[name]):
                return name
        return None


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]


def continues(path: Path, bookmark: Bookmark) -> bool:
    """Whether a file begins with all content before the bookmark."""
    try:
        with Reading(path, bookmark) as reading:
            return not reading.change.starts_over
    except OSError:
        return False
