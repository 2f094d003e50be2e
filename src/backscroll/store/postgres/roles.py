"""The roles of the database.

`backscroll` owns the tables, and our processes connect as it; `backscroll_reader` cannot log in, owns nothing and runs
queries: row-level security lets it see what the settings of the transaction allow. `backscroll_shared` does so for what
others share, which is in several builds. Web processes of a server connect as `backscroll_web`, where they can: it
reads as these two do, and owns nothing. `backscroll_sql` runs people's own SQL (`sql_login`). None is a superuser.
"""

from typing import Any, Final

import psycopg

from backscroll.errors import NoPermission

OWNER: Final = "backscroll"
READER: Final = "backscroll_reader"
SHARED_READER: Final = "backscroll_shared"
WEB: Final = "backscroll_web"
SQL_LOGIN: Final = "backscroll_sql"
FIRST_WITH_OPTIONS: Final = 160_000
"""The first version whose grants say whether they are inherited."""


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
    names = connection.execute(NOT_FORCED).fetchall()
    if names:
        raise NoPermission(f"the table {names[0][0]} does not enforce row-level security", "run the migrations again")


NOT_FORCED: Final = """
select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = to_regnamespace('backscroll')
  and not c.relforcerowsecurity and has_table_privilege('backscroll_reader', c.oid, 'select') and c.relname <> 'builds'
"""
"""Tables that the reader may read without forced row-level security, except `builds`, where it sees its own rows."""
