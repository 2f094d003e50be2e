"""Put a kept chat back: into its home, or into a folder."""

from pathlib import Path

from backscroll.archive import Restored, restore
from backscroll.errors import NothingFound
from backscroll.library.archives import open_archive
from backscroll.library.keeping.kept_versions import SEE_VERSIONS, choose_file, find_kept
from backscroll.library.library import Library


def put_back(
    library: Library, name: str, to: Path | None, *, number: int | None = None, path: str | None = None
) -> list[Restored]:
    """Restore a chat with all that belongs to it: into a folder, or, without one, into its home.

    Of each file the fullest version is restored. With the number of a version, or the end of a path, only one file is.
    """
    archive = open_archive(library.settings)
    files = find_kept(library, archive, name).files
    if not files:
        raise NothingFound("nothing of this chat is kept", "run backscroll keep")
    if number is not None or path is not None:
        file = choose_file(files, path)
        if number is not None and file.version(number) is None:
            raise NothingFound(f"{file.path} has no version {number}", SEE_VERSIONS)
        files = [file]
    if to is not None:
        return list(restore(archive, files, to, fresh=False, number=number))
    return [done for file in files for done in restore(archive, [file], Path(file.home), fresh=True, number=number)]
