"""Back up a library, restore a backup as the archive, and repair an archive from one.

The index is derived and not part of a backup. Included are the user's marks, saved prompts and recalls, the id of the
machine, and the noted folders and git remotes of projects.
"""

from pathlib import Path

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.line_copies import copies_in, gaps
from backscroll.archive.merge import Merged as Merged
from backscroll.archive.merge import mend, merge
from backscroll.archive.recovery import Recovered, has_all_copies
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import has_catalogue
from backscroll.archive.verify import whole_again
from backscroll.disk import private_folder, write_private
from backscroll.errors import NothingFound, UsageError
from backscroll.library.archives import archive_folder, open_archive, open_writer, restore_sign
from backscroll.library.machine import copy_machine, take_machine
from backscroll.library.marks import FILE as MARKS
from backscroll.library.project_folders import FILE as PROJECTS
from backscroll.library.prompts.prompt_file import FILE as PROMPTS
from backscroll.settings import Settings

FILES = (MARKS, PROMPTS, PROJECTS)
"""JSON files that are copied besides the archive."""


def back_up(settings: Settings, to: Path) -> tuple[Merged, list[Path]]:
    """Bring a backup up to date; an empty or missing folder becomes one.

    Every byte is verified before it is written. The backup keeps its content, even if the library has lost it or only
    has it damaged; only forgotten files are removed from it. Returns also the marks, prompts and recalls that were not
    copied because they are empty or cannot be read.
    """
    archive = open_archive(settings)
    with Writer(to, accepts_loss=True) as backup:
        done = merge(archive, backup)
    copy_machine(settings.library, to)
    size, skipped = _copy_own(settings.library, to)
    done.size += size
    return done, skipped


def restore_backup(settings: Settings, source: Path) -> tuple[int, Merged]:
    """Restore a backup as the archive, if there is none yet; return the number of kept files.

    A restore that was interrupted, or could not read all of the backup, is continued by the next call.
    """
    backup = _open_backup(source)
    target, begun = archive_folder(settings), restore_sign(settings)
    is_continued = begun.exists()
    if has_catalogue(target) and not is_continued:
        hint = "repair it with backscroll archive repair --from, or name another --library"
        raise UsageError(f"{target} already has an archive", hint)
    private_folder(settings.library)
    write_private(begun, b"archive restore-backup is not finished\n")
    take_machine(backup, settings.library)
    # Small files first: with the archive alone, nothing would show that the rest is missing.
    size = _copy_own(source, settings.library, only_missing=is_continued)[0]
    with open_writer(settings) as writer:
        done = merge(backup, writer)
        files = len(writer.files)
    if not any(refusal.may_pass for refusal in done.refused):
        begun.unlink()
    done.size += size
    return files, done


def repair(settings: Settings, source: Path | None) -> tuple[Merged, Recovered, int]:
    """Repair the archive: from the copies of its lines in the packs, and from a backup if there is one.

    Content that is neither in the packs nor in the backup is accepted as lost, so that sessions can be kept again.
    Files that are marked as damaged and are whole lose the mark. Returns also the number of bytes in the packs that
    belong to no known file.
    """
    if not any((archive_folder(settings) / "packs").glob("*.pack")):
        open_archive(settings)
    backup = _open_backup(source) if source is not None else None
    with open_writer(settings, accepts_loss=True) as writer:
        between = list(gaps(writer))
        copies = list(copies_in(writer, between))
        unclaimed = sum(gap.end - gap.start for gap in between) - sum(copy.length for copy in copies)
        if not has_all_copies(writer, copies):
            writer.renew_copies()
        mended = mend(backup, writer) if backup is not None else 0
        done = merge(backup, writer) if backup is not None else Merged()
        done.mended = mended
        for file in whole_again(writer):
            writer.trust(file)
            done.unmarked += 1
        restore_sign(settings).unlink(missing_ok=True)  # the current content is accepted
        return done, writer.recovered, unclaimed


def _open_backup(folder: Path) -> Archive:
    backup = Archive(folder)
    if not backup.exists:
        raise NothingFound(f"no archive in {folder}", "name the folder that backscroll archive backup wrote to")
    return backup


def _copy_own(source: Path, target: Path, *, only_missing: bool = False) -> tuple[int, list[Path]]:
    """Copy marks, saved prompts and recalls, and notes on projects; return the number of bytes, and the skipped files.

    A file that is empty or cannot be read replaces nothing; with `only_missing`, no file replaces anything.
    """
    copied = 0
    skipped: list[Path] = []
    for name in (*FILES, *(f"recalls/{file.name}" for file in sorted((source / "recalls").glob("*.md")))):
        file = source / name
        if not file.is_symlink() and not file.exists():
            continue
        if only_missing and (target / name).exists():
            continue
        data = _read_own(file)
        if data is None or not data.strip() or (name in FILES and not _is_json(data)):
            skipped.append(file)
            continue
        if (target / name).is_file() and not (target / name).is_symlink() and (target / name).read_bytes() == data:
            continue
        private_folder((target / name).parent)
        write_private(target / name, data)
        copied += len(data)
    return copied, skipped


def _read_own(file: Path) -> bytes | None:
    """Return the bytes of one of our files; None if it is not a file, is a link, or cannot be read."""
    try:
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None
    except OSError:
        return None


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
