"""Back up what a library keeps, take a backup as the archive, and repair an archive from one.

The index is derived and not part of a backup. What the user said of chats (marks) and saved recalls are.
"""

from pathlib import Path

import msgspec

from backscroll.archive import Archive, Merged, Writer, mend, merge
from backscroll.disk import private_folder, write_private
from backscroll.errors import NothingFound, UsageError
from backscroll.library.preserve import archive_folder, open_archive, open_writer
from backscroll.settings import Settings


def back_up(settings: Settings, to: Path) -> Merged:
    """Bring a backup up to date; a folder that is empty or not there becomes one.

    Every byte is proven before it is written. The backup keeps all it has, also what the library has lost or only has
    damaged; only what was forgotten is removed from it.
    """
    archive = open_archive(settings)
    with Writer(to, accepts_loss=True) as backup:
        done = merge(archive, backup)
    done.size += _copy_own(settings.library, to)
    return done


def restore_backup(settings: Settings, source: Path) -> tuple[int, Merged]:
    """Take a backup as the archive, where there is none yet; how many files are kept then."""
    backup = _open_backup(source)
    target = archive_folder(settings)
    if (target / "catalogue.jsonl").exists():
        hint = "repair it with backscroll archive repair --from, or name another --library"
        raise UsageError(f"there is an archive in {target} already", hint)
    with open_writer(settings) as writer:
        done = merge(backup, writer)
        files = len(writer.files)
    done.size += _copy_own(source, settings.library)
    return files, done


def repair(settings: Settings, source: Path | None) -> Merged:
    """Accept that the end of the catalogue is lost; from a backup, bring back what is lost or damaged."""
    open_archive(settings)
    backup = _open_backup(source) if source is not None else None
    with open_writer(settings, accepts_loss=True) as writer:
        if backup is None:
            return Merged()
        mended = mend(backup, writer)
        done = merge(backup, writer)
    done.mended = mended
    return done


def _open_backup(folder: Path) -> Archive:
    backup = Archive(folder)
    if not backup.exists:
        raise NothingFound(f"no archive in {folder}", "name the folder that backscroll archive backup wrote to")
    return backup


def _copy_own(source: Path, target: Path) -> int:
    """Copy marks and saved recalls; how many bytes. An empty or unreadable one takes the place of nothing."""
    copied = 0
    for name in ("marks.json", *(f"recalls/{file.name}" for file in sorted((source / "recalls").glob("*.md")))):
        file = source / name
        if not file.is_file() or file.is_symlink():
            continue
        data = file.read_bytes()
        if not data.strip() or (name == "marks.json" and not _is_json(data)):
            continue
        if (target / name).is_file() and not (target / name).is_symlink() and (target / name).read_bytes() == data:
            continue
        private_folder((target / name).parent)
        write_private(target / name, data)
        copied += len(data)
    return copied


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
