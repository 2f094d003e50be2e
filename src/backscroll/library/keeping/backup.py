"""Back up what a library keeps, take a backup as the archive, and repair an archive from one.

The index is derived and not part of a backup. What the user said of chats (marks), saved prompts and recalls, and which
machine it is from are.
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
from backscroll.disk import private_folder, write_private
from backscroll.errors import NothingFound, UsageError
from backscroll.library.archives import archive_folder, open_archive, open_writer
from backscroll.library.machine import machine_of_backup, read_machine, write_machine
from backscroll.library.marks import FILE as MARKS
from backscroll.library.prompts.prompt_file import FILE as PROMPTS
from backscroll.settings import Settings

FILES = (MARKS, PROMPTS)
"""What is copied besides the archive, as JSON."""


def back_up(settings: Settings, to: Path) -> tuple[Merged, list[Path]]:
    """Bring a backup up to date; a folder that is empty or not there becomes one.

    Every byte is proven before it is written. The backup keeps all it has, also what the library has lost or only has
    damaged; only what was forgotten is removed from it. Returns also the marks, prompts and recalls that were
    not copied because they are empty or cannot be read.
    """
    archive = open_archive(settings)
    with Writer(to, accepts_loss=True) as backup:
        done = merge(archive, backup)
    write_machine(to, read_machine(settings.library))
    size, skipped = _copy_own(settings.library, to)
    done.size += size
    return done, skipped


def restore_backup(settings: Settings, source: Path) -> tuple[int, Merged]:
    """Restore a backup as the archive, if there is none yet; return the number of kept files."""
    backup = _open_backup(source)
    target = archive_folder(settings)
    if has_catalogue(target):
        hint = "repair it with backscroll archive repair --from, or name another --library"
        raise UsageError(f"{target} already has an archive", hint)
    private_folder(settings.library)
    write_machine(settings.library, machine_of_backup(backup))
    with open_writer(settings) as writer:
        done = merge(backup, writer)
        files = len(writer.files)
    done.size += _copy_own(source, settings.library)[0]
    return files, done


def repair(settings: Settings, source: Path | None) -> tuple[Merged, Recovered, int]:
    """Mend the archive: from the copies of its lines in the packs, and from a backup if there is one.

    What is neither in the packs nor in the backup is accepted as lost, so that sessions can be kept again. Returns also
    how many bytes in the packs belong to nothing that is known.
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
        if backup is None:
            return Merged(), writer.recovered, unclaimed
        mended = mend(backup, writer)
        done = merge(backup, writer)
        recovered = writer.recovered
    done.mended = mended
    return done, recovered, unclaimed


def _open_backup(folder: Path) -> Archive:
    backup = Archive(folder)
    if not backup.exists:
        raise NothingFound(f"no archive in {folder}", "name the folder that backscroll archive backup wrote to")
    return backup


def _copy_own(source: Path, target: Path) -> tuple[int, list[Path]]:
    """Copy marks, saved prompts and saved recalls; how many bytes, and what was skipped.

    One that is empty or cannot be read replaces nothing.
    """
    copied = 0
    skipped: list[Path] = []
    for name in (*FILES, *(f"recalls/{file.name}" for file in sorted((source / "recalls").glob("*.md")))):
        file = source / name
        if not file.is_symlink() and not file.exists():
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
    """The bytes of one of our files; None if it is not a file, is a link, or cannot be read."""
    try:
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None
    except OSError:
        return None


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
