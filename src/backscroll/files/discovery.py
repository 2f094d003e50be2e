"""Find the files of a home. Lists folders and never opens a file."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from backscroll.files.homes import Home
from backscroll.files.layout import FOLDERS, FileKind, LeftOut, Place, place_of


class HomeFile(NamedTuple):
    """A file of a home, as it was when we looked."""

    path: Path
    relative: str
    place: Place
    size: int
    modified_ns: int
    changed_ns: int
    identity: tuple[int, int]
    """Device and inode: what stays when the file moves."""

    @property
    def kind(self) -> FileKind:
        """What the file is to us."""
        return self.place.kind


class Omission(NamedTuple):
    """A file or folder that was left out, and why."""

    path: Path
    reason: LeftOut


class Unreadable(NamedTuple):
    """A file or folder that could not be read, and why."""

    path: Path
    reason: str


class Discovery:
    """All that was found in a home, in the order of the paths."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.files: list[HomeFile] = []
        self.left_out: list[Omission] = []
        self.unreadable: list[Unreadable] = []

    def add(self, found: HomeFile | Omission | Unreadable) -> None:
        """Put it into its list."""
        if isinstance(found, HomeFile):
            self.files.append(found)
        elif isinstance(found, Omission):
            self.left_out.append(found)
        else:
            self.unreadable.append(found)


def discover(home: Home) -> Discovery:
    """Everything in the home that is ours, what was left out, and what could not be listed."""
    discovery = Discovery(home)
    for found in find(home):
        discovery.add(found)
    return discovery


def find(home: Home, below: Path | None = None) -> Iterator[HomeFile | Omission | Unreadable]:
    """The same one by one; only those under the folder `below`, if it is given."""
    if below is not None:
        yield from _walk(below, below.relative_to(home.path).parts)
        return
    try:
        entries = sorted(os.scandir(home.path), key=lambda entry: entry.name)
    except OSError as error:
        yield Unreadable(home.path, error.strerror or str(error))
        return
    for entry in entries:
        # The user's own folders may be links, to a larger disk or a dotfiles checkout. Below them no link is followed:
        # it could lead anywhere, and what it leads to is not Claude Code's.
        if entry.name in FOLDERS and entry.is_dir():
            yield from _walk(Path(entry.path), (entry.name,))
        elif (place := place_of((entry.name,))) is not LeftOut.OTHER:
            yield _look(entry, (entry.name,), place)


def look(home: Home, path: Path) -> HomeFile | None:
    """The file at this path of the home, if it is there and ours."""
    parts = path.relative_to(home.path).parts
    if len(parts) > 1 and parts[0] not in FOLDERS:
        return None
    place = place_of(parts)
    if isinstance(place, LeftOut):
        return None
    try:
        return _file(path, parts, place, path.lstat())
    except OSError:
        return None


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[HomeFile | Omission | Unreadable]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Unreadable(folder, error.strerror or str(error))
        return
    for entry in entries:
        inside = (*parts, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), inside)
        else:
            yield _look(entry, inside, place_of(inside))


def _look(entry: os.DirEntry[str], parts: tuple[str, ...], place: Place | LeftOut) -> HomeFile | Omission | Unreadable:
    path = Path(entry.path)
    if entry.is_symlink():
        return Omission(path, LeftOut.LINK)
    if isinstance(place, LeftOut):
        return Omission(path, place)
    try:
        return _file(path, parts, place, entry.stat(follow_symlinks=False)) or Omission(path, LeftOut.NOT_A_FILE)
    except OSError as error:
        return Unreadable(path, error.strerror or str(error))


def _file(path: Path, parts: tuple[str, ...], place: Place, status: os.stat_result) -> HomeFile | None:
    if not stat.S_ISREG(status.st_mode):
        return None
    return HomeFile(
        path=path,
        relative="/".join(parts),
        place=place,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
        identity=(status.st_dev, status.st_ino),
    )
