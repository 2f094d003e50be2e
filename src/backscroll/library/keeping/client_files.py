"""Claude Code's own files of a chat on this machine: those that may be deleted with it, and those that remain.

Only files of this chat alone are deleted: the kept files of the chat that still exist, and all files with the id of one
of its sessions in their names. Files that hold several chats are never changed, only named.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.errors import BackscrollError
from backscroll.files.homes import Home
from backscroll.files.layout import OUTPUTS, FileKind, container_of, is_session_id
from backscroll.files.opening import open_regular
from backscroll.files.task_outputs import live_path
from backscroll.library.homes import live_sessions
from backscroll.library.keeping.kept_versions import KeptChat
from backscroll.library.library import Library


class Remainder(NamedTuple):
    """A file that contains something of a chat and is not deleted."""

    path: Path
    why: str
    """The chat's content in the file, or the reason why the file stays."""


@dataclass
class ClientFiles:
    """Claude Code's files of a chat."""

    files: list[Path] = field(default_factory=list)
    """Files of this chat alone."""
    folders: list[Path] = field(default_factory=list)
    """Folders of this chat alone: removed once they are empty."""
    remains: list[Remainder] = field(default_factory=list)
    """Files that will still contain something of the chat."""
    has_kept_prompts: bool = False
    """Whether its prompts are in a kept list of typed prompts."""

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(path.lstat().st_size for path in self.files if os.path.lexists(path))

    def delete(self) -> list[Remainder]:
        """Delete the files; return those that could not be deleted, with reasons. No link is followed."""
        left = []
        for path in self.files:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                left.append(Remainder(path, error.strerror or str(error)))
        for folder in sorted(self.folders, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):  # not empty, or gone
                folder.rmdir()
        return left


def find_client_files(library: Library, chat: KeptChat) -> ClientFiles:
    """Find Claude Code's files of a chat in the homes of this machine that it is from, and in the open homes."""
    client_files = ClientFiles()
    sessions = {file.place.session_id.lower() for file in chat.files if file.place.session_id}
    sessions |= {Path(key.path).stem.lower() for key in chat.inside}
    own = [file.key for file in chat.files if library.machine.is_own(file.machine)]
    holders = dict.fromkeys(
        key.beside(container_of(key.path) or "") for key in chat.inside if library.machine.is_own(key.machine)
    )
    kinds = {file.key: file.kind for file in library.archive.files.values()} if library.archive is not None else {}
    paths: dict[Path, None] = {}
    for key in (*own, *holders):
        path = live_path(key)
        if path.is_file() and kinds.get(key) is FileKind.DATABASE:
            client_files.remains.append(Remainder(path, "the database of an early client, with other chats in it"))
        elif path.is_file():
            paths[path] = None
    homes = {Path(key.home) for key in own} | {home.path for home in library.homes}
    for home in sorted(homes):
        for path, is_folder in _named(home, {session for session in sessions if is_session_id(session)}):
            if is_folder:
                client_files.folders.append(path)
            else:
                paths[path] = None
        client_files.remains += _mentions(home, sessions)
    kept = list(_kept_mentions(library, sessions))
    client_files.remains += kept
    client_files.has_kept_prompts = bool(kept)
    # The folders of its outputs among the temporary files.
    tasks = [
        path.parent for path in paths if path.parent.name == OUTPUTS and _has_id(path.parent.parent.name, sessions)
    ]
    client_files.folders += [*tasks, *(folder.parent for folder in tasks)]
    live = live_sessions(Home(home) for home in homes)
    if running := [live[session] for session in sorted(sessions & live.keys())]:
        why = f"the session is open in Claude Code (process {running[0].pid}): close it, then delete this"
        client_files.remains += [Remainder(path, why) for path in paths]
        client_files.folders = []
    else:
        client_files.files = list(paths)
    return client_files


def _named(home: Path, sessions: Collection[str]) -> Iterator[tuple[Path, bool]]:
    """Yield paths with one of these ids in the name, with their contents; and whether each is a folder."""
    for entry in _entries(home):
        if _has_id(entry.name, sessions):
            yield from _inside(entry)
        elif entry.is_dir() and entry.name != LIVE_SESSIONS:  # a folder of a home may be a link to another disk
            for inner in _entries(Path(entry.path)):
                if _has_id(inner.name, sessions):
                    yield from _inside(inner)
                elif entry.name == PROJECTS and inner.is_dir(follow_symlinks=False):
                    for innermost in _entries(Path(inner.path)):
                        if _has_id(innermost.name, sessions):
                            yield from _inside(innermost)


def _inside(entry: "os.DirEntry[str]") -> Iterator[tuple[Path, bool]]:
    if not entry.is_dir(follow_symlinks=False):
        yield Path(entry.path), False
        return
    for folder, folders, files in os.walk(entry.path):
        yield Path(folder), True
        yield from ((Path(folder, name), False) for name in files)
        yield from ((Path(folder, name), False) for name in folders if Path(folder, name).is_symlink())


def _has_id(name: str, sessions: Collection[str]) -> bool:
    lower = name.lower()
    return any(session in lower for session in sessions)


def _entries(folder: Path) -> "Sequence[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _mentions(home: Path, sessions: Collection[str]) -> Iterator[Remainder]:
    """Yield the files of several chats that name one of these sessions."""
    ids = [session.encode() for session in sessions]
    if prompts := _lines_with(home / HISTORY, ids):
        yield Remainder(home / HISTORY, f"{_prompts(prompts)} of it, in Claude Code's list of typed prompts")
    for index in sorted(home.glob(f"{PROJECTS}/*/sessions-index.json")):
        if _lines_with(index, ids):
            yield Remainder(index, "its title and first prompt, in a list that Claude Code writes again by itself")


def _kept_mentions(library: Library, sessions: Collection[str]) -> Iterator[Remainder]:
    """Yield the kept files that name one of these sessions."""
    archive, ids = library.archive, [session.encode() for session in sessions]
    for file in archive.files.values() if archive is not None else ():
        if archive is not None and file.kind is FileKind.HISTORY and file.latest is not None:
            with suppress(BackscrollError):  # it is damaged, which verify reports
                lines = b"".join(archive.content(file.latest)).splitlines()
                if prompts := sum(_mentions_one(line, ids) for line in lines):
                    where = f"{_prompts(prompts)} of it, in the kept copy of {file.source}"
                    yield Remainder(archive.folder, where)


def _lines_with(path: Path, ids: Collection[bytes]) -> int:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return sum(_mentions_one(line, ids) for line in file)
    except OSError:
        return 0


def _mentions_one(line: bytes, ids: Collection[bytes]) -> bool:
    lower = line.lower()
    return any(session in lower for session in ids)


def _prompts(count: int) -> str:
    return "1 prompt" if count == 1 else f"{count:,} prompts"


PROJECTS: Final = "projects"
LIVE_SESSIONS: Final = "sessions"
HISTORY: Final = "history.jsonl"
