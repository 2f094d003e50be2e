"""What a web process may do in the database, if it connects with a role of its own.

It answers strangers, so it has less than workers and operators: it changes no table, writes nothing into an index, and
reads what was said only as a reader does. It adds to the audit log and to the ledger of erasures without changing what
they say, and deletes only what pages remove.
"""

from typing import TYPE_CHECKING, Final

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from backscroll.store.postgres.connection import SCHEMA as INDEX
from backscroll.store.postgres.roles import WEB
from backscroll.team.database import SCHEMA

if TYPE_CHECKING:
    from backscroll.team.database import Connection

ONLY_READ: Final = frozenset({"migrations", "job_total", "retention_run", "expiry"})
ONLY_ADDED_TO: Final = frozenset({"audit", "erasure"})
NEVER_DELETED: Final = frozenset({"org", "person", "team", "device", "hold", "access", "job", "org_limits"})
"""Rows that only workers delete, or that are never deleted."""

OF_INDEX: Final = {
    "migrations": "",
    "builds": "true",
    "marks": "build = {schema}.this_build()",
    "files": "build = {schema}.this_build()",
}
"""What it reads of an index without becoming a reader, and which rows: which index is in use, what was noted about it,
and names and sizes of files. No texts.
"""


def as_web(address: str) -> str:
    """The same database for a web process."""
    return make_conninfo(address, user=WEB)


def grant_to_web(connection: "Connection") -> None:
    """Give the role of web processes its rights, and no others; does nothing where there is no such role."""
    if connection.execute("select 1 from pg_roles where rolname = %s", (WEB,)).fetchone() is None:
        return
    connection.execute("select pg_advisory_xact_lock(hashtext('web role'))")
    tables = connection.execute(
        "select relname from pg_class where relnamespace = %s::regnamespace and relkind = 'r'", (SCHEMA,)
    ).fetchall()
    for schema in (SCHEMA, INDEX):
        connection.execute(_said("revoke all on all tables in schema {schema} from {web}", schema))
        connection.execute(_said("grant usage on schema {schema} to {web}", schema))
    for (table,) in tables:
        connection.execute(_said(f"grant {_rights(str(table))} on {{schema}}.{{table}} to {{web}}", SCHEMA, str(table)))
    for table, condition in OF_INDEX.items():
        connection.execute(_said("grant select on {schema}.{table} to {web}", INDEX, table))
        if condition:
            policy = "create policy web on {schema}.{table} for select to {web} using (" + condition + ")"
            connection.execute(_said("drop policy if exists web on {schema}.{table}", INDEX, table))
            connection.execute(_said(policy, INDEX, table))
    connection.execute(_said("grant execute on function {schema}.this_build() to {web}", INDEX))


def _rights(table: str) -> str:
    if table in ONLY_READ:
        return "select"
    if table in ONLY_ADDED_TO:
        return "select, insert"
    return "select, insert, update" if table in NEVER_DELETED else "select, insert, update, delete"


def _said(statement: str, schema: str, table: str = "") -> Composed:
    return SQL(statement).format(schema=Identifier(schema), table=Identifier(table or "-"), web=Identifier(WEB))
