"""The login that runs people's own SQL: its rights, and the check that a database has it.

`backscroll_sql` owns nothing, is a member of no role, and may read the documented views only. The rights that
PostgreSQL gives everyone (to read its catalogs, to call functions that write, wait or reveal others' data) are taken
from everyone and given to the server's own roles. Only a superuser can do that: our own PostgreSQL does it at each
start; elsewhere an administrator runs `preparation()` once. Where it was not run, SQL is off, and the error says so.
"""

from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from backscroll.errors import NoPermission
from backscroll.store.postgres.roles import OWNER, SQL_LOGIN, WEB

VIEWS_SCHEMA: Final = "backscroll_sql"
"""The schema of the documented views, and of the function that runs a statement."""
MOST_CONNECTIONS: Final = 24
TEMPORARY_FILES: Final = "1GB"
"""The most space for sorting and grouping in one statement, as on one machine."""
VOLATILE: Final = (
    "array_sample", "array_shuffle", "clock_timestamp", "gen_random_uuid", "random", "random_normal", "timeofday",
    "uuidv4", "uuidv7",
)  # fmt: skip
"""Functions that only return another result each time. All other volatile functions are taken away."""
STABLE: Final = (
    "pg_char_to_encoding", "pg_client_encoding", "pg_collation_for", "pg_column_size", "pg_encoding_to_char",
    "pg_input_error_info", "pg_input_is_valid", "pg_typeof",
)  # fmt: skip
"""Functions that only look at their arguments, though their names are like those that reveal the database."""
TELLING: Final = r"^(pg_|has_|txid_|inet_(client|server)_|row_security_active|mxid_age)|_to_xml|^age\(xid\)"
"""Stable functions that reveal the database and its users, or run a statement."""
HINT: Final = (
    "an operator turns it on: run what `backscroll server sql-login` prints as a superuser of the database, then"
    " backscroll server migrate"
)


def login_address(address: str, password: str | None = None) -> str:
    """Return the address of the same database for `backscroll_sql`; without a password, libpq looks for one."""
    parts = conninfo_to_dict(address, user=SQL_LOGIN)
    parts.pop("password", None)
    return make_conninfo("", **parts, **({"password": password} if password else {}))


def preparation() -> str:
    """Return the statements that a superuser runs in the database; again after updating PostgreSQL, if SQL is off."""
    return PREPARATION


def grant_views(connection: psycopg.Connection[Any]) -> None:
    """Let the login read the views; do nothing if there is no such login."""
    if connection.execute("select from pg_roles where rolname = %s", (SQL_LOGIN,)).rowcount:
        connection.execute(GRANT_VIEWS.encode())


def require_safe_login(connection: psycopg.Connection[Any]) -> None:
    """Raise NoPermission unless the login exists and can do nothing but read the views."""
    problem = connection.execute(ROLE_PROBLEMS, {"login": SQL_LOGIN}).fetchone()
    if problem is None:
        exposed = connection.execute(EXPOSED.encode()).fetchone()
        problem = (f"the role {SQL_LOGIN} may use the {exposed[0]} {exposed[1]}",) if exposed else None
    if problem is not None:
        raise NoPermission(f"SQL is off on this server: {problem[0]}", HINT)


