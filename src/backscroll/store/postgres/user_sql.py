"""Run a user's SQL statement behind two walls, each of which is enough.

The statement is sent as exactly one, inside a query of ours (`sql_stream`), and by a login that may read the documented
views and nothing else (`sql_login`), whose rows are those of one build, written down by the server (`sql_session`).
"""

from typing import Final

from backscroll.errors import UsageError
from backscroll.store.base import SqlView
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.sql_login import login_address
from backscroll.store.postgres.sql_session import sql_session
from backscroll.store.postgres.sql_stream import StatementStream
from backscroll.store.postgres.texts import to_stored
from backscroll.store.reader import StatementResult

LONGEST_STATEMENT: Final = 1_000_000


def run_statement(
    connection: PgConnection, login: str | None, statement: str, limit: int, seconds: float
) -> StatementResult:
    """Return at most `limit` rows of a statement on the build of a connection; TookTooLong after `seconds`.

    `login` is the address of the database for `backscroll_sql`, if it is not that of the connection.
    """
    if len(statement) > LONGEST_STATEMENT:
        raise UsageError(
            f"SQL: the statement has {len(statement):,} characters", f"write at most {LONGEST_STATEMENT:,}"
        )
    text = to_stored(statement.strip().rstrip(";")).encode()
    with sql_session(connection, login or login_address(connection.address), seconds) as session:
        return StatementStream(session, seconds).run(text, limit)


def views_of(connection: PgConnection) -> list[SqlView]:
    """Return the documented views, by name."""
    rows = connection.as_owner().execute(
        "select c.relname, array_agg(a.attname::text order by a.attnum) from pg_class c"
        " join pg_attribute a on a.attrelid = c.oid and a.attnum > 0"
        " where c.relkind = 'v' and c.relnamespace = 'backscroll_sql'::regnamespace group by 1 order by 1"
    )
    return [SqlView(name, columns) for name, columns in rows]
