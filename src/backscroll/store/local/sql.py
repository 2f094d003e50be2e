"""Statements of the user: one at a time, only reading, within limits."""

import time
from pathlib import Path
from typing import Any, Final

import apsw

from backscroll.errors import BackscrollError, UsageError
from backscroll.store.base import Table
from backscroll.store.local.database import connect, limited

LONGEST_VALUE: Final = 4_000_000
"""In bytes. What the views have is hundreds of times shorter, even the longest titles and paths."""
MOST_COLUMNS: Final = 100
"""The engine holds a row as a whole, twice or more, before anybody can look at how large it is."""
MOST_BYTES: Final = 64_000_000
"""Of all rows together: an answer is cut there, as it is at its limit of rows."""


def run_sql(file: Path, statement: str, limit: int, seconds: float) -> Table:
    """Run a statement on a connection of its own that can do nothing but read this file."""
    over = time.monotonic() + seconds
    connection = connect(file, write=False)
    try:
        connection.execute("pragma query_only = on")
        connection.execute("pragma temp_store = file")  # what is put into order may be larger than memory
        connection.set_busy_timeout(int(min(seconds, 1) * 1000))
        connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.limit(apsw.SQLITE_LIMIT_COLUMN, MOST_COLUMNS)
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
    rows: list[tuple[Any, ...]] = []
    left = MOST_BYTES
    is_cut = False
    for row in cursor:
        left -= _size(row)
        is_cut = len(rows) >= limit or left < 0
        if is_cut:
            break
        rows.append(row)
    return Table(columns or _columns(connection, statement), rows, is_cut)


def _size(row: tuple[Any, ...]) -> int:
    """Roughly what a row takes, in bytes."""
    return sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)


def _columns(connection: apsw.Connection, statement: str) -> list[str]:
    import apsw.ext

    try:
        info = apsw.ext.query_info(connection, statement)
    except apsw.Error:
        return []
    return [name for name, *_ in info.description]
