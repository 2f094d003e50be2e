"""Restore a server from a backup. What was erased since is erased again, before anything is served.

The tables and the ledger of erasures are loaded in one transaction, which also locks out everyone in the ledger: a
server that is started after an interrupted restore shows nothing of them either, and its worker finishes the erasures.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from psycopg.sql import SQL, Identifier

from backscroll.disk import private_folder, write_private
from backscroll.errors import NewerVersion, UsageError
from backscroll.sync.remotes import Remote
from backscroll.team.audit import broken_at, record
from backscroll.team.backup import Manifest, check_backup, listed_objects, tables_of
from backscroll.team.database import MIGRATIONS
from backscroll.team.erase_person import erase_person, write_tables_anew
from backscroll.team.erasures import JOB as ERASE
from backscroll.team.erasures import lock_out
from backscroll.team.jobs import want
from backscroll.team.ledger import LedgerEntry, read_ledger
from backscroll.team.libraries import PEOPLE, Libraries
from backscroll.team.reset_after_update import RECOVERIES, reset_after_update

if TYPE_CHECKING:
    from backscroll.team.database import Connection, Database


@dataclass
class RestoredServer:
    """What was restored."""

    manifest: Manifest
    people: int = 0
    erased: list[str] = field(default_factory=list)
    """Who was erased again."""
    missing: list[str] = field(default_factory=list)
    """Objects that the backup lists and the object store does not have."""
    reset: list[str] = field(default_factory=list)
    """What was ended, because the backup was made by a version with a hole, and what its audit log cannot explain."""


def restore_server(
    database: "Database", objects: Remote, libraries: Libraries, data: Path, source: Path
) -> RestoredServer:
    """Restore into a database without people. The tables must be those of this version."""
    manifest = readable_backup(source)
    done = RestoredServer(manifest)
    if manifest.has_objects:
        for one in listed_objects(source):
            objects.put(one.name, (source / "objects" / one.name).read_bytes())
    ledger = list(read_ledger(objects))
    with database.transaction() as connection:
        _load(connection, source)
        if RECOVERIES not in manifest.migrations:  # made by a version with the hole that this closes
            connection.execute("update org set needs_reset = true")
            done.reset = reset_after_update(connection)
        done.erased = _lock_out_erased(connection, ledger)
        done.people = _want_indexes(connection)
        _record(connection, manifest)
    for handle in done.erased:
        erase_person(database, objects, libraries, handle, anew=False)
    if done.erased:
        write_tables_anew(database)
    put_back_files(source, data, lambda handle: handle not in done.erased)
    there = {one.name: one.size for one in objects.list()}
    gone = tuple(f"backscroll/1/{handle}%2F" for handle in done.erased)
    done.missing = [
        one.name
        for one in listed_objects(source)
        if there.get(one.name) != one.size and not (gone and one.name.startswith(gone))
    ]
    return done


def readable_backup(source: Path) -> Manifest:
    """The manifest of a backup that is whole, and that this version understands."""
    manifest = check_backup(source)
    if set(manifest.migrations) - {file.name for file in MIGRATIONS.glob("[0-9]*.sql")}:
        raise NewerVersion("the backup was made by a later version of backscroll", "update backscroll on this machine")
    return manifest


def insert_row(connection: "Connection", table: str, row: str) -> None:
    """Insert a row of a backup. Columns that a later version added have their defaults."""
    columns = SQL(", ").join(map(Identifier, msgspec.json.decode(row)))
    statement = SQL(
        "insert into {table} ({columns}) overriding system value"
        " select {columns} from json_populate_record(null::{table}, %s::json)"
    ).format(table=Identifier(table), columns=columns)
    connection.execute(statement, (row,))


def _load(connection: "Connection", source: Path) -> None:
    if connection.execute("select 1 from person").fetchone():
        raise UsageError("this server has people already", "restore into a new database")
    for table in tables_of(connection):
        file = source / "tables" / f"{table}.jsonl"
        if not file.exists():  # a table that a later version added
            continue
        name = Identifier(table)
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                insert_row(connection, table, line)
        for (column,) in connection.execute(IDENTITIES, (table,)).fetchall():
            connection.execute(
                SQL("select setval(pg_get_serial_sequence(%s, %s), greatest((select max({}) from {}), 1))").format(
                    Identifier(column), name
                ),
                (f"team.{table}", column),
            )


def _lock_out_erased(connection: "Connection", ledger: list[LedgerEntry]) -> list[str]:
    """Have everyone erased who is in a ledger, the backup's own or the one beside the objects."""
    for entry in ledger:
        connection.execute(
            "insert into erasure (org, person, handle, reason, asked_by, asked)"
            " select p.org, p.id, p.handle, %s, %s, %s from person p where p.handle = %s"
            " and not exists (select 1 from erasure e where e.person = p.id)",
            (entry.reason, entry.asked_by, entry.asked, entry.handle),
        )
    found = connection.execute("update erasure set done = null returning person, handle").fetchall()
    for person, handle in found:
        lock_out(connection, person)
        connection.execute("update hold set released = now() where person = %s and released is null", (person,))
        want(connection, ERASE, handle)
    return sorted(str(handle) for _, handle in found)


def _want_indexes(connection: "Connection") -> int:
    found = connection.execute("select handle from person where erased is null").fetchall()
    for (handle,) in found:
        want(connection, "index", handle)
    return len(found)


def _record(connection: "Connection", manifest: Manifest) -> None:
    for (org,) in connection.execute("select id from org").fetchall():
        broken = broken_at(connection, org)
        whole = "the chain of events is whole" if broken is None else f"event {broken} was changed"
        record(connection, org, "server", "server.restore", manifest.created, whole)


def put_back_files(source: Path, data: Path, is_wanted: Callable[[str], bool]) -> None:
    """Put back the marks of people, where there are none."""
    folder = source / PEOPLE
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        parts = path.relative_to(folder).parts
        target = data / PEOPLE / Path(*parts)
        if path.is_file() and is_wanted(parts[0]) and not target.exists():
            private_folder(target.parent)
            write_private(target, path.read_bytes())


IDENTITIES: Final = """
select a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'team'::regnamespace and c.relname = %s and a.attidentity <> ''
"""
