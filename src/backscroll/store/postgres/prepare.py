"""Create the roles and the database of a server, as a superuser. deploy/postgres/prepare.sql does so for psql."""

from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

from backscroll.store.postgres.roles import FIRST_WITH_OPTIONS, OWNER, READER, SHARED_READER, WEB
from backscroll.store.postgres.sql_login import preparation

EXTENSIONS: Final = ("btree_gin", "pg_trgm")
"""Extensions that come with PostgreSQL and that every provider has."""


def prepare_cluster(address: str, database: str) -> None:
    """Create the roles and the database, unless they exist."""
    with psycopg.connect(address, autocommit=True) as connection:
        for role, options in ((OWNER, "login"), (WEB, "login"), (READER, "nologin"), (SHARED_READER, "nologin")):
            if not _exists(connection, "pg_roles", "rolname", role):
                connection.execute(
                    SQL("create role {} nosuperuser nobypassrls nocreatedb nocreaterole " + options).format(
                        Identifier(role)
                    )
                )
        # A login that can become a reader must not have its rights before: its policies would apply too. Since 16 a
        # grant says so.
        has_options = connection.info.server_version >= FIRST_WITH_OPTIONS
        how = " with inherit false, set true" if has_options else ""
        for user in (OWNER, WEB):
            if not has_options:
                connection.execute(SQL("alter role {} noinherit").format(Identifier(user)))
            for role in (READER, SHARED_READER):
                connection.execute(SQL("grant {} to {}" + how).format(Identifier(role), Identifier(user)))
        prepare_database(connection, database)


def prepare_database(connection: psycopg.Connection[tuple[object, ...]], database: str) -> None:
    """Create a database of the owner, with the extensions and the login for people's own SQL."""
    if not _exists(connection, "pg_database", "datname", database):
        connection.execute(SQL("create database {} owner {}").format(Identifier(database), Identifier(OWNER)))
    address = psycopg.conninfo.make_conninfo(connection.info.dsn, dbname=database)
    with psycopg.connect(address, autocommit=True) as inside:
        for extension in EXTENSIONS:
            inside.execute(SQL("create extension if not exists {}").format(Identifier(extension)))
        inside.execute(preparation().encode())


def _exists(connection: psycopg.Connection[tuple[object, ...]], table: str, column: str, name: str) -> bool:
    row = connection.execute(f"select 1 from {table} where {column} = %s", (name,)).fetchone()  # noqa: S608
    return row is not None
