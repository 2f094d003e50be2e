"""The sessions inside a file that holds several: the database `__store.db`, or a message log of the clients before it.

Such a file is to us what a folder is: each session in it has a path below the file's own, is found and read by itself,
and is a line of its own in the index. The lines of a session have no place in the file, so each gets a number in the
order of its rows: `start` is that number times LINE, and a line is found again by it.
"""

import json
import re
import sqlite3
import threading
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from backscroll.files.early_database import (
    DAMAGE,
    DatabaseError,
    OwnFolder,
    copy_files,
    needs_copy,
    open_database,
    stamp_of,
    translated,
)
from backscroll.files.early_rows import Value, message_line, problem_line, row_line, summary_line
from backscroll.files.layout import FileKind, is_session_id
from backscroll.files.opening import read_small

LINE: Final = 1 << 28
"""How far apart the starts of two lines are: more than any line is long."""
SUMMARIES: Final = 1 << 24
"""The number of the first summary; rows come before."""
ROWS_AT_ONCE: Final = 100
LONGEST_LOG: Final = 64 * 1024 * 1024
BASE, USER, ASSISTANT, SUMMARY = "base_messages", "user_messages", "assistant_messages", "conversation_summaries"


class EarlySession(NamedTuple):
    """A session inside such a file, as it was when we looked."""

    name: str
    """Its id, in the form that a file name has."""
    size: int
    """The bytes of its messages."""
    modified_ns: int
    mark: int
    """Becomes another when a row is added or removed, or its messages have other lengths."""
    numbers: tuple[int, ...] = ()
    """Its lines."""


