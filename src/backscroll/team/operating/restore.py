"""Restore a server from a backup. People who were erased since are erased again, before anything is served.

The tables and the ledger of erasures are loaded in one transaction, which also locks out everyone in the ledger: a
server that is started after an interrupted restore shows nothing of them either, and its worker finishes the erasures.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec
from psycopg.sql import SQL, Identifier

from backscroll.disk import private_folder, write_private
from backscroll.errors import NewerVersion, UsageError
from backscroll.files.source_key import owner_of
from backscroll.store.postgres.connection import SCHEMA as INDEX
from backscroll.sync.objects import devices_in, in_log, latest_log
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.team.arrival.libraries import PEOPLE, Libraries
from backscroll.team.database.audit import broken_at, record
from backscroll.team.database.connections import MIGRATIONS
from backscroll.team.database.jobs import enqueue
from backscroll.team.keeping.erase_person import erase_person, rewrite_tables
from backscroll.team.keeping.erasures import JOB as ERASE
from backscroll.team.keeping.erasures import LedgerEntry, lock_out, read_ledger
from backscroll.team.operating.backup import (
    COPIES,
    FIRST_CHATS,
    Manifest,
    check_backup,
    listed_objects,
    table_lines,
    tables_of,
)
from backscroll.team.operating.backup_place import Part
from backscroll.team.operating.missing_objects import StoringDevice, missing_of
from backscroll.team.operating.reset_after_update import RECOVERIES, reset_after_update

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database


@dataclass
class RestoredServer:
    """The result of restoring a server."""

    manifest: Manifest
    people: int = 0
    erased: list[str] = field(default_factory=list)
    """Handles of the people who were erased again."""
    missing: list[str] = field(default_factory=list)
    """Objects that the backup lists and the object store lacks, by machine."""
    reset: list[str] = field(default_factory=list)
    """Lines about access that was ended because the backup was made by a version with a hole (`reset_after_update`)."""


def restore_server(
    database: "Database", objects: Remote, libraries: Libraries, data: Path, source: Remote
) -> RestoredServer:
    """Restore into a database without people. The tables must be those of this version."""
    manifest = readable_backup(source)
    result = RestoredServer(manifest)
    if manifest.has_objects:
        copies = Part(source, COPIES)
        for listed in listed_objects(source):
            objects.put(listed.name, copies.get(listed.name))
    ledger = list(read_ledger(objects))
    with database.transaction() as connection:
        _load(connection, source)
        if RECOVERIES not in manifest.migrations:  # made by a version with the hole that this closes
            connection.execute("update org set needs_reset = true")
            result.reset = reset_after_update(connection)
        result.erased = _lock_out_erased(connection, ledger)
        result.people = _enqueue_indexes(connection)
        _record(connection, manifest)
    for handle in result.erased:
        erase_person(database, objects, libraries, handle, rewrites=False)
    if result.erased:
        rewrite_tables(database)
    put_back_files(source, manifest, data, lambda handle: handle not in result.erased)
    lacking = missing_of(_listed_devices(source, result.erased), objects.list())
    result.missing = [f"{device}: {problem}" for device, problem in lacking.items()]
    return result


def _listed_devices(source: Remote, erased: list[str]) -> Iterator[StoringDevice]:
    """Yield the machines whose objects a backup lists, except those of erased people."""
    for device, listed in devices_in(RemoteObject(each.name, each.size) for each in listed_objects(source)).items():
        log = latest_log(listed) or ""
        in_latest = in_log(listed, log)
        if owner_of(device) not in erased:
            yield StoringDevice(device, sum(each.size for each in in_latest), log, max(each.last for each in in_latest))


def readable_backup(source: Remote) -> Manifest:
    """Read the manifest of a backup that is whole, and that this version understands."""
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


def _load(connection: "Connection", source: Remote) -> None:
    if connection.execute("select 1 from person").fetchone():
        raise UsageError("this server has people already", "restore into a new database")
    for table in tables_of(connection):
        name = Identifier(table)
        for line in table_lines(source, table):
            insert_row(connection, table, line.decode())
        for (column,) in connection.execute(IDENTITIES, (table,)).fetchall():
            connection.execute(
                SQL("select setval(pg_get_serial_sequence(%s, %s), greatest((select max({}) from {}), 1))").format(
                    Identifier(column), name
                ),
                (f"team.{table}", column),
            )
    for line in table_lines(source, FIRST_CHATS):
        connection.execute(PUT_FIRST_CHAT, (line.decode(),))


def _lock_out_erased(connection: "Connection", ledger: list[LedgerEntry]) -> list[str]:
    """Lock out everyone in the ledgers of erasures, of the backup and beside the objects; return their handles."""
    for entry in ledger:
        connection.execute(
            "insert into erasure (org, person, handle, reason, asked_by, asked)"
            " select p.org, p.id, p.handle, %s, %s, %s from person p where p.handle = %s"
            " and not exists (select 1 from erasure e where e.person = p.id)",
            (entry.reason, entry.asked_by, entry.asked, entry.handle),
        )
    rows = connection.execute("update erasure set done = null returning person, handle").fetchall()
    for person, handle in rows:
        lock_out(connection, person)
        connection.execute("update hold set released = now() where person = %s and released is null", (person,))
        enqueue(connection, ERASE, handle)
    return sorted(str(handle) for _, handle in rows)


def _enqueue_indexes(connection: "Connection") -> int:
    rows = connection.execute("select handle from person where erased is null").fetchall()
    for (handle,) in rows:
        enqueue(connection, "index", handle)
    return len(rows)


def _record(connection: "Connection", manifest: Manifest) -> None:
    for (org,) in connection.execute("select id from org").fetchall():
        broken = broken_at(connection, org)
        whole = "the chain of events is whole" if broken is None else f"event {broken} was changed"
        record(connection, org, "server", "server.restore", manifest.created, whole)


def put_back_files(source: Remote, manifest: Manifest, data: Path, is_included: Callable[[str], bool]) -> None:
    """Put back the marks of people who have none."""
    for name in manifest.files:
        folder, *parts = PurePosixPath(name).parts
        target = data / PEOPLE / Path(*parts)
        is_marks = folder == PEOPLE and len(parts) > 1 and ".." not in parts
        if is_marks and is_included(parts[0]) and not target.exists():
            private_folder(target.parent)
            write_private(target, source.get(name))


IDENTITIES: Final = """
select a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'team'::regnamespace and c.relname = %s and a.attidentity <> ''
"""
PUT_FIRST_CHAT: Final = f"""
insert into {INDEX}.{FIRST_CHATS} select * from json_populate_record(null::{INDEX}.{FIRST_CHATS}, %s::json)
on conflict do nothing
"""  # noqa: S608 - names of ours
