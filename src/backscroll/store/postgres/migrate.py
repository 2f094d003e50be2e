"""Bring the tables of a database to this version: numbered SQL files, each run once, all in one transaction."""

from pathlib import Path
from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

from backscroll.errors import NewerVersion
from backscroll.store.postgres.connection import SCHEMA
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.sql_login import grant_views

MIGRATIONS: Final = Path(__file__).with_name("migrations")
LOCK: Final = 0x6273_6372


def migrate(address: str, folder: Path = MIGRATIONS, schema: str = SCHEMA) -> list[str]:
    """Run the new files of a folder in order, in a schema of their own, and return their names.

    Several processes may do so at once: one does the work, the others wait for it.
    """
    files = sorted(folder.glob("[0-9]*.sql"))
    done = []
    with translate_errors(), psycopg.connect(address) as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        if connection.execute("select to_regnamespace(%s)", (schema,)).fetchone() == (None,):
            connection.execute(SQL("create schema {}").format(Identifier(schema)))
        connection.execute(SQL("set local search_path = {}, public").format(Identifier(schema)))
        connection.execute(
            "create table if not exists migrations (name text primary key, applied timestamptz default now())"
        )
        known = {str(name) for (name,) in connection.execute("select name from migrations")}
        if known - {file.name for file in files}:
            raise NewerVersion("a later version of backscroll uses this database", "update backscroll on this machine")
        for file in files:
            if file.name not in known:
                connection.execute(file.read_text(encoding="utf-8").encode())
                connection.execute("insert into migrations (name) values (%s)", (file.name,))
                done.append(file.name)
        if folder == MIGRATIONS:
            grant_views(connection)
    return done


def is_current(
    connection: psycopg.Connection[tuple[object, ...]], folder: Path = MIGRATIONS, schema: str = SCHEMA
) -> bool:
    """Whether every file of a folder was run."""
    if connection.execute("select to_regclass(%s)", (f"{schema}.migrations",)).fetchone() == (None,):
        return False
    names = connection.execute(SQL("select name from {}.migrations").format(Identifier(schema)))
    return {str(name) for (name,) in names} >= {file.name for file in folder.glob("[0-9]*.sql")}
