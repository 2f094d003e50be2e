"""The rights of web processes in the database, where they connect with a role of their own.

Web processes answer strangers, so they have fewer rights than workers and operators. They change no table, write
nothing into an index, and read conversations only as a reader does. They append to the audit log and to the ledger of
erasures, and delete only what pages remove. All other processes connect as the owner of the tables; a process that
starts with the wrong role refuses at once.
"""

from typing import TYPE_CHECKING, Final

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from backscroll.errors import NoPermission
from backscroll.store.postgres.connection import SCHEMA as INDEX
from backscroll.store.postgres.roles import FIRST_WITH_OPTIONS, READER, SHARED_READER, WEB
from backscroll.team.database.connections import SCHEMA

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

ONLY_READ: Final = frozenset({"migrations", "job_total", "retention_run", "expiry"})
ONLY_ADDED_TO: Final = frozenset({"audit", "erasure"})
NEVER_DELETED: Final = frozenset({"org", "person", "team", "device", "hold", "access", "job", "org_limits", "recovery"})
"""Rows that only workers delete, or that are never deleted."""

OF_INDEX: Final = {
    "migrations": "",
    "builds": "true",
    "marks": "build = {schema}.this_build()",
    "files": "build = {schema}.this_build()",
    "joined_chats": "",
}
"""Tables of an index that a web process reads without becoming a reader, and the condition on their rows.

They say which index is in use, which chats became one, and have notes about the index and names and sizes of
files. No texts.
"""


SESSIONS: Final = "sql_sessions"
"""The table in which a web process notes which build the SQL of a person reads."""
SESSIONS_RIGHTS: Final = "select, insert, update, delete"


def as_web(address: str) -> str:
    """Return the address of the database for a web process."""
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
        connection.execute(_sql("revoke all on all tables in schema {schema} from {web}", schema))
        connection.execute(_sql("grant usage on schema {schema} to {web}", schema))
    for (table,) in tables:
        connection.execute(_sql(f"grant {_rights(str(table))} on {{schema}}.{{table}} to {{web}}", SCHEMA, str(table)))
    connection.execute(_sql(f"grant {SESSIONS_RIGHTS} on {{schema}}.{{table}} to {{web}}", INDEX, SESSIONS))
    for table, condition in OF_INDEX.items():
        connection.execute(_sql("grant select on {schema}.{table} to {web}", INDEX, table))
        if condition:
            policy = "create policy web on {schema}.{table} for select to {web} using (" + condition + ")"
            connection.execute(_sql("drop policy if exists web on {schema}.{table}", INDEX, table))
            connection.execute(_sql(policy, INDEX, table))
    connection.execute(_sql("grant execute on function {schema}.this_build() to {web}", INDEX))


def require_rights(connection: "Connection") -> None:
    """Raise NoPermission, which names what is missing, if this role cannot do the work of a web process."""
    name = connection.info.user
    held = {(schema, table): set(rights) for schema, table, rights in connection.execute(HELD, ([SCHEMA, INDEX],))}
    own = sorted(table for schema, table in held if schema == SCHEMA)
    needed = [
        *((SCHEMA, table, _rights(table)) for table in own),
        *((INDEX, table, "select") for table in OF_INDEX),
        (INDEX, SESSIONS, SESSIONS_RIGHTS),
    ]
    for schema, table, rights in needed:
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


def require_owner(connection: "Connection") -> None:
    """Raise NoPermission if this role does not own the tables, or cannot make them."""
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


def _sql(statement: str, schema: str, table: str = "") -> Composed:
    return SQL(statement).format(schema=Identifier(schema), table=Identifier(table or "-"), web=Identifier(WEB))


SETS_RIGHTS: Final = "pg_catalog.set_config(text, text, boolean)"
"""The function that every query of an index calls first. What is revoked from everyone is granted together."""
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
