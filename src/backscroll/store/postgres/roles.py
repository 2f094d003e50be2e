"""The roles of the database.

`backscroll` owns the tables and is what our processes connect as; `backscroll_reader` cannot log in, owns nothing and
is who asks: row-level security lets it see what the settings of the transaction allow. Neither is a superuser.
"""

from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

OWNER: Final = "backscroll"
READER: Final = "backscroll_reader"
FORBIDDEN: Final = (
    "set_config(text, text, boolean)",
    "pg_notify(text, text)",
    "pg_advisory_lock(bigint)",
    "pg_advisory_lock(int, int)",
    "pg_advisory_lock_shared(bigint)",
    "pg_advisory_lock_shared(int, int)",
    "pg_advisory_xact_lock(bigint)",
    "pg_advisory_xact_lock(int, int)",
    "pg_advisory_xact_lock_shared(bigint)",
    "pg_advisory_xact_lock_shared(int, int)",
    "pg_try_advisory_lock(bigint)",
    "pg_try_advisory_lock(int, int)",
    "pg_try_advisory_lock_shared(bigint)",
    "pg_try_advisory_lock_shared(int, int)",
    "pg_try_advisory_xact_lock(bigint)",
    "pg_try_advisory_xact_lock(int, int)",
    "pg_try_advisory_xact_lock_shared(bigint)",
    "pg_try_advisory_xact_lock_shared(int, int)",
)
"""Functions that a statement of a user could change its rights with, or block others with."""


def prepare_cluster(address: str, database: str) -> None:
    """Create the roles and the database, as a superuser; does nothing where they exist."""
    with psycopg.connect(address, autocommit=True) as connection:
        for role, options in ((OWNER, "login"), (READER, "nologin")):
            if not _exists(connection, "pg_roles", "rolname", role):
                connection.execute(
                    SQL("create role {} nosuperuser nobypassrls nocreatedb nocreaterole " + options).format(
                        Identifier(role)
                    )
                )
        connection.execute(SQL("grant {} to {} with inherit false, set true").format(*map(Identifier, (READER, OWNER))))
        prepare_database(connection, database)


def prepare_database(connection: psycopg.Connection[tuple[object, ...]], database: str) -> None:
    """Create a database of the owner, without the functions that no statement of a user may call."""
    if not _exists(connection, "pg_database", "datname", database):
        connection.execute(SQL("create database {} owner {}").format(Identifier(database), Identifier(OWNER)))
    address = psycopg.conninfo.make_conninfo(connection.info.dsn, dbname=database)
    with psycopg.connect(address, autocommit=True) as inside:
        inside.execute("create extension if not exists pg_trgm")
        for function in FORBIDDEN:
            inside.execute(f"revoke execute on function pg_catalog.{function} from public")
            inside.execute(SQL(f"grant execute on function pg_catalog.{function} to {{}}").format(Identifier(OWNER)))


def _exists(connection: psycopg.Connection[tuple[object, ...]], table: str, column: str, name: str) -> bool:
    found = connection.execute(f"select 1 from {table} where {column} = %s", (name,)).fetchone()  # noqa: S608
    return found is not None
