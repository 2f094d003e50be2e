"""Restore a kept chat to its home or to a folder."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.restore import Restored as Restored
from backscroll.archive.restore import restore
from backscroll.errors import NothingFound
from backscroll.files.names import project_folder
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

    What is from another machine goes into the home of this one, so that Claude Code can go on with it here.

    Of each file the fullest version is restored. With the number of a version, or the end of a path, only one file is.
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
    """The path of a file in its home, if its session is to belong to another project."""
    parts = path.split("/")
    if project is not None and parts[0] == "projects" and len(parts) > 2:
        parts[1] = project_folder(str(project))
    return "/".join(parts)


def _early(library: Library, archive: Archive, name: str, to: Path | None) -> list[Restored]:
    """The sessions of the chat that are in a database or log of early clients, as session files."""
    try:
        opened = library.open(name, with_records=False)
    except NothingFound:
        return []
    return restore_early(library, archive, opened, to)


def _in_place(library: Library, files: Sequence[KeptFile]) -> Iterator[tuple[Path, KeptFile]]:
    """Where each file belongs: in its home, or, if that is on another machine, in the first home of this one.

    Where both would be the same file, the fuller one is taken.
    """
    here = library.homes[0].path if library.homes else None
    chosen: dict[tuple[Path, str], KeptFile] = {}
    for file in files:
        home = Path(file.home) if library.machine.is_own(file.machine) else here
        if home is None:
            raise NothingFound(f"{file.path} is from another machine: {file.machine}", "name a folder with --to")
        other = chosen.get((home, file.path))
        if other is None or _size(file) > _size(other):
            chosen[home, file.path] = file
    return ((home, file) for (home, _), file in chosen.items())


def _size(file: KeptFile) -> int:
    return file.fullest.size if file.fullest else 0
