"""Restore a kept chat to its home or to a folder."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.restore import Restored as Restored
from backscroll.archive.restore import restore
from backscroll.errors import NothingFound
from backscroll.files.homes import is_gone
from backscroll.files.names import project_folder
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import open_archive
from backscroll.library.keeping.kept_versions import SEE_VERSIONS, choose_file, find_kept
from backscroll.library.keeping.restore_early import restore_early
from backscroll.library.library import Library


def put_back(
    library: Library,
    name: str,
    to: Path | None,
    *,
    number: int | None = None,
    path: str | None = None,
    project: Path | None = None,
) -> list[Restored]:
    """Restore a chat with all that belongs to it: into a folder, or, without one, into its home.

    Files from another machine go into the home of this one, so that Claude Code can continue the chat here.

    The fullest version of each file is restored. With the number of a version, or the end of a path, only one file is.
    With `project`, the sessions are put where Claude Code looks for those of that folder.
    """
    archive = open_archive(library.settings)
    files = find_kept(library, archive, name).files
    early = _early(library, archive, name, to) if number is None and path is None else []
    if early and not files:
        return early
    if not files:
        raise NothingFound("nothing of this chat is kept", "run backscroll keep")
    if number is not None or path is not None:
        file = choose_file(files, path)
        if number is not None and file.version(number) is None:
            raise NothingFound(f"{file.path} has no version {number}", SEE_VERSIONS)
        files = [file]
    if to is not None:
        return [*early, *restore(archive, files, to, fresh=False, number=number)]
    return early + [
        done
        for home, file in _in_place(library, files)
        for done in restore(archive, [file], home, fresh=True, number=number, place=partial(_place, project))
    ]


def _place(project: Path | None, path: str) -> str:
    """Return the path of a file in its home; with `project`, moved to that project."""
    parts = path.split("/")
    if project is not None and parts[0] == "projects" and len(parts) > 2:
        parts[1] = project_folder(str(project))
    return "/".join(parts)


def _early(library: Library, archive: Archive, name: str, to: Path | None) -> list[Restored]:
    """Restore the chat's sessions that are in a database or log of early clients, as session files."""
    try:
        opened = library.open(name, with_records=False)
    except NothingFound:
        return []
    return restore_early(library, archive, opened, to)


def target_home(library: Library, key: SourceKey | KeptFile) -> Path:
    """Return the home to restore a file to: its own, or the first of this machine if that is gone or elsewhere."""
    own = Path(key.home)
    if library.machine.is_own(key.machine) and not is_gone(key.home):
        return own
    here = next((home.path for home in library.homes if not home.is_cache), None)
    if here is None and library.machine.is_own(key.machine):
        return own
    if here is None:
        raise NothingFound(f"{key.path} is from another machine: {key.machine}", "name a folder with --to")
    return here


def _in_place(library: Library, files: Sequence[KeptFile]) -> Iterator[tuple[Path, KeptFile]]:
    """Return each file with its target home: its own, or, if that is gone or elsewhere, the first home of this machine.

    If two files have the same target, the fuller one is taken.
    """
    chosen: dict[tuple[Path, str], KeptFile] = {}
    for file in files:
        home = target_home(library, file)
        other = chosen.get((home, file.path))
        if other is None or _size(file) > _size(other):
            chosen[home, file.path] = file
    return ((home, file) for (home, _), file in chosen.items())


def _size(file: KeptFile) -> int:
    return file.fullest.size if file.fullest else 0
