"""Statements of the user: one at a time, only reading, within limits."""

import time
from pathlib import Path

import apsw

from backscroll.errors import BackscrollError, UsageError
from backscroll.store.base import Table
from backscroll.store.local.database import connect, limited


def run_sql(file: Path, statement: str, limit: int, seconds: float) -> Table:
    """Run a statement on a connection of its own that can do nothing but read this file."""
    over = time.monotonic() + seconds
    connection = connect(file, write=False)
    try:
        connection.execute("pragma query_only = on")
        connection.set_busy_timeout(int(min(seconds, 1) * 1000))
        connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        with limited(connection, lambda: time.monotonic() > over):
            return _run(connection, statement, limit)
    except apsw.InterruptError as error:
        hint = "ask for less, or give it more time"
        raise BackscrollError(f"the statement took longer than {seconds:g} seconds", hint) from error
    except apsw.ReadOnlyError as error:
        raise UsageError("SQL: this would write", "only reading is possible here; the index is derived") from error
    except apsw.Error as error:
        raise UsageError(f"SQL: {error}", "backscroll sql --schema lists the views and their columns") from error
    finally:
        connection.close()


def _run(connection: apsw.Connection, statement: str, limit: int) -> Table:
    started: list[str] = []

    def trace(_: apsw.Cursor, text: str, __: object) -> bool:
        started.append(text)
        if len(started) > 1:
            raise UsageError("SQL: more than one statement", "ask them one after the other")
        return True

    cursor = connection.cursor()
    cursor.exec_trace = trace
    cursor.execute(statement)
    try:
        columns = [name for name, *_ in cursor.get_description()]
    except apsw.ExecutionCompleteError:
        columns = []  # no rows: the columns are still to be had, if it was a question at all
    rows = []
    for row in cursor:
        rows.append(row)
        if len(rows) > limit:
            break
    return Table(columns or _columns(connection, statement), rows[:limit], is_cut=len(rows) > limit)


def _columns(connection: apsw.Connection, statement: str) -> list[str]:
    import apsw.ext

    try:
        info = apsw.ext.query_info(connection, statement)
    except apsw.Error:
        return []
    return [name for name, *_ in info.description]
