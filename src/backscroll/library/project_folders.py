"""Folders of this machine's projects, noted while they exist: a folder that is gone can no longer be examined.

For each folder that a session ran in, its git repository is noted: the remotes, and the folder's place in it. So a
project that was moved, renamed or cloned again is found. The file `projects.json` in the library only grows.

A project counts as moved if its folder is gone and another one is the same folder under another name; or if exactly one
other folder, first seen after this one was last there, is the same place in a clone with a common remote; or if the
user continued a session of it in another folder that is the same project. Two clones that existed at the same time are
two projects, and so are the worktrees of a repository.
"""

import os
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from backscroll.disk import private_folder, read_own, write_private
from backscroll.library.git_remotes import git_remotes, repository_of

FILE: Final = "projects.json"
REFRESH_SECONDS: Final = 24 * 3600
"""Interval of checking a folder again."""
MOST_AT_ONCE: Final = 200
"""Number of folders that one run checks."""
MOST_LISTED: Final = 1000
MOST_NOTED: Final = 8
"""Numbers of entries of a folder that are read, and noted."""


class SeenFolder(Struct, kw_only=True, omit_defaults=True):
    """The notes on a folder."""

    remotes: list[str] = field(default_factory=list)
    """Every git remote that it ever had."""
    inside: str = ""
    """Path in its repository; empty for the top."""
    repository: str = ""
    """For a linked worktree: the top of its main repository."""
    identity: str = ""
    """Device and inode, which a rename does not change. Another folder may have them later."""
    contents: list[str] = field(default_factory=list)
    """Names and inodes of some entries: with the same identity, they prove that it is the same folder."""
    first: int = 0
    """When it was first seen, in seconds."""
    looked: int = 0
    """When it was last seen."""
    moved: str = ""
    """The folder in which the user continued it."""


class SeenFolders(Struct, kw_only=True):
    """The content of the file."""

    swept: int = 0
    """When all projects were last checked, in seconds."""
    folders: dict[str, SeenFolder] = field(default_factory=dict)
    moves: dict[str, str] = field(default_factory=dict)
    """The new folders of projects that were moved."""


def seen_folders(library: Path) -> dict[str, SeenFolder]:
    """Return the notes, by the path of the folder."""
    return _read_if_possible(library).folders


def is_sweep_due(library: Path) -> bool:
    """Whether all projects should be checked again, and not only those whose sessions grow."""
    return abs(int(time.time()) - _read_if_possible(library).swept) > REFRESH_SECONDS


def note_folders(library: Path, folders: Iterable[str]) -> None:
    """Check these folders, unless that was done lately, and note changes. Folders that are gone stay as noted."""
    now = int(time.time())
    try:
        noted = _read(library)
    except OSError:
        return  # notes there on gone folders must not be replaced
    seen = noted.folders
    due = [
        path for path in dict.fromkeys(folders) if path not in seen or abs(now - seen[path].looked) > REFRESH_SECONDS
    ]
    is_swept = abs(now - noted.swept) <= REFRESH_SECONDS
    for path in due[:MOST_AT_ONCE]:
        current = look_at(path, now)
        if current is not None:
            known = seen.get(path)
            remotes = {*(known.remotes if known else ()), *current.remotes}
            first = known.first if known else now
            seen[path] = msgspec.structs.replace(current, remotes=sorted(remotes), first=first)
    if due or not is_swept:
        noted.swept = noted.swept if is_swept else now
        noted.moves = _moves(seen)
        _write(library, noted)


def note_move(library: Path, old: str, new: str) -> None:
    """Note that the user moved a project to another folder."""
    now = int(time.time())
    current = look_at(new, now)
    try:
        noted = _read(library)
    except OSError:
        return
    if current is None or os.path.isdir(old):  # noqa: PTH112 - the path of a transcript
        return
    noted.folders.setdefault(new, msgspec.structs.replace(current, first=now))
    known = noted.folders.get(old, SeenFolder())
    noted.folders[old] = msgspec.structs.replace(known, moved=new)
    noted.moves = _moves(noted.folders)
    _write(library, noted)


def moved_projects(library: Path) -> dict[str, str]:
    """Return the new folders of projects that were moved."""
    return _read_if_possible(library).moves


