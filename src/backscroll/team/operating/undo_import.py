"""Undo an import: remove exactly what it brought, and leave everything else that the person has.

A request takes effect in a transaction, with a job for the workers. Every step can be repeated: the next try finishes
what was interrupted.
"""

from typing import TYPE_CHECKING, Final

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.source_key import owner_of
from backscroll.library.archives import open_writer
from backscroll.library.keeping.forget import remove_marks
from backscroll.library.keeping.kept_versions import KeptChat, find_kept
from backscroll.library.library import Library
from backscroll.library.marks import read_marks
from backscroll.sync.objects import folder_of
from backscroll.sync.remotes import Remote
from backscroll.sync.state import SyncState
from backscroll.team.arrival.libraries import STATE, Libraries
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.keeping.holds import require_no_hold
from backscroll.team.keeping.person_lock import person_lock, retry_while_busy
from backscroll.team.keeping.retention import JOB as EXPIRE
from backscroll.team.people.accounts import Person

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

JOB: Final = "undo-import"
MENTIONS: Final = ("share", "share_link", "access")
"""Tables about chats of an owner, apart from their library."""


def ask_undo(connection: "Connection", by: Person | None, name_or_number: str) -> None:
    """Request to undo an import, by its number or name; without `by`, from the command line of the server."""
    row = connection.execute(
        "select d.name, p.id, p.org, d.undone is not null from device d join person p on p.id = d.person"
        " where %s in (d.id::text, d.name) and d.is_import and p.erased is null"
        " and (%s or (p.org = %s and (p.id = %s or %s and (p.role <> 'owner' or %s))))",
        (
            name_or_number,
            by is None,
            by.org if by else 0,
            by.id if by else 0,
            by is not None and by.is_administrator,
            by is not None and by.role == "owner",
        ),
    ).fetchone()
    if row is None:
        raise NothingFound(f"there is no import {name_or_number}", "see Devices, which has the names of imports")
    device, person, org, is_undone = row
    if is_undone:
        raise UsageError(f"the import {device} was undone already", "see Audit")
    require_no_hold(connection, person)
    connection.execute("update device set undone = now() where name = %s", (device,))
    record(connection, org, by.handle if by else "server", "history.undo-import", device)
    enqueue(connection, JOB, device)


def undo_import(database: "Database", objects: Remote, libraries: Libraries, device: str) -> bool:
    """Remove what an import brought, if it is to be undone; False if it is not."""
    handle = owner_of(device)
    with person_lock(database, libraries.number(handle)) as connection:
        with connection.transaction():
            row = connection.execute(
                "select person from device where name = %s and undone is not null", (device,)
            ).fetchone()
            if row is None:
                return False
            require_no_hold(connection, row[0])
        with libraries.own(handle) as library:
            _remove_mentions(connection, library, row[0], device)
            for stored in list(objects.list(folder_of(device))):
                objects.delete(stored.name)
            with open_writer(library.settings) as writer:
                writer.forget([file for file in writer.files.values() if file.machine == device], ())
            library.rebuild()
            library.update()  # removes the index that was replaced
        state = SyncState(libraries.settings(handle).library / STATE)
        try:
            with state.saving():
                state.forget_device(device)
        finally:
            state.close()
        connection.execute("update device set stored_bytes = 0 where name = %s", (device,))
        enqueue(connection, EXPIRE, handle)  # the list of chats that expire has those of the import
    return True


def undo_now(database: "Database", objects: Remote, libraries: Libraries, device: str) -> None:
    """Undo an import now; wait for a worker that is busy with the same person."""
    retry_while_busy(lambda: undo_import(database, objects, libraries, device))


def _remove_mentions(connection: "Connection", library: Library, person: int, device: str) -> None:
    """Remove marks, shares and traces of the chats that nothing but this import has."""
    archive = library.archive
    if archive is None or not library.is_indexed:
        return
    mentioned = {chat for table in MENTIONS for (chat,) in connection.execute(
        f"select distinct chat from {table} where owner = %s", (person,))}  # noqa: S608 - names of ours  # fmt: skip
    gone: list[KeptChat] = []
    for chat in sorted(mentioned | set(read_marks(library.settings.library).chats)):
        try:
            kept = find_kept(library, archive, str(chat))
        except BackscrollError:
            continue
        if kept.files and all(file.machine == device for file in kept.files):
            gone.append(kept)
    remove_marks(library, gone)
    for table in MENTIONS:
        connection.execute(
            f"delete from {table} where owner = %s and chat = any(%s)",  # noqa: S608
            (person, [kept.id for kept in gone]),
        )
