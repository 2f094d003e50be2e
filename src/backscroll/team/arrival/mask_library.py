"""Mask secrets in a library that was filled before its organisation had secrets masked on arrival."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from backscroll.archive.kept_file import KeptFile, Version
from backscroll.disk import write_private
from backscroll.library.archives import find_archive, open_writer
from backscroll.redaction.redactor import redact
from backscroll.settings import Settings
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.masks import ArrivalMasks

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.team.database.connections import Database

UNFINISHED: Final = "masking"
"""A file in the folder of a person: the archive was masked, but the index may still have its secrets."""


def mask_library(database: "Database", libraries: Libraries, handle: str) -> bool:
    """Mask archive, index and titles of shared chats, with the person's lock held; return whether anything changed."""
    settings = libraries.settings(handle)
    unfinished = settings.library / UNFINISHED
    if not mask_archive(settings, lambda: write_private(unfinished, b"")) and not unfinished.exists():
        return False
    with libraries.own(handle) as library:
        library.rebuild()
        library.update()  # removes the index that was replaced
    _mask_titles(database, libraries.number(handle))
    unfinished.unlink()
    return True


def mask_archive(settings: Settings, before: Callable[[], object]) -> bool:
    """Mask an archive, piece by piece; return whether anything changed. `before` is called before the change."""
    archive = find_archive(settings)
    if archive is None:
        return False
    masks = ArrivalMasks()
    changed = {
        (file.number, version.number)
        for file in archive.files.values()
        for version in file.versions
        if version.is_whole and any(old != new for old, new in _pieces(archive, masks, file, version))
    }
    if not changed:
        return False
    before()
    with open_writer(settings) as writer:

        def rewrite(file: KeptFile, version: Version) -> Iterable[bytes] | None:
            is_changed = (file.number, version.number) in changed
            return (new for _, new in _pieces(writer, masks, file, version)) if is_changed else None

        writer.forget((), (), rewrite=rewrite)
    return True


def _pieces(archive: "Archive", masks: ArrivalMasks, file: KeptFile, version: Version) -> Iterator[tuple[bytes, bytes]]:
    """Yield a version in pieces, each before and after masking."""
    return masks.pieces(file.path, archive.content(version), version.size)


def _mask_titles(database: "Database", person: int) -> None:
    with database.transaction() as connection:
        for table in ("share", "share_link"):
            rows = connection.execute(f"select id, title from {table} where owner = %s", (person,)).fetchall()  # noqa: S608
            for number, title in rows:
                masked = redact(title)[0]
                if masked != title:
                    connection.execute(f"update {table} set title = %s where id = %s", (masked, number))  # noqa: S608
