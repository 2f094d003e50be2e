"""What a web process may do in the database, if it connects with a role of its own.

It answers strangers, so it has less than workers and operators: it changes no table, writes nothing into an index, and
reads what was said only as a reader does. It adds to the audit log and to the ledger of erasures without changing what
they say, and deletes only what pages remove. Everything else connects as the owner of the tables; what starts with the
wrong role says so at once.
"""

from typing import TYPE_CHECKING, Final

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from backscroll.errors import NoPermission
from backscroll.store.postgres.connection import SCHEMA as INDEX
from backscroll.store.postgres.roles import FIRST_WITH_OPTIONS, READER, SHARED_READER, WEB
from backscroll.team.database import SCHEMA

if TYPE_CHECKING:
    from backscroll.team.database import Connection

ONLY_READ: Final = frozenset({"migrations", "job_total", "retention_run", "expiry"})
ONLY_ADDED_TO: Final = frozenset({"audit", "erasure"})
NEVER_DELETED: Final = frozenset({"org", "person", "team", "device", "hold", "access", "job", "org_limits", "recovery"})
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


SESSIONS: Final = "sql_sessions"
"""Where it writes down which build a statement of a person reads."""
SESSIONS_RIGHTS: Final = "select, insert, update, delete"


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
    connection.execute(_said(f"grant {SESSIONS_RIGHTS} on {{schema}}.{{table}} to {{web}}", INDEX, SESSIONS))
    for table, condition in OF_INDEX.items():
        connection.execute(_said("grant select on {schema}.{table} to {web}", INDEX, table))
        if condition:
            policy = "create policy web on {schema}.{table} for select to {web} using (" + condition + ")"
            connection.execute(_said("drop policy if exists web on {schema}.{table}", INDEX, table))
            connection.execute(_said(policy, INDEX, table))
    connection.execute(_said("grant execute on function {schema}.this_build() to {web}", INDEX))


def demand_rights(connection: "Connection") -> None:
    """An error that says what is missing, if this role could not do what a web process does."""
    name = connection.info.user
    held = {(schema, table): set(rights) for schema, table, rights in connection.execute(HELD, ([SCHEMA, INDEX],))}
    own = sorted(table for schema, table in held if schema == SCHEMA)
    wanted = [
        *((SCHEMA, table, _rights(table)) for table in own),
        *((INDEX, table, "select") for table in OF_INDEX),
        (INDEX, SESSIONS, SESSIONS_RIGHTS),
    ]
    for schema, table, rights in wanted:
        if not own or (schema, table) not in held:
            raise NoPermission("this database has no tables of a server yet", "run backscroll server migrate first")
        if missing := set(rights.split(", ")) - held[schema, table]:
            raise NoPermission(
                f"the role {name} may not {min(missing)} in the table {schema}.{table}",
                f"run backscroll server migrate as the owner of the tables: it gives {WEB} its rights",
            )
    has_options = connection.info.server_version >= FIRST_WITH_OPTIONS
    for role in (READER, SHARED_READER):
        if connection.execute(BECOMES, (role, "set" if has_options else "member")).fetchone() != (True,):
            grant = f"grant {role} to {name}" + (" with inherit false, set true" if has_options else "")
            raise NoPermission(f"the role {name} cannot become {role}", f"as a superuser, run: {grant}")
    if connection.execute(CALLS, (SETS_RIGHTS,)).fetchone() != (True,):
        grant = f"grant execute on function {SETS_RIGHTS} to {name}"
        raise NoPermission(f"the role {name} may not call {SETS_RIGHTS}", f"as a superuser, run: {grant}")


def demand_owner(connection: "Connection") -> None:
    """An error if this role is not the owner of the tables, or cannot make them."""
    row = connection.execute(OTHER_OWNER, ([SCHEMA, INDEX], [SCHEMA, INDEX])).fetchone()
    if row is not None:
        name, owner = connection.info.user, row[0]
        raise NoPermission(
            f"the role {name} does not own the tables of the server",
            f"connect as {owner}; only backscroll server web can connect as {WEB}",
        )


def _rights(table: str) -> str:
    if table in ONLY_READ:
        return "select"
    if table in ONLY_ADDED_TO:
        return "select, insert"
    return "select, insert, update" if table in NEVER_DELETED else "select, insert, update, delete"


def _said(statement: str, schema: str, table: str = "") -> Composed:
    return SQL(statement).format(schema=Identifier(schema), table=Identifier(table or "-"), web=Identifier(WEB))


SETS_RIGHTS: Final = "pg_catalog.set_config(text, text, boolean)"
"""What every question to an index calls first. The functions that were revoked from everyone were granted together."""
HELD: Final = """
select n.nspname, c.relname, array(select wanted from unnest(array['select', 'insert', 'update', 'delete']) wanted
  where has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, wanted))
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p') and n.nspname = any(%s)
"""
BECOMES: Final = "select pg_has_role(%s, %s)"
CALLS: Final = "select has_function_privilege(%s, 'execute')"
OTHER_OWNER: Final = """
select pg_get_userbyid(c.relowner) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname = any(%s) and not pg_has_role(c.relowner, 'usage')
union all select pg_get_userbyid(datdba) from pg_database where datname = current_database()
  and not has_database_privilege(oid, 'create') and not exists (select from pg_namespace where nspname = any(%s))
limit 1
"""
