"""Arrange files to be imported as homes of Claude Code: session files in any folder, or exports of ClaudeLens."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from backscroll.disk import private_folder, write_private
from backscroll.files.layout import LeftOut, place_of
from backscroll.files.names import project_folder
from backscroll.team.operating.claudelens import read_claudelens
from backscroll.team.operating.session_copies import CopyState, compared

SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
PROJECTS: Final = "projects"
NOWHERE: Final = "imported"


@dataclass
class ImportLayout:
    """The files of an import, arranged as homes."""

    homes: list[Path] = field(default_factory=list)
    """The homes; several if the same session has different contents."""
    files: list[tuple[Path, str]] = field(default_factory=list)
    """Session files, with those of agents: home, and path below it."""
    copies: int = 0
    """Files whose lines another file contains."""
    left_out: int = 0
    """Files that are no sessions, and messages that cannot be read as such."""


class Start(msgspec.Struct):
    """Folder and session from the first lines of a session file."""

    cwd: str | None = None
    session: str | None = msgspec.field(default=None, name="sessionId")


def lay_out(source: Path, folder: Path) -> ImportLayout:
    """Arrange everything below a folder, or one file."""
    layout = ImportLayout()
    for file in _files(source):
        lens = read_claudelens(file.read_bytes()) if file.suffix in {".json", ".jsonl"} else None
        if lens is not None:
            layout.left_out += lens.left_out
            files = [
                (f"{_folder(session.cwd)}/{session.id}.jsonl", b"".join(session.lines)) for session in lens.sessions
            ]
        else:
            path = _path_of(source, file)
            files = [(path, file.read_bytes())] if path else []
            layout.left_out += not path
        for path, data in files:
            _put(layout, folder, f"{PROJECTS}/{path}", data, file.stat())
    return layout


def _put(layout: ImportLayout, folder: Path, path: str, data: bytes, facts: os.stat_result) -> None:
    """Put a file into the first home without another content under this name."""
    for number in range(len(layout.homes) + 1):
        home = folder / f"home-{number + 1}" if number else folder / "home"
        target = home / path
        if not target.exists():
            layout.files.append((home, path))
            break
        standing = compared(data, target.read_bytes())
        if standing is CopyState.EQUAL:
            layout.copies += 1
            return
        if standing is CopyState.LONGER:
            layout.copies += 1
            break
    if home not in layout.homes:
        layout.homes.append(home)
    private_folder(target.parent)
    write_private(target, data)
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    for folder, folders, names in os.walk(source):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names) if name.endswith((".jsonl", ".json")))


def _path_of(source: Path, file: Path) -> str | None:
    """Return the path of a session file below `projects`; None for any other file."""
    if file.suffix != ".jsonl":
        return None
    parts = file.relative_to(source if source.is_dir() else source.parent).parts
    if PROJECTS in parts[:-2]:
        below = parts[len(parts) - parts[::-1].index(PROJECTS) :]
        return None if isinstance(place_of((PROJECTS, *below)), LeftOut) else "/".join(below)
    with file.open("rb") as lines:
        begins = start_of(lines)
    if SESSION.fullmatch(file.stem) or file.stem.startswith("agent-"):
        return f"{_folder(begins.cwd or '')}/{file.name}"
    if begins.session and SESSION.fullmatch(begins.session):
        return f"{_folder(begins.cwd or '')}/{begins.session}.jsonl"
    return None


def start_of(lines: Iterable[bytes]) -> Start:
    """Return the first folder and session that the lines of a file name."""
    start = Start()
    for line in lines:
        try:
            row = msgspec.json.decode(line, type=Start)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        start = Start(start.cwd or row.cwd, start.session or row.session)
        if start.cwd and start.session:
            break
    return start


def _folder(cwd: str) -> str:
    return project_folder(cwd) if cwd else NOWHERE
