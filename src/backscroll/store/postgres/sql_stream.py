"""Run one statement over the extended protocol, and read its rows one by one, within limits.

There PostgreSQL itself refuses more than one statement; with the simple protocol, which psycopg chooses for a statement
without parameters, it runs them all. So people's statements are sent by the functions of libpq that cannot use it.
"""

import select
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.pq import DiagnosticField, ExecStatus, Format
from psycopg.pq.abc import PGresult

from backscroll.errors import BackscrollError, Busy, OutOfMemory, StorageError, UsageError
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.texts import from_stored
from backscroll.store.reader import StatementResult

LONGEST_VALUE: Final = 4_000_000
"""The most bytes of a value, and of a row."""
MAX_BYTES: Final = 64_000_000
"""The most bytes of all rows together, in memory: the result is cut there, as at the row limit."""
CANCEL_SECONDS: Final = 3.0
"""The time that a statement has to stop."""
SEES: Final = "backscroll sql --schema lists the views and their columns"


class TookTooLong(BackscrollError):  # noqa: N818 - it is what the user reads
    """A statement was stopped at its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the statement took longer than {seconds:g} seconds", "select less, or allow more time")


class StatementStream:
    """The connection of one statement, with a deadline for the statement."""

    def __init__(self, connection: psycopg.Connection[Any], seconds: float) -> None:
        self._connection, self._pgconn = connection, connection.pgconn
        self._seconds, self._ends = seconds, time.monotonic() + seconds
        self._poll = select.poll()
        self._has_begun = False
        """Whether the statement reads rows: from then on a message may hold a value."""

    def run(self, statement: bytes, limit: int) -> StatementResult:
        """Return the first rows of a query."""
        try:
            with translate_errors():
                columns = self.describe(statement)
                self.send(statement, len(columns), limit)
                return self._read(columns, limit)
        except TimeoutError:
            raise TookTooLong(self._seconds) from None
        finally:
            self._stop()

    def describe(self, statement: bytes) -> list[tuple[str, int]]:
        """Return name and type of each column of a statement, which is parsed, not run: it must be one complete
        statement.
        """
        self._pgconn.send_prepare(b"", statement)
        self._results()
        self._pgconn.send_describe_prepared(b"")
        (result,) = self._results()
        if not result.nfields:
            raise UsageError("SQL: the statement returns no rows", "only select, values and with can run")
        return [(_text(result.fname(at)), result.ftype(at)) for at in range(result.nfields)]

    def send(self, statement: bytes, columns: int, limit: int) -> None:
        """Send a query. PostgreSQL runs it inside one of ours, so that it can be nothing else."""
        limits = (columns, limit + 1, LONGEST_VALUE, 2 * MAX_BYTES)  # PostgreSQL counts bytes a little differently
        self._has_begun = True
        self._pgconn.send_query_params(
            RUN, [statement, *(b"%d" % value for value in limits)], result_format=Format.BINARY
        )
        self._pgconn.set_single_row_mode()

    def _read(self, columns: list[tuple[str, int]], limit: int) -> StatementResult:
        rows: list[tuple[Any, ...]] = []
        size = 0
        while (result := self._next()) is not None:
            for at in range(result.ntuples):
                data = result.get_value(at, 0) or b""
                row = tuple(_value(kind, value) for (_, kind), value in zip(columns, _array(data), strict=True))
                size += max(len(data), sys.getsizeof(row) + sum(map(sys.getsizeof, row)))
                rows.append(row)
                if size > MAX_BYTES or len(rows) > limit:
                    return StatementResult([name for name, _ in columns], rows[:-1], is_cut=True)
        return StatementResult([name for name, _ in columns], rows, is_cut=False)

    def _results(self) -> list[PGresult]:
        """Return all results of the last message sent."""
        return list(iter(self._next, None))

    def _next(self) -> PGresult | None:
        """Return the next result; None after the last one. An error is raised when PostgreSQL is ready for more."""
        result = self._receive()
        if result is None or result.status in GOOD:
            return result
        rest: PGresult | None = result
        while rest is not None and rest.status in (*GOOD, ExecStatus.FATAL_ERROR):
            rest = self._receive()
        raise self._error(result)

    def _receive(self) -> PGresult | None:
        """Return the next result from PostgreSQL, when it has arrived."""
        while self._pgconn.flush():
            self._wait(select.POLLIN | select.POLLOUT)
            self._pgconn.consume_input()
        while self._pgconn.is_busy():
            self._wait(select.POLLIN)
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _wait(self, event: int) -> None:
        self._poll.register(self._pgconn.socket, event)
        left = self._ends - time.monotonic()
        if left <= 0 or not self._poll.poll(left * 1000):
            raise TimeoutError

    def _error(self, result: PGresult) -> BackscrollError:
        """Return our error for a result."""
        state = _text(result.error_field(DiagnosticField.SQLSTATE))
        message = _text(result.error_field(DiagnosticField.MESSAGE_PRIMARY)).split("\n")[0]
        if state == errors.QueryCanceled.sqlstate:
            return TookTooLong(self._seconds)
        if state == errors.OutOfMemory.sqlstate:
            return OutOfMemory("SQL: the statement needs too much memory", "ask for less at once")
        if state == errors.ConfigurationLimitExceeded.sqlstate:
            return StorageError("SQL: the statement needs too much room for temporary files", "ask for less at once")
        if state == errors.LockNotAvailable.sqlstate:
            return Busy("the tables are being rewritten", "try again in a moment")
        if state in (errors.AdminShutdown.sqlstate, errors.CrashShutdown.sqlstate):
            return StorageError(f"the database stopped: {message}", "try again in a moment")
        before, quote, _ = message.partition('"')
        if quote and self._has_begun:  # an agent would take a value for words of the server
            message = f"{before}…"
        return UsageError(f"SQL: {MESSAGES.get(message, message)}", SEES)

    def _stop(self) -> None:
        """Have PostgreSQL end a running statement, over another connection; the session is closed in any case."""
        with suppress(psycopg.Error, TimeoutError):
            if self._pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self._ends = time.monotonic() + CANCEL_SECONDS
                self._connection.cancel_safe(timeout=CANCEL_SECONDS)
                while (result := self._receive()) is not None and result.status in (*GOOD, ExecStatus.FATAL_ERROR):
                    pass


def _array(data: bytes) -> Iterator[bytes | None]:
    """Yield the texts of an array in PostgreSQL's binary format."""
    at = 20
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        yield None if size < 0 else data[at : at + size]
        at += max(size, 0)


