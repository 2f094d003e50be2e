"""Find the folder of a project that is not where its session ran: moved, renamed, of another user or another machine.

In order: the folder itself; a repository with the same git remote; the repository of a worktree that was removed; the
same place in this user's home folder; a folder of the same name where the session itself continued; the nearest
existing folder above. Uncertain matches are only offered.
"""

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, NamedTuple

from backscroll.library.git_remotes import git_remotes, repository_of
from backscroll.library.project_folders import SeenFolder, contents_of, identity_of

MOST_FOLDERS: Final = 4000
"""Number of folders that are searched, near the one that is gone."""
DEEPEST: Final = 3
MOST_OFFERED: Final = 5
WORKTREES: Final = re.compile(r"(.+?)[\\/]\.claude[\\/]worktrees[\\/][^\\/]+(?:[\\/](.*))?", re.DOTALL)
"""Paths in which Claude Code makes worktrees."""
USER_FOLDER: Final = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:[\\/]Users[\\/][^\\/]+)(?=[\\/]|$)")


class FoundFolder(NamedTuple):
    """A folder to continue in."""

    path: str | None
    """None if there is none to name."""
    how: str = ""
    """Why this one, as the end of a sentence; empty if it is the session's own."""
    is_sure: bool = True
    """Whether it may be used without asking."""
    others: tuple[str, ...] = ()
    """Other folders that may be the project's."""
    is_move: bool = False
    """Whether it is the same project, in another place."""


def find_folder(
    project: str | None,
    ran_in: Sequence[str],
    seen: Mapping[str, SeenFolder],
    known: Iterable[str],
    users: Iterable[str],
    here: Path,
) -> FoundFolder:
    """Return the folder to continue a session of `project` in.

    `ran_in` are the folders in its rows, in order; `seen` are the notes on folders; `known` are other projects of this
    machine; `users` are the home folders of people whose sessions are kept; `here` is the user's current folder.
    """
    if project is None or is_folder(project):
        return FoundFolder(project)
    places = _Places(project, [*reversed(ran_in), str(here), *known, *seen])
    candidates = [
        *_by_remote(project, seen, places),
        *_by_worktree(project, seen),
        *_by_user(project, users),
        *_by_identity(project, seen, places),
        *_by_name(project, ran_in, places),
        *_by_nearest(project),
    ]
    sure = next((candidate for candidate in candidates if candidate.is_sure), None)
    best = sure or next(iter(candidates), FoundFolder(None, is_sure=False))
    others = dict.fromkeys(candidate.path for candidate in candidates if candidate.path and candidate.path != best.path)
    return best._replace(others=tuple(others)[:MOST_OFFERED])


def is_folder(path: str) -> bool:
    """Whether there is such a folder here. The path is from a transcript, and may be anything."""
    try:
        return os.path.isabs(path) and path.isprintable() and os.path.isdir(path)  # noqa: PTH112, PTH117
    except ValueError:
        return False


class _Places:
    """Folders that may be the wanted one, each once: the known ones, and those nearby."""

    def __init__(self, project: str, known: Iterable[str]) -> None:
        self.known = [path for path in dict.fromkeys(known) if path != project and is_folder(path)]
        near = nearest_above(project)
        roots = [path for path in (near, str(Path.home())) if path is not None and _may_be_searched(path)]
        self.near = list(dict.fromkeys(path for root in roots for path in _below(root)))

    @property
    def all(self) -> list[str]:
        return list(dict.fromkeys([*self.known, *self.near]))


def _by_remote(project: str, seen: Mapping[str, SeenFolder], places: _Places) -> Iterator[FoundFolder]:
    """Yield the repositories with a remote that the folder had."""
    noted = seen.get(project)
    if noted is None or not noted.remotes:
        return
    remotes, inside = set(noted.remotes), noted.inside
    tops: dict[str, bool] = {}
    for path in places.all:
        repository = repository_of(path)
        if repository is not None and str(repository[0]) not in tops and remotes & (git_remotes(path) or frozenset()):
            tops[str(repository[0])] = repository[1] is None
    clones = [top for top, is_main in tops.items() if is_main] or list(tops)
    named = [top for top in clones if Path(top).name == _name(project, inside)]
    sure = named if len(named) == 1 else clones if len(clones) == 1 else []
    for top in (*sure, *(clone for clone in clones if clone not in sure)):
        whole = os.path.join(top, inside) if inside else top  # noqa: PTH118 - as the transcript writes it
        how = "it has the same git remote"
        is_sure = top in sure
        yield FoundFolder(whole if is_folder(whole) else top, how, is_sure, is_move=is_sure and not noted.repository)