ROLE_PROBLEMS: Final = """
with login as (select * from pg_roles where rolname = %(login)s)
select message from (
  select 1 as place, 'the database has no role ' || %(login)s as message where not exists (select from login)
  union all
  select 2, 'the role ' || rolname || ' has more rights than to log in' from login
    where rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication
  union all
  select 3, 'the role ' || rolname || ' is a member of ' || m.roleid::regrole from login join pg_auth_members m
    on m.member = login.oid
  union all
  select 4, 'the role ' || rolname || ' owns a ' || d.classid::regclass from login join pg_shdepend d
    on d.refclassid = 'pg_authid'::regclass and d.refobjid = login.oid and d.deptype = 'o'
  union all
  select 5, 'the role ' || rolname || ' may not read the views' from login
    where coalesce(not has_schema_privilege(oid, to_regnamespace('backscroll_sql'), 'usage'), true)
) problems order by place limit 1
"""
EXPOSED: Final = f"""
select kind, name, taken, given from (
  select 'routine' as kind, 'execute' as taken, 'execute' as given,
    format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as name
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where (p.provolatile = 'v' and p.proname not in ({", ".join(f"'{name}'" for name in VOLATILE)})
      or p.provolatile = 's' and format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) ~ '{TELLING}'
        and p.proname not in ({", ".join(f"'{name}'" for name in STABLE)}))
    and not 'internal'::regtype = any(p.proargtypes)
    and p.prorettype not in ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype,
      'language_handler'::regtype, 'fdw_handler'::regtype, 'index_am_handler'::regtype, 'table_am_handler'::regtype,
      'tsm_handler'::regtype)
    and n.nspname <> '{VIEWS_SCHEMA}'
    and has_schema_privilege('{SQL_LOGIN}', n.oid, 'usage') and has_function_privilege('{SQL_LOGIN}', p.oid, 'execute')
  union all
  select 'table', 'all', case when has_table_privilege('{SQL_LOGIN}', c.oid, 'select') then 'select' end,
    format('%I.%I', n.nspname, c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p', 'S') and n.nspname <> '{VIEWS_SCHEMA}'
    and (has_table_privilege('{SQL_LOGIN}', c.oid, 'select, insert, update, delete, truncate, references, trigger')
      or has_any_column_privilege('{SQL_LOGIN}', c.oid, 'select, insert, update, references'))
  union all
  select 'language', 'usage', 'usage', quote_ident(lanname) from pg_language
  where lanname <> 'sql' and lanpltrusted and has_language_privilege('{SQL_LOGIN}', oid, 'usage')
  union all
  select 'schema', 'create', null, quote_ident(nspname) from pg_namespace
  where has_schema_privilege('{SQL_LOGIN}', oid, 'create')
  union all
  select 'database', taken, null, quote_ident(current_database()) from unnest(array['create', 'temporary']) taken
  where has_database_privilege('{SQL_LOGIN}', current_database(), taken)
) exposed
"""  # noqa: S608 - names of ours
"""The rights of the login besides the views: a kind, a name, the right to take from it, and the right that the server's
own roles need in its place.
"""
GRANT_VIEWS: Final = f"""
do $$ begin execute format('revoke temporary on database %I from public', current_database()); end $$;
grant usage on schema {VIEWS_SCHEMA} to {SQL_LOGIN};
grant select on all tables in schema {VIEWS_SCHEMA} to {SQL_LOGIN};
grant execute on function backscroll.sql_build(), backscroll.this_build(), backscroll.json_extract(text, text),
  backscroll.moment(bigint), {VIEWS_SCHEMA}.run(text, int, bigint, int, bigint) to {SQL_LOGIN};
"""
PREPARATION: Final = f"""
-- The login that runs people's own SQL. It reads the documented views and nothing else: what PostgreSQL lets everyone
-- do besides is taken from everyone in this database, and given to the roles of the server and to pg_monitor.
do $$
declare
  exposed record;
begin
  if not exists (select from pg_roles where rolname = '{SQL_LOGIN}') then
    create role {SQL_LOGIN} login nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
  alter role {SQL_LOGIN} noinherit noreplication connection limit {MOST_CONNECTIONS};
  alter role {SQL_LOGIN} reset all;
  alter role {SQL_LOGIN} set temp_file_limit = '{TEMPORARY_FILES}';
  for exposed in {EXPOSED.strip().replace(chr(10), chr(10) + "  ")}
  loop
    execute format('revoke %s on %s %s from public, {SQL_LOGIN}', exposed.taken, exposed.kind, exposed.name);
    if exposed.given is not null then
      execute format('grant %s on %s %s to {OWNER}, {WEB}, pg_monitor', exposed.given, exposed.kind, exposed.name);
    end if;
  end loop;
end
$$;
""".lstrip()  # noqa: S608 - names of ours
