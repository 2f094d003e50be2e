"""Row-level security by organisation, the second wall around the server's own tables.

A request of a person runs with the number of their organisation in `team.org`; PostgreSQL then shows and changes no
row of another, whatever a statement forgets. The server itself runs with `all`; where nothing is set, nothing is seen.
Which rows belong to an organisation follows from the tables: by their column `org`, or by the person or team that they
refer to. So a table that is added later has the wall too.
"""

from typing import TYPE_CHECKING, Final

from psycopg.sql import SQL, Composed, Identifier

from backscroll.errors import NoPermission

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

POLICY: Final = "own_org"
OPEN: Final = frozenset({"migrations", "job", "job_total", "oidc_request", "request_rate"})
"""Tables of the server itself, in which nothing belongs to an organisation: no page shows them to people."""


def guard_tables(connection: "Connection") -> list[str]:
    """Enforce row-level security on every table that lacks it; return the names of these tables."""
    tables = unguarded(connection)
    for table in tables:
        name, condition = Identifier(table), _condition(connection, table)
        connection.execute(SQL("alter table {} enable row level security, force row level security").format(name))
        connection.execute(SQL("drop policy if exists {} on {}").format(Identifier(POLICY), name))
        connection.execute(
            SQL("create policy {policy} on {table} using ({condition}) with check ({condition})").format(
                policy=Identifier(POLICY), table=name, condition=condition
            )
        )
    return tables


def unguarded(connection: "Connection") -> list[str]:
    """Names of the tables without row-level security."""
    rows = connection.execute(UNGUARDED, (POLICY, list(OPEN)))
    return [str(name) for (name,) in rows]


def require_guarded(connection: "Connection") -> None:
    """Raise NoPermission if a table lacks row-level security."""
    tables = unguarded(connection)
    if tables:
        raise NoPermission(
            f"the table {tables[0]} does not enforce row-level security", "run backscroll server migrate"
        )


def _condition(connection: "Connection", table: str) -> Composed | SQL:
    """Build the condition for the rows that a request sees."""
    if table == "org":
        return SQL(BY_ORG).format(column=Identifier("id"))
    columns = connection.execute(ANCHORS, (table,)).fetchall()
    for column, _, target in sorted(columns, key=lambda anchor: ("org", "person", "team").index(anchor[2])):
        if target == "org":
            return SQL(BY_ORG).format(column=Identifier(column))
        return SQL(BY_REFERENCE).format(column=Identifier(column), target=Identifier(target))
    raise NoPermission(f"the table {table} says not whose its rows are", "give it a column org, person or team")


BY_ORG: Final = (
    "(select current_setting('team.org', true)) = 'all' or {column}::text = (select current_setting('team.org', true))"
)
BY_REFERENCE: Final = (
    "(select current_setting('team.org', true)) = 'all' or {column} in (select id from {target})"
    " or ({column} is null and (select current_setting('team.org', true)) <> '')"
)
"""A row without a person belongs to nobody yet, such as a machine that waits to be let in."""
UNGUARDED: Final = """
select c.relname from pg_class c where c.relnamespace = 'team'::regnamespace and c.relkind = 'r'
  and (not c.relforcerowsecurity or not exists (
    select 1 from pg_policy p where p.polrelid = c.oid and p.polname = %s))
  and not c.relname = any(%s) order by c.relname <> 'org', c.relname <> 'person', c.relname <> 'team', c.relname
"""
ANCHORS: Final = """
select a.attname, a.attnum, r.relname from pg_constraint k join pg_class c on c.oid = k.conrelid
join pg_class r on r.oid = k.confrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
where k.contype = 'f' and c.relnamespace = 'team'::regnamespace and c.relname = %s
  and r.relname in ('org', 'person', 'team') order by a.attnum
"""
