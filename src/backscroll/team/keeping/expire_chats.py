"""Remove the chats of a person whose time is up: from the archive, the index, the marks, the shares and the objects.

The archive forgets the chats first, and keeps their hashes: so they do not come back when a machine sends them again,
and the next run finishes an interrupted one.
"""

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from backscroll.library.archives import find_archive
from backscroll.library.keeping.forget import forget_chats
from backscroll.library.keeping.kept_versions import find_kept
from backscroll.library.library import Library
from backscroll.sync.forgotten_content import remove_forgotten
from backscroll.sync.remotes import Remote
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.audit import record
from backscroll.team.keeping.erasures import to_be_erased
from backscroll.team.keeping.holds import holds_on
from backscroll.team.keeping.person_lock import person_lock
from backscroll.team.keeping.retention import end_of, is_held, rules_of
from backscroll.team.people.accounts import Person

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.team.database.connections import Connection, Database

MAX_NAMED: Final = 10
"""Chats that the audit log names at most."""


def expire_chats(database: "Database", objects: Remote, libraries: Libraries, person: Person) -> list[str]:
    """Remove the expired chats of a person; return their ids."""
    with person_lock(database, person.id):
        with database.transaction() as connection:
            if person.handle in to_be_erased(connection):
                return []
            row = connection.execute(
                "select is_unfinished from retention_run where person = %s", (person.id,)
            ).fetchone()
        expired = _expire(database, libraries, person)
        if expired or (row is not None and row[0]):
            _remove_from_objects(database, objects, libraries, person.handle)
        with database.transaction() as connection:
            connection.execute(
                "insert into retention_run (person) values (%s)"
                " on conflict (person) do update set looked = now(), is_unfinished = false",
                (person.id,),
            )
    return expired


def _expire(database: "Database", libraries: Libraries, person: Person) -> list[str]:
    with libraries.own(person.handle) as library:
        if not library.is_indexed:
            return []
        with database.transaction() as connection:
            expired = _find_expired(connection, library, person)
        if not expired:
            return []
        archive = library.archive
        kept_chats = [find_kept(library, archive, chat) for chat in expired] if archive is not None else []
        with database.transaction() as connection:  # before anything is removed: it is finished after a crash
            _note_expired(connection, person, expired)
        forget_chats(library, kept_chats)
        library.update()  # removes the index that was replaced
    return expired


def _find_expired(connection: "Connection", library: Library, person: Person) -> list[str]:
    """Note when each chat expires; return the ids of those that have."""
    now = datetime.now(UTC)
    rules, held = rules_of(connection, person.org), holds_on(connection, person.id)
    ends = [(chat.overview, end_of(rules, chat.overview)) for chat in library.chats()] if rules else []
    connection.execute("delete from expiry where person = %s", (person.id,))
    expired = []
    for chat, end in ends:
        is_kept = is_held(held, chat)
        if end is not None and (end > now or is_kept):
            connection.execute(
                "insert into expiry (person, chat, at, is_held) values (%s, %s, %s, %s)",
                (person.id, chat.id, end, is_kept),
            )
        elif end is not None:
            expired.append(chat.id)
    return expired


def _note_expired(connection: "Connection", person: Person, chats: list[str]) -> None:
    connection.execute(
        "insert into retention_run (person, is_unfinished) values (%s, true)"
        " on conflict (person) do update set is_unfinished = true",
        (person.id,),
    )
    for table in ("share", "access"):
        connection.execute(f"delete from {table} where owner = %s and chat = any(%s)", (person.id, chats))  # noqa: S608
    names = ", ".join(chats[:MAX_NAMED]) + (", …" if len(chats) > MAX_NAMED else "")
    record(connection, person.org, "server", "chats.expired", person.handle, f"{len(chats)}: {names}")


def _remove_from_objects(database: "Database", objects: Remote, libraries: Libraries, handle: str) -> None:
    archive = find_archive(libraries.settings(handle))
    if archive is None:
        return
    with database.transaction() as connection:
        rows = connection.execute("select name from device where starts_with(name, %s)", (f"{handle}/",)).fetchall()
    for (device,) in rows:
        remove_forgotten(objects, str(device), partial(_is_forgotten, archive, str(device)))


def _is_forgotten(archive: "Archive", device: str, home: str, path: str) -> bool:
    return archive.is_forgotten(home, path, device)