class Contents:
    """What is inside such a file. Opened anew for each reading, so that it holds no lock in between."""

    def __init__(self) -> None:
        self.sessions: dict[str, EarlySession] = {}
        self.damage: str | None = None
        """Why some of it could not be listed."""

    def reading(self) -> AbstractContextManager[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        """A function that gives the lines with these numbers, while the file is open."""
        raise NotImplementedError


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
        found: dict[Value, _Gathered] = {}
        owner: dict[Value, tuple[int, _Gathered]] = {}
        columns = ("uuid", "session_id", "timestamp")
        for number, unique, session, moment in self._scan(connection, BASE, columns):
            gathered = found.setdefault(session, _Gathered())
            gathered.add(number, moment)
            owner[unique] = number, gathered
        for table in (USER, ASSISTANT):
            for number, unique, length in self._scan(connection, table, ("uuid", "length(CAST(message AS BLOB))")):
                if unique in owner:
                    row, gathered = owner[unique]
                    self._message_of[row] = table, number
                    gathered.size += length or 0
        for number, leaf, length, moment in self._scan(
            connection, SUMMARY, ("leaf_uuid", "length(CAST(summary AS BLOB))", "updated_at")
        ):
            if leaf in owner:
                gathered = owner[leaf][1]
                gathered.size += length or 0
                gathered.add(SUMMARIES + number, moment)
        for session, gathered in found.items():
            text = session.decode("utf-8", "replace") if isinstance(session, bytes) else str(session)
            one = gathered.session(text)
            self.sessions[one.name] = one

    def _scan(self, connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """The row ids and some columns of a table; from both ends, where it is damaged in the middle."""
        names = [name for name in columns if "(" in name or name in self._columns.get(table, ())]
        if len(names) < len(columns):
            if table in self._columns:
                self.damage = f"its table {table} has other columns"
            return
        select = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED ORDER BY rowid"  # noqa: S608
        last = 0
        try:
            for row in connection.execute(select):
                last = row[0]
                if 0 < last < SUMMARIES:
                    yield row
                else:
                    self.damage = f"its table {table} has row ids that no client gives"
        except DAMAGE as error:
            self.damage = f"it is damaged: {error}"
            behind = []
            try:
                for row in connection.execute(f"{select} DESC"):
                    if row[0] <= last:
                        break
                    behind.append(row)
            except DAMAGE:
                pass
            yield from reversed(behind)

    @contextmanager
    def reading(self) -> Iterator[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        with open_database(self._path, is_own=self._is_own) as connection:
            yield lambda numbers: self._lines(connection, numbers)

    def _lines(self, connection: sqlite3.Connection, numbers: tuple[int, ...]) -> Iterator[bytes]:
        try:
            rows = self._fetch(connection, numbers)
        except DAMAGE as error:
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
        found: dict[int, dict[str, Value]] = {}
        columns = self._columns.get(table, [])
        names = ", ".join(f'"{name}"' for name in columns)
        for at in range(0, len(numbers), ROWS_AT_ONCE):
            some = numbers[at : at + ROWS_AT_ONCE]
            marks = ", ".join("?" * len(some))
            select = f"SELECT rowid, {names} FROM {table} WHERE rowid IN ({marks})"  # noqa: S608
            for row in connection.execute(select, some):
                found[row[0]] = dict(zip(columns, row[1:], strict=True))
        return found


class LogContents(Contents):
    """The one session in a message log: a JSON array of messages, in their order."""

    def __init__(self, path: Path, data: bytes | None = None, modified_ns: int = 0) -> None:
        super().__init__()
        if data is None:
            data, modified_ns = read_small(path, LONGEST_LOG), path.stat().st_mtime_ns
        self._all = list(_messages(data, path.stem))
        if not self._all:
            return
        session = next(filter(None, map(_session_in, self._all)), path.stem)
        gathered = _Gathered(size=len(data))
        for number in range(len(self._all)):
            gathered.add(number + 1, modified_ns / 1e9)
        one = gathered.session(session)
        self.sessions[one.name] = one._replace(mark=zlib.crc32(data))

    @contextmanager
    def reading(self) -> Iterator[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        yield lambda numbers: (self._all[number - 1] for number in numbers if 0 < number <= len(self._all))


class _Gathered:
    """What is known of a session while its rows are listed."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.numbers: list[int] = []
        self.last = 0.0

    def add(self, number: int, moment: object) -> None:
        self.numbers.append(number)
        if isinstance(moment, (int, float)):
            self.last = max(self.last, moment / 1000 if moment > 100_000_000_000 else moment)

    def session(self, session: str) -> EarlySession:
        mark = zlib.crc32(msgspec.json.encode([self.numbers, self.size]))
        modified = int(min(max(self.last, 0), 1e10) * 1_000_000_000)
        return EarlySession(name_of(session), self.size, modified, mark, tuple(self.numbers))


def name_of(session: str) -> str:
    """The name of a session's file: its id, or one made of it where it could not be a name."""
    return session.lower() if is_session_id(session) else str(uuid.uuid5(uuid.NAMESPACE_OID, f"backscroll {session}"))


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
    """The tables that we read, and their columns. A view of that name could be anything, and is not read."""
    found = {}
    for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
        table = bytes(name).decode("utf-8", "replace")
        if table in (BASE, USER, ASSISTANT, SUMMARY) and not re.match(rb"\s*CREATE\s+VIRTUAL", sql, re.IGNORECASE):
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            names = [bytes(column[1]).decode("utf-8", "replace") for column in columns]
            found[table] = [column for column in names if column in COLUMNS]
    return found


def _messages(data: bytes, name: str) -> Iterator[bytes]:
    """The messages of a log as lines; a problem where it breaks off."""
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
        problem = None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        items, problem = list(_as_far_as_readable(data)), str(error)
    before: object = None
    session = name_of(SIDECHAIN.sub("", name))
    for at, item in enumerate(items):
        try:
            message = msgspec.json.decode(item, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield problem_line(f"item {at + 1} of the log is no message")
            continue
        known: dict[str, object] = {
            "parentUuid": before,
            "isSidechain": SIDECHAIN.search(name) is not None,
            "sessionId": session,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {at}")),
        }
        if moment := _moment_in(name):
            known["timestamp"] = moment
        yield message_line(message, known)
        before = message.get("uuid", known["uuid"])
    if problem:
        yield problem_line(f"the log breaks off: {problem}")


def _as_far_as_readable(data: bytes) -> Iterator[msgspec.Raw]:
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = text.find("[") + 1
    while at:
        at = GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches anywhere
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield msgspec.Raw(msgspec.json.encode(value))


def _session_in(line: bytes) -> str | None:
    try:
        session = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("sessionId")
        return msgspec.json.decode(session, type=str) if session is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _moment_in(name: str) -> str | None:
    """The time in the name of a log."""
    found = MOMENT.match(name)
    return "{}T{}:{}:{}.{}Z".format(*found.groups()) if found else None


class ContentsCache:
    """The contents that were listed last: a search opens the same file many times."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[object, Contents] = OrderedDict()

    def get(self, key: object, make: Callable[[], Contents]) -> Contents:
        """What is known under this key, else what `make` finds."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        contents = make()
        with self._lock:
            self._held[key] = contents
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
        return contents

    def clear(self) -> None:
        """Forget them."""
        with self._lock:
            self._held.clear()


def contents_of(path: Path, kind: FileKind) -> Contents:
    """The sessions in a live file."""
    make = _database_at if kind is FileKind.DATABASE else LogContents
    return CACHE.get((path, stamp_of(path)), lambda: make(path))


def _database_at(path: Path) -> Contents:
    if not path.is_file() or not needs_copy(path):
        return DatabaseContents(path)
    folder = OwnFolder()
    return DatabaseContents(copy_files(path, folder.path), is_own=True, holds=folder)


CACHE: Final = ContentsCache()
MOST_HELD: Final = 4
COLUMNS: Final = frozenset(
    {"uuid", "parent_uuid", "session_id", "timestamp", "message_type", "cwd", "original_cwd", "user_type", "version"}
    | {"isSidechain", "message", "tool_use_result", "is_meta", "cost_usd", "duration_ms", "is_api_error_message"}
    | {"leaf_uuid", "summary", "updated_at"}
)
SIDECHAIN: Final = re.compile(r"-sidechain-\d+$")
MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z")
GAP: Final = re.compile(r"[\s,]*")
