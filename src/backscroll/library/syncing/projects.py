"""Which project a kept file belongs to, so that a policy can decide about it."""

import configparser
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from backscroll.archive.archive import Archive, DamagedError
from backscroll.archive.kept_file import KeptFile
from backscroll.errors import BackscrollError
from backscroll.files.layout import FileKind
from backscroll.sync.policy import EffectivePolicy, Policy, Project, SyncMode

HEAD: Final = 200_000
"""How much of a session is looked at to find out where it ran."""
LARGEST_CONFIG: Final = 1_000_000
NO_PROJECT: Final = "(no project)"


class FileProjects:
    """The projects of the files in an archive."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._folders: dict[str, list[KeptFile]] = {}
        self._of_session: dict[str, str] = {}
        for file in archive.files.values():
            place = file.place
            if file.kind is FileKind.SESSION and place.project_folder:
                self._folders.setdefault(place.project_folder, []).append(file)
                if place.session_id:
                    self._of_session[place.session_id] = place.project_folder
        self._projects: dict[str, Project] = {}

    def folder_of(self, file: KeptFile) -> str | None:
        """The folder in `projects/` that a file belongs to, by its path or by its session; None if to none."""
        place = file.place
        return place.project_folder or self._of_session.get(place.session_id or "")

    def project_of(self, file: KeptFile) -> Project | None:
        """The project of a file; None if it belongs to none, or to several."""
        folder = self.folder_of(file)
        if folder is None:
            return None
        if folder not in self._projects:
            path = next((found for one in self._folders.get(folder, ()) if (found := self._cwd(one))), None)
            self._projects[folder] = Project(path, git_remote(path) if path else None)
        return self._projects[folder]

    def name_of(self, file: KeptFile) -> str:
        """What the project of a file is called: its folder, where that is known."""
        project = self.project_of(file)
        return NO_PROJECT if project is None else project.path or self.folder_of(file) or NO_PROJECT

    def mode_of(self, policy: Policy | EffectivePolicy, file: KeptFile) -> SyncMode:
        """How much of a file may leave."""
        return policy.mode_of(self.project_of(file))

    def _cwd(self, file: KeptFile) -> str | None:
        """Where a session ran."""
        version = file.fullest
        if version is None:
            return None
        try:
            data = self._archive.read(version, 0, min(HEAD, version.size))
        except (DamagedError, BackscrollError):
            return None
        for line in data.splitlines():
            if b'"cwd"' in line:
                try:
                    cwd = msgspec.json.decode(line, type=_Where).cwd
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue
                if cwd:
                    return cwd
        return None


class _Where(msgspec.Struct):
    cwd: str = ""


@cache
def git_remote(folder: str) -> str | None:
    """The address of the git remote of a folder on this machine, as its configuration has it."""
    for parent in (Path(folder), *Path(folder).parents):
        config = parent / ".git" / "config"
        try:
            if not config.is_file() or config.stat().st_size > LARGEST_CONFIG:
                continue
            text = config.read_text(encoding="utf-8")
        except (OSError, ValueError):  # the folder is what a transcript says: it may be anything
            continue
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        try:
            parser.read_string("\n".join(line.strip() for line in text.splitlines()))
        except configparser.Error:
            return None
        names = [name for name in parser.sections() if name.startswith("remote ")]
        chosen = 'remote "origin"' if 'remote "origin"' in names else next(iter(names), None)
        return parser.get(chosen, "url", fallback=None) if chosen else None
    return None
