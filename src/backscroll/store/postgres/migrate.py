"""Bring the tables of a database to this version: numbered SQL files, each run once, all in one transaction."""

from pathlib import Path
from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

from backscroll.errors import NewerVersion
from backscroll.store.postgres.connection import SCHEMA
from backscroll.store.postgres.faults import translate_errors

MIGRATIONS: Final = Path(__file__).with_name("migrations")
LOCK: Final = 0x6273_6372


def migrate(address: str, folder: Path = MIGRATIONS, part: str = "store") -> list[str]:
    """Run the files of a folder that were not run yet, in order; returns their names. `part` says what they are for.

    Several processes may do so at once: one does the work, the others wait for it.
    """
    files = sorted(folder.glob("[0-9]*.sql"))
    done = []
    with translate_errors(), psycopg.connect(address) as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        if connection.execute("select to_regnamespace(%s)", (SCHEMA,)).fetchone() == (None,):
            connection.execute(SQL("create schema {}").format(Identifier(SCHEMA)))
        connection.execute(SQL("set local search_path = {}, public").format(Identifier(SCHEMA)))
        connection.execute(
            "create table if not exists migrations (part text, name text, applied timestamptz default now(),"
            " primary key (part, name))"
        )
        found = connection.execute("select name from migrations where part = %s", (part,)).fetchall()
        known = {str(name) for (name,) in found}
        if known - {file.name for file in files}:
            raise NewerVersion("a later version of backscroll uses this database", "update backscroll on this machine")
        for file in files:
            if file.name not in known:
                connection.execute(file.read_text(encoding="utf-8").encode())
                connection.execute("insert into migrations (part, name) values (%s, %s)", (part, file.name))
                done.append(file.name)
    return done


def is_current(
    connection: psycopg.Connection[tuple[object, ...]], folder: Path = MIGRATIONS, part: str = "store"
) -> bool:
    """Whether every file of a folder was run."""
    if connection.execute("select to_regclass(%s)", (f"{SCHEMA}.migrations",)).fetchone() == (None,):
        return False
    found = connection.execute(
        SQL("select name from {}.migrations where part = %s").format(Identifier(SCHEMA)), (part,)
    ).fetchall()
    return {str(name) for (name,) in found} >= {file.name for file in folder.glob("[0-9]*.sql")}
