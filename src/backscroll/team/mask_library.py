"""Mask secrets in a library that was filled before its organisation had that done on arrival."""

from typing import TYPE_CHECKING, Final

from backscroll.archive.kept_file import KeptFile, Version
from backscroll.disk import write_private
from backscroll.library.archives import find_archive, open_writer
from backscroll.redaction.redactor import redact
from backscroll.team.arrival_masks import ArrivalMasks
from backscroll.team.libraries import Libraries

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.team.database import Database

UNFINISHED: Final = "masking"
"""A file in the folder of a person: the archive was masked, and the index may still have what was in it before."""


def mask_library(database: "Database", libraries: Libraries, handle: str) -> bool:
    """Mask archive, index and titles of shared chats, with the person's lock held; return whether anything changed."""
    settings = libraries.settings(handle)
    archive = find_archive(settings)
    if archive is None:
        return False
    masks = ArrivalMasks()
    changed = {
        (file.number, version.number)
        for file in archive.files.values()
        for version in file.versions
        if version.is_whole and _masked(archive, masks, file, version) is not None
    }
    unfinished = settings.library / UNFINISHED
    if not changed and not unfinished.exists():
        return False
    write_private(unfinished, b"")
    if changed:
        with open_writer(settings) as writer:

            def rewrite(file: KeptFile, version: Version) -> bytes | None:
                is_wanted = (file.number, version.number) in changed
                return _masked(writer, masks, file, version) if is_wanted else None

            writer.forget((), (), rewrite=rewrite)
    with libraries.own(handle) as library:
        library.rebuild()
        library.update()  # removes the index that was replaced
    _mask_titles(database, libraries.number(handle))
    unfinished.unlink()
    return True


def _masked(archive: "Archive", masks: ArrivalMasks, file: KeptFile, version: Version) -> bytes | None:
    """What a version has to be; None if it is so already."""
    data = b"".join(archive.content(version))
    masked = masks.segment(file.path, data)
    return None if masked == data else masked


def _mask_titles(database: "Database", person: int) -> None:
    with database.transaction() as connection:
        for table in ("share", "share_link"):
            rows = connection.execute(f"select id, title from {table} where owner = %s", (person,)).fetchall()  # noqa: S608
            for number, title in rows:
                masked = redact(title)[0]
                if masked != title:
                    connection.execute(f"update {table} set title = %s where id = %s", (masked, number))  # noqa: S608
