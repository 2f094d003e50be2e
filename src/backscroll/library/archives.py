"""The archive of a library: its folder, and how to open it.

Every command loads this module, and few open the archive, so its code is imported where it is opened.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
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


MAX_SHARED: Final = 32
MAX_SHARED_CHUNKS: Final = 60_000
"""About 50 MB of chunks."""


def archive_folder(settings: Settings) -> Path:
    """Return the folder of a library's archive."""
    return settings.archive or settings.library / "archive"


def restore_sign(settings: Settings) -> Path:
    """Return the file that exists while a backup is being restored, and stays if that is interrupted."""
    return settings.library / "restoring"


def open_writer(settings: Settings, *, accepts_loss: bool = False) -> Writer:
    """Open the archive of a library for writing; creates the library with private permissions."""
    from backscroll.archive.rewriting import Writer

    private_folder(settings.library)
    return Writer(archive_folder(settings), accepts_loss=accepts_loss)


def find_archive(settings: Settings) -> Archive | None:
    """Return the archive, if one was ever written. An unreadable archive is an error, not None."""
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


class SharedArchives:
    """The archives that were opened last, shared by all threads: a catalogue may be large, and rarely changes.

    A library has one. A team server has one for each person, and answers a search from those of several.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, tuple[tuple[object, ...], Archive]] = OrderedDict()

    def open(self, folder: Path) -> Archive:
        """Return the current state of the archive in this folder."""
        from backscroll.archive.archive import Archive

        with self._lock:
            stamp = disk_state(folder)
            known, before = self._open.pop(folder, ((), None))
            if before is None or stamp != known:
                grown = before.grown() if before is not None else None
                before = None  # so that two whole catalogues are never in memory at once
                before = grown or Archive(folder)
            self._open[folder] = (stamp, before)
            self._close_some()
            return before

    def _close_some(self) -> None:
        """Release the least recently used archives; the last one stays, however large it is."""
        chunks = sum(len(archive.chunks) for _, archive in self._open.values())
        while len(self._open) > 1 and (len(self._open) > MAX_SHARED or chunks > MAX_SHARED_CHUNKS):
            _, (_, archive) = self._open.popitem(last=False)
            chunks -= len(archive.chunks)


SHARED: Final = SharedArchives()


def open_archive(settings: Settings) -> Archive:
    """Return the archive; raises an error if there is none."""
    from backscroll.archive.archive import Archive

    archive = Archive(archive_folder(settings))
    if not archive.exists:
        raise NothingFound(f"nothing is kept yet in {archive.folder}", "run backscroll keep")
    return archive
