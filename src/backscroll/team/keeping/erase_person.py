"""Erase a person: rows and words, the archive, the objects, and everything about them in the server's own tables.

Every step can be repeated: the next try finishes what was interrupted. The tables are rewritten at the end,
because deleted rows leave their bytes in the pages of a table until other rows take their place.
"""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from psycopg.sql import SQL, Identifier

from backscroll.errors import BackscrollError, Busy
from backscroll.render.terminal import plural
from backscroll.sync.objects import ROOT
from backscroll.sync.remotes import Remote
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.audit import record
from backscroll.team.keeping.erasures import Erasure, erasure_of, lock_out, note_in_ledger
from backscroll.team.keeping.holds import require_no_hold
from backscroll.team.keeping.person_lock import person_lock, retry_while_busy

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

MAX_LISTINGS: Final = 5
LOCK_WAIT: Final = "5s"
PATIENCE: Final = 30.0
POLL_SECONDS: Final = 0.05
KEPT: Final = frozenset({("access", "reader")})
"""The owner of a chat sees who read it, even after the reader was erased."""


def erase_person(
    database: "Database", objects: Remote, libraries: Libraries, handle: str, *, rewrites: bool = True
) -> int:
    """Erase a person if the ledger says so; return how many objects were removed.

    Without `rewrites`, the caller rewrites the tables.
    """
    with database.transaction() as connection:
        entry = erasure_of(connection, handle)
    if entry is None:
        return 0
    if entry.done is not None:  # what was on its way
        return remove_objects(objects, handle)
    with person_lock(database, entry.person):
        with database.transaction() as connection:
            _begin(connection, entry)
        note_in_ledger(objects, entry)
        _remove_library(libraries, handle)
        count = remove_objects(objects, handle)
        with database.transaction() as connection:
            _remove_rows(connection, entry)
        if rewrites:
            rewrite_tables(database)
        with database.transaction() as connection:
            _finish(connection, entry, count)
    return count


def erase_now(database: "Database", objects: Remote, libraries: Libraries, handle: str) -> int:
    """Erase a person now; wait for a worker that is busy with them. Return how many objects were removed."""
    retry_while_busy(lambda: erase_person(database, objects, libraries, handle))
    with database.transaction() as connection:
        entry = erasure_of(connection, handle)
    return entry.objects if entry else 0


def _begin(connection: "Connection", entry: Erasure) -> None:
    require_no_hold(connection, entry.person)
    lock_out(connection, entry.person)  # a restored database may have older rows
    connection.execute("update erasure set begun = coalesce(begun, now()) where person = %s", (entry.person,))


def _remove_library(libraries: Libraries, handle: str) -> None:
    with libraries.own(handle) as library:
        library.store.start_writing()  # Busy while another process indexes
        library.discard()
    folder: Path = libraries.settings(handle).library
    if folder.is_dir():
        shutil.rmtree(folder)


def remove_objects(objects: Remote, handle: str) -> int:
    """Remove every object of every machine of a person, also those that arrive meanwhile."""
    prefix = f"{ROOT}{quote(f'{handle}/', safe='')}"
    count = 0
    for _ in range(MAX_LISTINGS):
        names = [listed.name for listed in objects.list(prefix)]
        for name in names:
            objects.delete(name)
        count += len(names)
        if not names:
            return count
    raise Busy(f"objects of {handle} are still arriving", "it is tried again later")


def _remove_rows(connection: "Connection", entry: Erasure) -> None:
    """Delete the rows of a person: every table that refers to a person says so with `on delete cascade`."""
    for table, column, action in connection.execute(REFERENCES).fetchall():
        if (table, column) in KEPT:
            continue
        names = {"table": Identifier(table), "column": Identifier(column)}
        if action == "c":
            connection.execute(SQL("delete from {table} where {column} = %s").format(**names), (entry.person,))
        elif table == "invitation":
            connection.execute(
                SQL("update {table} set {column} = null where {column} = %s").format(**names), (entry.person,)
            )
    connection.execute(
        "delete from job where kind <> 'erase' and (about = %s or starts_with(about, %s))",
        (entry.handle, f"{entry.handle}/"),
    )
    connection.execute(
        "update person set name = 'erased', email = null, password = null, issuer = null, subject = null,"
        " provider_seen = null,"
        " erased = coalesce(erased, now()) where id = %s",
        (entry.person,),
    )


def rewrite_tables(database: "Database") -> None:
    """Rewrite every table and its indexes, without the bytes of deleted rows; Busy if one is in use for too long.

    The statistics of the planner are rewritten too: they hold values of rows. The owner of a database may do so.
    """
    import psycopg

    with database.connect() as connection:
        _await_older(connection)
        connection.execute(f"set lock_timeout = '{LOCK_WAIT}'")
        try:
            for schema, name in connection.execute(TABLES).fetchall():
                connection.execute(SQL("vacuum (full, analyze) {}").format(Identifier(schema, name)))
            connection.execute("vacuum (full) pg_catalog.pg_statistic")
        except psycopg.errors.LockNotAvailable as error:
            raise Busy("a table of the database is in use", "it is tried again later") from error
        except psycopg.Error as error:
            message = f"the tables could not be rewritten: {type(error).__name__}"
            raise BackscrollError(message, "see the log of the database") from error


def _await_older(connection: "Connection") -> None:
    """Wait for transactions that began before now: they may see deleted rows, which are then kept."""
    older = set(connection.execute(RUNNING).fetchall())
    ends = time.monotonic() + PATIENCE
    while older := older & set(connection.execute(RUNNING).fetchall()):
        if time.monotonic() > ends:
            raise Busy("an older transaction still sees what was deleted", "it is tried again later")
        time.sleep(POLL_SECONDS)


def _finish(connection: "Connection", entry: Erasure, objects: int) -> None:
    row = connection.execute(
        "update erasure set done = now(), objects = objects + %s where person = %s and done is null returning objects",
        (objects, entry.person),
    ).fetchone()
    if row is not None:
        record(connection, entry.org, "server", "person.erased", entry.handle, plural(row[0], "object"))


REFERENCES: Final = """
select c.relname, a.attname, k.confdeltype::text from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
where k.contype = 'f' and k.confrelid = 'team.person'::regclass
"""
TABLES: Final = """
select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('team', 'backscroll') and c.relkind in ('r', 'm') order by 1, 2
"""
RUNNING: Final = """
select pid, xact_start from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null
"""