def _value(kind: int, data: bytes | None) -> Any:  # noqa: ANN401 - of any column
    """Return a value as a number, a boolean, a text or bytes; of any other type as PostgreSQL writes it."""
    if data is None:
        return None
    if kind == BOOLEAN:
        return data == b"true"
    if kind in FLOATS:
        return float(data)
    if kind in WHOLE:
        return int(data)
    if kind == NUMERIC and len(data) <= LONGEST_NUMBER:
        return int(data) if data.lstrip(b"-").isdigit() else float(data)
    if kind == BYTES:
        return bytes.fromhex(data[2:].decode())
    return _text(data)


def _text(data: bytes | None) -> str:
    return "" if data is None else from_stored(data.decode(errors="replace"))


RUN: Final = b"select * from backscroll_sql.run($1::text, $2::int, $3::bigint, $4::int, $5::bigint)"
GOOD: Final = frozenset({ExecStatus.SINGLE_TUPLE, ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK})
MESSAGES: Final = {
    "cannot insert multiple commands into a prepared statement": "more than one statement",
    "a row of the result is too large": f"a row of the result has more than {LONGEST_VALUE:,} bytes",
}
"""Messages of PostgreSQL, in our words."""
OID: Final = {name: psycopg.adapters.types[name].oid for name in ("bool", "bytea", "numeric", "float4", "float8")}
BOOLEAN, BYTES, NUMERIC = OID["bool"], OID["bytea"], OID["numeric"]
FLOATS: Final = frozenset({OID["float4"], OID["float8"]})
WHOLE: Final = frozenset(psycopg.adapters.types[name].oid for name in ("int2", "int4", "int8", "oid"))
LONGEST_NUMBER: Final = 300
"""The most digits of a number; a longer one is returned as text."""
