"""The sessions in `__store.db`: its tables, row by row."""

import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from backscroll.files.early_database import DAMAGE, DatabaseError, open_database, raise_if_passing, translated
from backscroll.files.early_rows import Value, problem_line, row_line, summary_line
from backscroll.files.early_sessions import PACK, ROWS_AT_ONCE, Contents, Gathered, ListedRow, name_of

SUMMARIES: Final = 1 << 24
"""The number of the first summary; rows come before."""
BASE, USER, ASSISTANT, SUMMARY = "base_messages", "user_messages", "assistant_messages", "conversation_summaries"


class DatabaseContents(Contents):
    """The sessions in a database. Lists rows table by table, so that a damaged index costs nothing."""

    def __init__(self, path: Path, *, is_own: bool = False, holds: object = None) -> None:
        super().__init__()
        self._path = path
        self._is_own = is_own
        self._holds = holds  # the temporary folder of a copy
        self._message_of: dict[int, tuple[str, int]] = {}
        self._columns: dict[str, list[str]] = {}
        with open_database(path, is_own=is_own) as connection, translated():
            self._columns = _tables(connection)
            if BASE in self._columns:
                self._list(connection)
            elif self._columns:
                raise DatabaseError(f"it has no table {BASE}")

    def _list(self, connection: sqlite3.Connection) -> None:
        by_session: dict[Value, Gathered] = {}
        owner: dict[Value, tuple[int, Gathered]] = {}
        for row in self._scan(connection, BASE, ("uuid", "session_id", "timestamp")):
            unique, session, moment = row.key
            gathered = by_session.setdefault(session, Gathered())
            gathered.add(row.number, moment)
            gathered.take(row)
            owner[unique] = row.number, gathered
        for table in (USER, ASSISTANT):
            for row in self._scan(connection, table, ("uuid",), "message"):
                if row.key[0] in owner:
                    number, gathered = owner[row.key[0]]
                    self._message_of[number] = table, row.number
                    gathered.take(row)
        for row in self._scan(connection, SUMMARY, ("leaf_uuid", "updated_at"), "summary"):
            leaf, moment = row.key
            if leaf in owner:
                gathered = owner[leaf][1]
                gathered.take(row)
                gathered.add(SUMMARIES + row.number, moment)
        for session, gathered in by_session.items():
            text = session.decode("utf-8", "replace") if isinstance(session, bytes) else str(session)
            entry = gathered.session(text)
            self.sessions[entry.name] = entry

    def _scan(
        self, connection: sqlite3.Connection, table: str, key: tuple[str, ...], text: str | None = None
    ) -> Iterator[ListedRow]:
        """Yield the rows of a table, without their texts; from both ends, if it is damaged in the middle."""
        known = self._columns.get(table, [])
        needed = key if text is None else (*key, text)
        if not set(needed) <= set(known):
            if table in self._columns:
                self.damage = f"its table {table} has other columns"
            return
        columns = (*needed, *(name for name in known if name not in needed))
        select = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED ORDER BY rowid"  # noqa: S608
        last = 0
        try:
            for row in connection.execute(select):
                last = row[0]
                if 0 < last < SUMMARIES:
                    yield _listed(row, len(key), has_text=text is not None)
                else:
                    self.damage = f"its table {table} has row ids that no client gives"
        except DAMAGE as error:
            raise_if_passing(error)
            self.damage = f"it is damaged: {error}"
            behind = []
            try:
                for row in connection.execute(f"{select} DESC"):
                    if row[0] <= last:
                        break
                    behind.append(_listed(row, len(key), has_text=text is not None))
            except DAMAGE as again:
                raise_if_passing(again)
            yield from reversed(behind)

    @contextmanager
    def reading(self) -> Iterator[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        with open_database(self._path, is_own=self._is_own) as connection:
            yield lambda numbers: self._lines(connection, numbers)

    def _lines(self, connection: sqlite3.Connection, numbers: tuple[int, ...]) -> Iterator[bytes]:
        try:
            rows = self._fetch(connection, numbers)
        except DAMAGE as error:
            raise_if_passing(error)
            if len(numbers) > 1:
                for number in numbers:
                    yield from self._lines(connection, (number,))
            else:
                yield problem_line(f"row {numbers[0]} of the database cannot be read: {error}")
            return
        for number in numbers:
            yield rows.get(number) or problem_line(f"row {number} of the database is gone")

    def _fetch(self, connection: sqlite3.Connection, numbers: tuple[int, ...]) -> dict[int, bytes]:
        summaries = self._rows(connection, SUMMARY, [number - SUMMARIES for number in numbers if number >= SUMMARIES])
        lines = {
            SUMMARIES + number: summary_line(row.get("leaf_uuid"), row.get("summary"))
            for number, row in summaries.items()
        }
        bases = self._rows(connection, BASE, [number for number in numbers if number < SUMMARIES])
        messages: dict[str, dict[int, dict[str, Value]]] = {}
        places = {number: self._message_of[number] for number in bases if number in self._message_of}
        for table in (USER, ASSISTANT):
            messages[table] = self._rows(connection, table, [row for name, row in places.values() if name == table])
        for number, base in bases.items():
            table, row = places.get(number, ("", 0))
            lines[number] = row_line(base, messages.get(table, {}).get(row, {}))
        return lines

    def _rows(self, connection: sqlite3.Connection, table: str, numbers: list[int]) -> dict[int, dict[str, Value]]:
        rows: dict[int, dict[str, Value]] = {}
        columns = self._columns.get(table, [])
        names = ", ".join(f'"{name}"' for name in columns)
        for at in range(0, len(numbers), ROWS_AT_ONCE):
            some = numbers[at : at + ROWS_AT_ONCE]
            marks = ", ".join("?" * len(some))
            select = f"SELECT rowid, {names} FROM {table} WHERE rowid IN ({marks})"  # noqa: S608
            for row in connection.execute(select, some):
                rows[row[0]] = dict(zip(columns, row[1:], strict=True))
        return rows


def remove_sessions(path: Path, names: Collection[str]) -> None:
    """Remove sessions from a copy of our own, so that no byte of them is left in it."""
    with translated(), closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = ON")
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if BASE not in tables:
            return
        ids = [row[0] for row in database.execute(f"SELECT DISTINCT session_id FROM {BASE}")]  # noqa: S608
        for session in ids:
            if name_of(str(session)) in names:
                rows = f"(SELECT uuid FROM {BASE} WHERE session_id = ?)"  # noqa: S608
                for table, column in ((USER, "uuid"), (ASSISTANT, "uuid"), (SUMMARY, "leaf_uuid"), (BASE, "uuid")):
                    if table in tables:
                        database.execute(f"DELETE FROM {table} WHERE {column} IN {rows}", (session,))  # noqa: S608
        database.execute("VACUUM")


def _tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the tables that we read, and their columns. A view of that name could be anything, and is not read."""
    tables = {}
    for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
        table = bytes(name).decode("utf-8", "replace")
        if table in (BASE, USER, ASSISTANT, SUMMARY) and not re.match(rb"\s*CREATE\s+VIRTUAL", sql, re.IGNORECASE):
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            names = [bytes(column[1]).decode("utf-8", "replace") for column in columns]
            tables[table] = [column for column in names if column in COLUMNS]
    return tables


def _listed(row: tuple[Any, ...], keys: int, *, has_text: bool) -> ListedRow:
    text = row[1 + keys] if has_text else b""
    size = len(text) if isinstance(text, bytes) else 0
    return ListedRow(row[0], row[1 : 1 + keys], size, zlib.crc32(PACK(row)))


COLUMNS: Final = frozenset(
    {"uuid", "parent_uuid", "session_id", "timestamp", "message_type", "cwd", "original_cwd", "user_type", "version"}
    | {"isSidechain", "message", "tool_use_result", "is_meta", "cost_usd", "duration_ms", "is_api_error_message"}
    | {"leaf_uuid", "summary", "updated_at"}
)
