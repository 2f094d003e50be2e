"""Remove the chats of a person whose time is up: from the archive, the index, the marks, the shares and the objects.

The archive forgets them first. It remembers that it did by hashes, so that they do not come back when a machine sends
them again, and so that what is cut off is finished by the next look.
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
from backscroll.team.audit import record
from backscroll.team.erasures import to_be_erased
from backscroll.team.exclusive import exclusive
from backscroll.team.holds import holds_on
from backscroll.team.libraries import Libraries
from backscroll.team.people import Person
from backscroll.team.retention import end_of, is_held, rules_of

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.team.database import Connection, Database

MAX_NAMED: Final = 10
"""Chats that the audit log names at most."""


def expire_chats(database: "Database", objects: Remote, libraries: Libraries, person: Person) -> list[str]:
    """Look through the chats of a person; return the ids of those that were removed."""
    with exclusive(database, person.id):
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
            expired = _look(connection, library, person)
        if not expired:
            return []
        archive = library.archive
        kept = [find_kept(library, archive, chat) for chat in expired] if archive is not None else []
        with database.transaction() as connection:  # before anything is removed: it is finished after a crash
            _note_expired(connection, person, expired)
        forget_chats(library, kept)
        library.update()  # removes the index that was replaced
    return expired


def _look(connection: "Connection", library: Library, person: Person) -> list[str]:
    """Note when each chat ends; return those whose time is up."""
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
    named = ", ".join(chats[:MAX_NAMED]) + (", …" if len(chats) > MAX_NAMED else "")
    record(connection, person.org, "server", "chats.expired", person.handle, f"{len(chats)}: {named}")


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
