"""Run a user's SQL statement: one that reads, as the reader's role, within a time.

The statement stands inside a query of ours, and only one can be sent: so it is a query too. The role cannot write,
reads what row-level security lets it see, and may call no function that would change its rights or block others; where
the database still lets it, the statement is refused.
"""

from typing import Any, Final

import psycopg
from psycopg import errors, sql

from backscroll.errors import BackscrollError, UsageError
from backscroll.store.base import SqlView
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.roles import FORBIDDEN
from backscroll.store.reader import Scope, StatementResult

LONGEST_STATEMENT: Final = 1_000_000
LONGEST_VALUE: Final = 4_000_000
MAX_BYTES: Final = 64_000_000


def run_statement(
    connection: PgConnection, scope: Scope, statement: str, limit: int, seconds: float
) -> StatementResult:
    """The rows that a statement gives, at most `limit`; an error if it takes longer than `seconds`."""
    if len(statement) > LONGEST_STATEMENT:
        raise UsageError(
            f"SQL: the statement has {len(statement):,} characters", f"write at most {LONGEST_STATEMENT:,}"
        )
    raw = connection.as_reader(scope)
    _check_walls(raw)
    with connection.snapshot():
        raw.execute(sql.SQL("set local statement_timeout = {}").format(sql.Literal(max(1, int(seconds * 1000)))))
        # Newlines, because the statement may end with a comment.
        wrapped = f"select * from (\n{statement.strip().rstrip(';')}\n) as statement limit {limit + 1:d}"  # noqa: S608
        try:
            # With a parameter list psycopg sends exactly one statement, never several.
            cursor = raw.execute(wrapped.encode(), [], prepare=False, binary=False)
        except errors.QueryCanceled as error:
            hint = "select less, or allow more time"
            raise BackscrollError(f"the statement took longer than {seconds:g} seconds", hint) from error
        except psycopg.Error as error:
            raise UsageError(
                f"SQL: {str(error).strip().splitlines()[0]}", "see backscroll sql --help for the views"
            ) from error
        columns = [column.name for column in cursor.description or ()]
        rows: list[tuple[Any, ...]] = []
        size = 0
        for row in cursor:
            size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if size > MAX_BYTES:
                return StatementResult(columns, rows, is_cut=True)
            rows.append(row)
    return StatementResult(columns, rows[:limit], is_cut=len(rows) > limit)


def _check_walls(raw: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Refuse where the reader's role could change its own rights."""
    allowed = "select name from unnest(%s::text[]) name where has_function_privilege('pg_catalog.' || name, 'execute')"
    found = [name for (name,) in raw.execute(allowed, (list(FORBIDDEN),))]
    if found:
        raise UsageError(
            f"this database lets every role call {found[0]}, so SQL of users would not be safe",
            f"let a superuser run: revoke execute on function pg_catalog.{found[0]} from public",
        )


def views_of(connection: PgConnection) -> list[SqlView]:
    """The documented views, by name."""
    found = connection.as_owner().execute(
        "select c.relname, array_agg(a.attname::text order by a.attnum) from pg_class c"
        " join pg_attribute a on a.attrelid = c.oid and a.attnum > 0"
        " where c.relkind = 'v' and c.relnamespace = 'backscroll'::regnamespace and c.relname like 'v\\_%'"
        " group by 1 order by 1"
    )
    return [SqlView(name, columns) for name, columns in found]