def _by_worktree(project: str, seen: Mapping[str, SeenFolder]) -> Iterator[FoundFolder]:
    """Yield the repository of a worktree."""
    noted = seen.get(project)
    made = WORKTREES.fullmatch(project)
    for top, inside in (
        (noted.repository if noted else "", noted.inside if noted else ""),
        (made[1] if made else "", (made[2] or "") if made else ""),
    ):
        if top and is_folder(top):
            whole = os.path.join(top, inside) if inside else top  # noqa: PTH118
            yield FoundFolder(whole if is_folder(whole) else top, "the worktree was removed; this is its repository")


def _by_user(project: str, users: Iterable[str]) -> Iterator[FoundFolder]:
    """Yield the folder at the same place in this user's home folder."""
    usual = USER_FOLDER.match(project)
    own = str(Path.home())
    for user in dict.fromkeys([*users, *([usual[0]] if usual else [])]):
        rest = project[len(user) :].strip("/\\")
        if user == own or not rest or project[: len(user) + 1] not in (f"{user}/", f"{user}\\"):
            continue
        parts = re.split(r"[\\/]", rest)
        place = os.path.join(own, *parts)  # noqa: PTH118
        if ".." not in parts and is_folder(place):
            yield FoundFolder(place, "it is the same place in your home folder", is_move=True)


def _by_identity(project: str, seen: Mapping[str, SeenFolder], places: _Places) -> Iterator[FoundFolder]:
    """Yield the folder with the same inode. Inodes are reused: its contents show whether it is the same one."""
    noted = seen.get(project)
    if noted is not None and noted.identity:
        for path in places.all:
            if identity_of(path) == noted.identity:
                is_sure = not set(contents_of(path)).isdisjoint(noted.contents)
                yield FoundFolder(path, "it is the same folder under another name", is_sure, is_move=True)


def _by_name(project: str, ran_in: Sequence[str], places: _Places) -> Iterator[FoundFolder]:
    """Yield folders of the same name; sure only if the session itself continued there."""
    name = _name(project)
    same = [path for path in places.all if _name(path) == name]
    for path in same:
        if path in ran_in:
            yield FoundFolder(path, "the session went on there", is_move=True)
        else:
            yield FoundFolder(path, "it has the same name", is_sure=False, is_move=True)


def _by_nearest(project: str) -> Iterator[FoundFolder]:
    """Yield the nearest existing folder above: sure if it is in a repository, and so still in the same project."""
    near = nearest_above(project)
    if near is not None and _may_be_searched(near):
        is_sure = repository_of(near) is not None
        yield FoundFolder(near, "it is the nearest folder above that is there", is_sure)


def nearest_above(path: str) -> str | None:
    """Return the nearest existing folder above a path; None if the path is not of this system."""
    if not os.path.isabs(path) or "\0" in path:  # noqa: PTH117
        return None
    return next((str(parent) for parent in Path(path).parents if is_folder(str(parent))), None)


def _may_be_searched(path: str) -> bool:
    """Whether a folder is below the top folders of the system, or is the user's home."""
    parts = Path(path).parts
    return len(parts) > 2 or Path(path) == Path.home()


def _below(root: str) -> Iterator[str]:
    """Yield folders below one, the nearest first: a bounded number, nothing hidden, and nothing inside a repository."""
    waiting = deque([(root, 0)])
    seen = 0
    while waiting:
        folder, depth = waiting.popleft()
        try:
            with os.scandir(folder) as entries:
                names = sorted(
                    entry.path
                    for entry in entries
                    if not entry.name.startswith(".")
                    and entry.name not in SKIPPED
                    and entry.is_dir(follow_symlinks=False)
                )
        except OSError:
            continue
        for path in names:
            seen += 1
            if seen > MOST_FOLDERS:
                return
            yield path
            if depth + 1 < DEEPEST and not os.path.lexists(os.path.join(path, ".git")):  # noqa: PTH118
                waiting.append((path, depth + 1))


SKIPPED: Final = frozenset({"node_modules", "Library", "AppData", "proc", "sys", "dev"})


def _name(path: str, inside: str = "") -> str:
    """Return the last part of a path from any system; with `inside`, the name of its repository's top."""
    kind = PureWindowsPath if re.match(r"[A-Za-z]:[\\/]|\\\\", path) else PurePosixPath
    parts = kind(path).parts
    below = len(PurePosixPath(inside).parts) if inside else 0
    return parts[-1 - below] if len(parts) > below else ""
