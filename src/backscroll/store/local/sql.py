"""Run a user's SQL statements: one at a time, read-only, within limits, in a separate process.

Limits inside SQLite are not enough: some functions run for minutes without checking a clock, and memory is shared with
the whole process. So `sql_worker` runs the statement and is killed when its time is up.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Final

import apsw

from backscroll.errors import BackscrollError, Busy, OutOfMemory, StorageError, UsageError
from backscroll.store.base import DamagedStoreError
from backscroll.store.local.checksums import checksum_extension, load_checksums
from backscroll.store.reader import StatementResult

LONGEST_VALUE: Final = 4_000_000
"""The most bytes of a value. Values in the views are hundreds of times shorter, even the longest titles and paths."""
LONGEST_STATEMENT: Final = 1_000_000
MAX_COLUMNS: Final = 100
"""The engine holds a whole row, twice or more, before its size can be checked."""
MAX_BYTES: Final = 64_000_000
"""The most bytes of all rows together: the result is cut there, as at the row limit."""
LARGEST_FRAME: Final = 8 * LONGEST_VALUE * MAX_COLUMNS
"""A character takes at most six bytes of JSON; the worker has no memory for a larger row."""
START_SECONDS: Final = 60.0
"""Timeout for the start of the process, on a very busy machine. The statement's own time starts after that."""
WORKER: Final = Path(__file__).with_name("sql_worker.py")


class StatementRunner:
    """Runs statements on a file. The process starts with the first statement and is kept for later ones."""

    def __init__(self) -> None:
        self._worker: _Worker | None = None
        self._lock = threading.Lock()

    def run(self, file: Path, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run a read-only statement; an error if it takes longer than `seconds`."""
        request = {
            "file": str(file.absolute()),
            "statement": statement,
            "rows": limit,
            "bytes": MAX_BYTES,
            "seconds": seconds,
            "checksums": checksum_extension() if load_checksums() else None,
            "limits": {"LENGTH": LONGEST_VALUE, "SQL_LENGTH": LONGEST_STATEMENT, "COLUMN": MAX_COLUMNS},
        }
        if len(statement) > LONGEST_STATEMENT:
            raise UsageError(
                f"SQL: the statement has {len(statement):,} characters", f"write at most {LONGEST_STATEMENT:,}"
            )
        with self._lock:
            if self._worker is None or not self._worker.is_running:
                self.close()
                self._worker = _Worker()
            try:
                return self._worker.run(json.dumps(request).encode() + b"\n", time.monotonic() + seconds)
            except TimeoutError:
                self.close()
                hint = "select less, or allow more time"
                raise BackscrollError(f"the statement took longer than {seconds:g} seconds", hint) from None
            except _Refused as refused:
                raise refused.error from None
            except BaseException:
                self.close()  # its result is no longer needed
                raise

    @property
    def is_running(self) -> bool:
        """Whether the process is running."""
        return self._worker is not None and self._worker.is_running

    def close(self) -> None:
        """Stop the process, even during a statement."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """The worker answered with an error and can be used again."""

    def __init__(self, error: BackscrollError) -> None:
        self.error = error


class _Worker:
    """The worker process and its pipes."""

    def __init__(self) -> None:
        # Without site-packages and our own packages it starts in a third of the time.
        command = [sys.executable, "-I", "-S", str(WORKER), str(Path(apsw.__file__).parent.parent)]
        self._process = subprocess.Popen(  # noqa: S603
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._end = weakref.finalize(self, _end, self._process)
        assert self._process.stdin and self._process.stdout  # noqa: S101 - both are pipes
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        try:
            self._receive(time.monotonic() + START_SECONDS)
        except BaseException:
            self.kill()
            raise

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._end()

    def run(self, request: bytes, deadline: float) -> StatementResult:
        """Return the answer to a request; TimeoutError if there is none in time."""
        self._write(request, deadline)
        rows: list[tuple[Any, ...]] = []
        while True:
            frame = self._receive(deadline)
            if "error" in frame:
                raise _Refused(_error(frame))
            rows += [tuple(map(_value, row)) for row in frame["rows"]]
            if "columns" in frame:
                return StatementResult(frame["columns"], rows, frame["is_cut"])

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._input, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._input, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._ended() from None

    def _receive(self, deadline: float) -> dict[str, Any]:
        size = int.from_bytes(self._read(4, deadline), "big")
        if size > LARGEST_FRAME:
            raise BackscrollError("SQL: a row of the result is too large", "select fewer or shorter columns")
        frame: dict[str, Any] = json.loads(self._read(size, deadline))
        return frame

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(self._output, select.POLLIN, deadline)
            piece = os.read(self._output, min(size - len(data), 1024 * 1024))
            if not piece:
                raise self._ended()
            data += piece
        return bytes(data)

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        while not poll.poll(max(0, min(deadline - time.monotonic(), 3600)) * 1000):
            if time.monotonic() >= deadline:
                raise TimeoutError

    def _ended(self) -> BackscrollError:
        """Return the error of a worker that ended by itself: the system killed it, or it failed to start."""
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return BackscrollError(f"SQL: the process of the statement {how}", "ask for less; see backscroll doctor")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _value(value: Any) -> Any:  # noqa: ANN401 - of any column
    return bytes.fromhex(value[0]) if isinstance(value, list) else value


def _error(frame: dict[str, Any]) -> BackscrollError:
    """Return the worker's message as an error for the user."""
    kind, message = frame["error"], frame["message"]
    schema = "backscroll sql --schema lists the views and their columns"
    match kind:
        case "AuthError" if frame.get("refused"):
            return UsageError(f"SQL: the {frame['refused']} {frame['name']} is not available here", schema)
        case "AuthError" | "ReadOnlyError":
            return UsageError("SQL: the statement would write", "only read-only statements are allowed")
        case "ExecTraceAbort":
            return UsageError("SQL: more than one statement", "run them one at a time")
        case "NoMemError":
            return OutOfMemory("SQL: the statement needs too much memory", "ask for less at once")
        case "CorruptError" | "NotADBError":
            return DamagedStoreError(message)
        case "IOError" if frame.get("code") == apsw.SQLITE_IOERR_DATA:
            return DamagedStoreError("a checksum does not match")
        case "BusyError" | "LockedError":
            return Busy(f"SQL: {message}", "try again in a moment")
        case "IOError" | "FullError" if frame.get("code") in (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_FULL):
            return StorageError("SQL: the statement needs too much room for temporary files", "ask for less at once")
        case "IOError" | "FullError" | "CantOpenError" | "PermissionsError":
            return StorageError(f"SQL: {message}", "check the disk, and try again")
    return UsageError(f"SQL: {message}", schema)
