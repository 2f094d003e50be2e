"""The archive of a library: its folder, and how to open it.

Every command loads this module, and few open the archive, so its code is imported where it is opened.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll.archive.stamp import disk_state
from backscroll.disk import private_folder
from backscroll.errors import NothingFound, storage_error
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.settings import Settings

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.archive.rewriting import Writer


def archive_folder(settings: Settings) -> Path:
    """The folder of a library's archive."""
    return settings.archive or settings.library / "archive"


def open_writer(settings: Settings, *, accepts_loss: bool = False) -> Writer:
    """The archive of a library, open for writing; creates the library with private permissions."""
    from backscroll.archive.rewriting import Writer

    private_folder(settings.library)
    return Writer(archive_folder(settings), accepts_loss=accepts_loss)


def find_archive(settings: Settings) -> Archive | None:
    """The archive, if anything was ever kept. An unreadable archive is an error, not "nothing"."""
    try:
        archive = SHARED.open(archive_folder(settings))
    except NotADirectoryError:
        return None
    except OSError as error:
        raise storage_error(error, "the archive could not be read") from error
    return archive if archive.exists else None


def has_history(settings: Settings, homes: Sequence[Home]) -> bool:
    """Whether there are conversations to show: in a home, or kept from one."""
    if any(home.has_sessions for home in homes):
        return True
    archive = find_archive(settings)
    return archive is not None and any(file.kind is FileKind.SESSION for file in archive.files.values())


class SharedArchive:
    """The last opened archive, shared by all threads: its catalogue may be large and only changes when it grows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp: tuple[object, ...] = ()
        self._archive: Archive | None = None

    def open(self, folder: Path) -> Archive:
        """The current state of the archive in this folder."""
        from backscroll.archive.archive import Archive

        with self._lock:
            stamp = (folder, disk_state(folder))
            if self._archive is None or stamp != self._stamp:
                before, self._archive = self._archive, None
                grown = before.grown() if before is not None and before.folder == folder else None
                del before  # so that two whole catalogues are never in memory at once
                self._archive, self._stamp = grown or Archive(folder), stamp
            return self._archive


SHARED: Final = SharedArchive()


def open_archive(settings: Settings) -> Archive:
    """The archive; an error if there is none."""
    from backscroll.archive.archive import Archive

    archive = Archive(archive_folder(settings))
    if not archive.exists:
        raise NothingFound(f"nothing is kept yet in {archive.folder}", "run backscroll keep")
    return archive