def is_same_folder(noted: SeenFolder, now: SeenFolder) -> bool:
    """Whether a folder is surely the noted one, even under another name."""
    return bool(noted.identity) and noted.identity == now.identity and not set(noted.contents).isdisjoint(now.contents)


def former_folders(library: Path, path: str) -> set[str]:
    """Return gone folders that were the same project as this one: another clone, or this folder under another name."""
    now = look_at(path)
    if now is None:
        return set()
    return {
        other
        for other, noted in seen_folders(library).items()
        if ((noted.inside == now.inside and set(noted.remotes) & set(now.remotes)) or is_same_folder(noted, now))
        and not os.path.isdir(other)  # noqa: PTH112 - the path of a transcript
    }


def _is_later(path: str, known: SeenFolder, noted: SeenFolder) -> bool:
    """Whether a folder replaced the other one: it has its identity now, or was seen after it."""
    return identity_of(path) == noted.identity or known.looked > noted.looked


def _moves(seen: dict[str, SeenFolder]) -> dict[str, str]:
    """Return the moves between the current folders; several moves in a row lead to the last place."""
    gone = {path for path in seen if not os.path.isdir(path)}  # noqa: PTH112 - the paths of transcripts
    next_place: dict[str, str] = {}
    by_identity: dict[str, list[str]] = {}
    for path, known in seen.items():
        by_identity.setdefault(known.identity, []).append(path)
    for path in sorted(gone):
        noted = seen[path]
        renamed = [
            other
            for other in by_identity[noted.identity]
            if other != path and is_same_folder(noted, seen[other]) and _is_later(other, seen[other], noted)
        ]
        later = [
            other
            for other, known in seen.items()
            if set(noted.remotes) & set(known.remotes)
            and known.inside == noted.inside
            and not noted.repository
            and not known.repository
            and known.first > noted.looked
        ]
        living = [other for other in later if other not in gone] or later
        if noted.moved:
            next_place[path] = noted.moved
        elif renamed:
            next_place[path] = max(renamed, key=lambda other: seen[other].looked)
        elif len(living) == 1:
            next_place[path] = living[0]
    moves: dict[str, str] = {}
    for path in next_place:
        place, passed = path, {path}
        while next_place.get(place, place) not in passed:
            place = next_place[place]
            passed.add(place)
        moves[path] = place
    return moves


def _write(library: Path, noted: SeenFolders) -> None:
    private_folder(library)
    write_private(library / FILE, msgspec.json.format(msgspec.json.encode(noted), indent=1) + b"\n")


def look_at(path: str, now: int = 0) -> SeenFolder | None:
    """Return the current state of a folder; None if it is missing, cannot be read, or its name is not text."""
    try:
        path.encode()
        remotes = git_remotes(path) if os.path.isabs(path) else None  # noqa: PTH117 - the path of a transcript
    except UnicodeEncodeError:
        return None
    if remotes is None:
        return None
    repository = repository_of(path)
    if repository is None:
        return SeenFolder(identity=identity_of(path), contents=contents_of(path), looked=now)
    top, main = repository
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
    return SeenFolder(
        remotes=sorted(remotes),
        inside="" if inside == "." else inside,
        repository=str(main) if main else "",
        identity=identity_of(path),
        contents=contents_of(path),
        looked=now,
    )


def identity_of(path: str) -> str:
    """Return device and inode of a folder; empty if it cannot be read."""
    try:
        status = os.stat(path)  # noqa: PTH116 - the path of a transcript, as it is
    except (OSError, ValueError):
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def contents_of(path: str) -> list[str]:
    """Return names and inodes of some entries of a folder, the same ones as long as it does not change."""
    try:
        with os.scandir(path) as entries:
            listed = sorted((entry.name, entry.inode()) for entry in islice(entries, MOST_LISTED))
    except (OSError, ValueError):
        return []
    return [f"{inode} {name}" for name, inode in listed if name.isprintable()][:MOST_NOTED]


def _read(library: Path) -> SeenFolders:
    """Return the content of the file. A damaged one is empty: it is made again. OSError if it cannot be read."""
    try:
        return msgspec.json.decode(read_own(library / FILE), type=SeenFolders)
    except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return SeenFolders()


def _read_if_possible(library: Path) -> SeenFolders:
    try:
        return _read(library)
    except OSError:
        return SeenFolders()
