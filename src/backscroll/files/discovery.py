"""Find the files of a home. Lists folders, and opens no file but a database, for its count of changes."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from backscroll.files.database_stamp import BESIDE, change_sign
from backscroll.files.homes import Home
from backscroll.files.layout import FOLDERS, LOGS, FileKind, LeftOut, Place, container_of, is_searched, place_of
from backscroll.files.reading import Bookmark, Reading
from backscroll.files.source_key import SourceKey
from backscroll.files.times import storable_time

if TYPE_CHECKING:
    from backscroll.files.early_reading import EarlyReading


class HomeFile(NamedTuple):
    """A file of a home, as it was when found.

    A home may have hundreds of thousands, all in memory at once, so each stores little and computes the rest.
    """

    home: str
    """The home that the file is in."""
    relative: str
    kind: FileKind
    """The kind of file."""
    size: int
    modified_ns: int
    changed_ns: int
    device: int
    inode: int
    machine: str = ""
    """The id of the machine that the file is on: this one."""
    elsewhere: str = ""
    """The path of the file, if it is not in the home: only outputs of commands (`task_outputs`) have one."""

    @property
    def key(self) -> SourceKey:
        """The key that identifies the file among all files of all machines."""
        return SourceKey(self.machine, self.home, self.relative)

    @property
    def id(self) -> str:
        """The key as a string."""
        return self.key.id

    @property
    def name(self) -> str:
        """The path in the home, as a string."""
        return os.path.join(self.home, self.relative)  # noqa: PTH118 - a Path takes three times as much

    @property
    def path(self) -> Path:
        """The path of the file on disk."""
        return Path(self.elsewhere) if self.elsewhere else Path(self.home, self.relative)

    @property
    def place(self) -> Place:
        """The kind, project, session and agent that the path names."""
        place = place_of(self.relative.split("/"))
        return Place(self.kind) if isinstance(place, LeftOut) else place

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode, which stay the same when the file moves."""
        return self.device, self.inode

    @property
    def is_kept(self) -> bool:
        """Whether the file is read from the archive: never true here."""
        return False

    @property
    def is_archived(self) -> bool:
        """Whether the file is gone from its home: never true here."""
        return False

    def open(self, bookmark: Bookmark | None = None) -> "Reading | EarlyReading":
        """Open the file for reading, starting at a bookmark."""
        if container_of(self.relative) is not None:
            from backscroll.files.inside import open_inside

            return open_inside(self, bookmark)
        return Reading(self.path, bookmark)


class Omission(NamedTuple):
    """A file or folder that was left out, with the reason."""

    path: Path
    reason: LeftOut


class Unreadable(NamedTuple):
    """A file or folder that could not be read, with the reason."""

    path: Path
    reason: str


