"""The roles of the database.

`backscroll` owns the tables and is what our processes connect as; `backscroll_reader` cannot log in, owns nothing and
is who asks: row-level security lets it see what the settings of the transaction allow. `backscroll_shared` is the same
for what others share, which is in several builds. `backscroll_web` is what web processes of a server connect as, where
they can: it reads as these two do, and owns nothing. None is a superuser.
"""

from typing import Any, Final

import psycopg
from psycopg.sql import SQL, Identifier

from backscroll.errors import NoPermission

OWNER: Final = "backscroll"
READER: Final = "backscroll_reader"
SHARED_READER: Final = "backscroll_shared"
WEB: Final = "backscroll_web"
FIRST_WITH_OPTIONS: Final = 160_000
EXTENSIONS: Final = ("btree_gin", "pg_trgm")
"""Parts of PostgreSQL itself that every provider has."""
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
    "lo_creat(int)",
    "lo_create(oid)",
    "lo_from_bytea(oid, bytea)",
)
"""Functions that a statement of a user could change its rights with, block others with, or store something with."""


def prepare_cluster(address: str, database: str) -> None:
    """Create the roles and the database, as a superuser; does nothing where they exist."""
    with psycopg.connect(address, autocommit=True) as connection:
        for role, options in ((OWNER, "login"), (WEB, "login"), (READER, "nologin"), (SHARED_READER, "nologin")):
            if not _exists(connection, "pg_roles", "rolname", role):
                connection.execute(
                    SQL("create role {} nosuperuser nobypassrls nocreatedb nocreaterole " + options).format(
                        Identifier(role)
                    )
                )
        # Who becomes a reader must not have its rights before: its policies would hold too. Since 16 a grant says so.
        has_options = connection.info.server_version >= FIRST_WITH_OPTIONS
        how = " with inherit false, set true" if has_options else ""
        for user in (OWNER, WEB):
            if not has_options:
                connection.execute(SQL("alter role {} noinherit").format(Identifier(user)))
            for role in (READER, SHARED_READER):
                connection.execute(SQL("grant {} to {}" + how).format(Identifier(role), Identifier(user)))
        prepare_database(connection, database)


def prepare_database(connection: psycopg.Connection[tuple[object, ...]], database: str) -> None:
    """Create a database of the owner, without the functions that no statement of a user may call."""
    if not _exists(connection, "pg_database", "datname", database):
        connection.execute(SQL("create database {} owner {}").format(Identifier(database), Identifier(OWNER)))
    address = psycopg.conninfo.make_conninfo(connection.info.dsn, dbname=database)
    with psycopg.connect(address, autocommit=True) as inside:
        for extension in EXTENSIONS:
            inside.execute(SQL("create extension if not exists {}").format(Identifier(extension)))
        for function in FORBIDDEN:
            inside.execute(f"revoke execute on function pg_catalog.{function} from public")
            inside.execute(f"grant execute on function pg_catalog.{function} to {OWNER}, {WEB}")


def refuse_unsafe_roles(connection: psycopg.Connection[Any]) -> None:
    """Raise NoPermission if row-level security would be void: for a superuser, or where a table does not enforce it."""
    row = connection.execute(
        "select current_user, rolsuper or rolbypassrls, array(select rolname::text from pg_roles"
        " where rolname = any(%s) and not rolsuper and not rolbypassrls) from pg_roles where rolname = current_user",
        ([READER, SHARED_READER],),
    ).fetchone()
    name, is_above, safe = row or ("", True, [])
    if is_above:
        raise NoPermission(
            f"the role {name} is a superuser or bypasses row-level security, so it would see everything",
            "connect as a role that is neither",
        )
    for role in (READER, SHARED_READER):
        if role not in safe:
            raise NoPermission(
                f"the role {role} is missing, or stands above row-level security",
                f"create role {role} nologin nosuperuser nobypassrls, and grant it to {name}",
            )
    found = connection.execute(NOT_FORCED).fetchall()
    if found:
        raise NoPermission(f"the table {found[0][0]} does not enforce row-level security", "run the migrations again")


NOT_FORCED: Final = """
select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = to_regnamespace('backscroll')
  and not c.relforcerowsecurity and has_table_privilege('backscroll_reader', c.oid, 'select') and c.relname <> 'builds'
"""
"""What the reader may read, except the list of builds, where it sees its own."""


def _exists(connection: psycopg.Connection[tuple[object, ...]], table: str, column: str, name: str) -> bool:
    found = connection.execute(f"select 1 from {table} where {column} = %s", (name,)).fetchone()  # noqa: S608
    return found is not None