class Discovery:
    """Everything found in a home, in path order."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.files: list[HomeFile] = []
        self.left_out: list[Omission] = []
        self.unreadable: list[Unreadable] = []

    def add(self, found: HomeFile | Omission | Unreadable) -> None:
        """Add an item to the list of its kind."""
        if isinstance(found, HomeFile):
            self.files.append(found)
        elif isinstance(found, Omission):
            self.left_out.append(found)
        else:
            self.unreadable.append(found)


def discover(home: Home) -> Discovery:
    """Return the files of the home, those that were left out, and those that could not be listed."""
    discovery = Discovery(home)
    for item in find(home):
        discovery.add(item)
    return discovery


def find(home: Home, below: Path | None = None) -> Iterator[HomeFile | Omission | Unreadable]:
    """Yield the files, omissions and unreadable items of a home; only those in the folder `below`, if it is given."""
    if below is not None:
        parts = below.relative_to(home.path).parts
        if is_searched(parts) and not _is_behind_link(home, below):
            yield from _walk(home, below, parts)
        return
    entries = _entries(home.path)
    if isinstance(entries, Unreadable):
        yield entries
        return
    is_cache = home.is_cache
    for entry in entries:
        logs = Path(entry.path, LOGS)
        if is_cache and entry.name not in FOLDERS and _is_folder(entry, follow_links=False):
            if logs.is_dir() and not logs.is_symlink():
                yield from _walk(home, logs, (entry.name, LOGS))
            continue
        # The user's own folders may be links, to a larger disk or a dotfiles checkout. Below them no link is followed:
        # it could lead anywhere, out of Claude Code's files.
        if entry.name in FOLDERS:
            if _is_folder(entry, follow_links=True):
                yield from _walk(home, Path(entry.path), (entry.name,))
            elif entry.is_symlink():
                yield Unreadable(Path(entry.path), "the link is broken")
        elif (place := place_of((entry.name,))) is not LeftOut.OTHER:
            item = _look(home, entry, (entry.name,), place)
            if item is not None:
                yield item


def look(home: Home, path: Path) -> HomeFile | None:
    """Return the file at this path of the home, if it exists and is one that we read."""
    parts = path.relative_to(home.path).parts
    if ".." in parts:
        return None
    is_log = len(parts) == 3 and parts[1] == LOGS
    container = container_of("/".join(parts))
    if container is not None:
        from backscroll.files.inside import look_inside

        holder = look(home, home.path / container)
        return look_inside(holder, parts[-1]) if holder else None
    if (len(parts) > 1 and parts[0] not in FOLDERS and not is_log) or _is_behind_link(home, path.parent):
        return None
    place = place_of(parts)
    if isinstance(place, LeftOut):
        return None
    try:
        return _file(home, parts, place, path.lstat())
    except OSError:
        return None


def _walk(home: Home, top: Path, parts: tuple[str, ...]) -> Iterator[HomeFile | Omission | Unreadable]:
    """Yield everything in a folder, in path order. Not recursive, because folders may be nested without limit."""
    entries = _entries(top)
    if isinstance(entries, Unreadable):
        yield entries
        return
    waiting = [(iter(entries), parts)]
    while waiting:
        here, inside = waiting[-1]
        entry = next(here, None)
        if entry is None:
            waiting.pop()
            continue
        path = (*inside, entry.name)
        if _is_folder(entry, follow_links=False):
            if not is_searched(path):
                yield Omission(Path(entry.path), LeftOut.OTHER)
                continue
            entries = _entries(Path(entry.path))
            if isinstance(entries, Unreadable):
                yield entries
            else:
                waiting.append((iter(entries), path))
        elif (item := _look(home, entry, path, place_of(path))) is not None:
            yield item


def _entries(folder: Path) -> list[os.DirEntry[str]] | Unreadable:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        return Unreadable(folder, error.strerror or str(error))


def _is_folder(entry: os.DirEntry[str], *, follow_links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_links)
    except OSError:
        return False


def _is_behind_link(home: Home, folder: Path) -> bool:
    """Whether the path goes through a symbolic link inside the home, as far as its folders can be read."""
    parts = folder.relative_to(home.path).parts
    return any(os.path.islink(home.path.joinpath(*parts[: depth + 1])) for depth in range(1, len(parts)))  # noqa: PTH114


def _look(
    home: Home, entry: os.DirEntry[str], parts: tuple[str, ...], place: Place | LeftOut
) -> HomeFile | Omission | Unreadable | None:
    """Return the entry as a file or an omission; None if it was deleted after the folder was listed."""
    if entry.is_symlink():
        return Omission(Path(entry.path), LeftOut.LINK)
    if isinstance(place, LeftOut):
        return Omission(Path(entry.path), place)
    try:
        file = _file(home, parts, place, entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unreadable(Path(entry.path), error.strerror or str(error))
    return file or Omission(Path(entry.path), LeftOut.NOT_A_FILE)


def _file(home: Home, parts: tuple[str, ...], place: Place, status: os.stat_result) -> HomeFile | None:
    if not stat.S_ISREG(status.st_mode):
        return None
    size, modified, changed = status.st_size, status.st_mtime_ns, status.st_ctime_ns
    if place.kind is FileKind.DATABASE:
        # The last changes of a client may be only in the file next to it.
        for beside in _beside_database(home.path.joinpath(*parts)):
            size += beside.st_size
            modified, changed = max(modified, beside.st_mtime_ns), max(changed, beside.st_ctime_ns)
        # So that the time differs after every change, even if the file system's clock is too coarse to show it.
        changed += change_sign(home.path.joinpath(*parts))
    modified, changed = storable_time(modified), storable_time(changed)
    return HomeFile(
        home=str(home.path),
        relative="/".join(parts),
        kind=place.kind,
        size=size,
        modified_ns=modified,
        changed_ns=changed,
        device=status.st_dev,
        inode=status.st_ino,
        machine=home.machine,
    )


def _beside_database(path: Path) -> Iterator[os.stat_result]:
    for suffix in BESIDE:
        with contextlib.suppress(OSError):
            yield path.with_name(path.name + suffix).lstat()
