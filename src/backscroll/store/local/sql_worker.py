"""The process that runs a user's SQL statements. It reads one file and can be killed at any moment.

`sql` starts it by this file's path, without our packages: it must start fast, so it imports only the standard library
and apsw. Requests are lines of JSON on standard input; answers are frames on standard output, each a length of four
bytes and JSON. It ends when its standard input closes, whatever it is doing.
"""

import _thread
import json
import math
import os
import resource
import signal
import sys
import time
from _queue import SimpleQueue
from contextlib import suppress
from typing import Any, Final

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]  # where apsw is

import apsw

MIB: Final = 1024 * 1024
MAX_HEAP_BYTES: Final = 256 * MIB
"""Memory limit for SQLite; a statement that needs more fails with a plain error."""
MAX_MEMORY: Final = 768 * MIB
"""Memory limit for the process: SQLite, a row in Python, and the same row as output."""
LARGEST_FILE: Final = 1024 * MIB
"""Size limit of each temporary file that SQLite sorts with."""
MAX_OPEN_FILES: Final = 64
SETTINGS: Final = (
    "query_only = on",
    "temp_store = file",
    "cache_size = -32768",
    "mmap_size = 0",
    f"hard_heap_limit = {MAX_HEAP_BYTES}",
)
FRAME: Final = 256 * 1024
"""Send rows once they have this many bytes."""


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the process that started us, which then ends us
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, MAX_MEMORY)
    _limit(resource.RLIMIT_FSIZE, LARGEST_FILE)
    _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
    _thread.start_new_thread(_receive, (requests,))
    _send({"ready": True})
    while True:
        request = requests.get()
        try:
            _answer(request)
        except MemoryError:
            _send({"error": "NoMemError", "message": "out of memory"})
        except UnicodeDecodeError:
            _send({"error": "SQLError", "message": "a value is not UTF-8 text: select hex() of it"})
        except ValueError as error:  # the statement contains something SQLite does not accept: a surrogate, a NUL
            _send({"error": "SQLError", "message": str(error)})
        except apsw.Error as error:
            code = getattr(error, "extendedresult", 0)
            _send({"error": type(error).__name__, "message": str(error), "code": code})


def _receive(requests: "SimpleQueue[dict[str, Any]]") -> None:
    for line in sys.stdin.buffer:
        requests.put(json.loads(line))
    os._exit(0)  # the caller is gone; apsw lets this thread run while SQLite works


def _send(frame: dict[str, Any]) -> None:
    data = json.dumps(frame, ensure_ascii=False, separators=(",", ":"), default=_bytes).encode()
    sys.stdout.buffer.write(len(data).to_bytes(4, "big"))
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _bytes(value: bytes) -> list[str]:
    return [value.hex()]  # no other value of a row is a list


def _limit(kind: int, most: int) -> None:
    """Set a limit for this process; a lower one stays."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):  # not every system has every limit; our parent process watches the clock
        resource.setrlimit(kind, (most, hard))


def _answer(request: dict[str, Any]) -> None:
    # If our parent is gone, the system kills us.
    _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + min(request["seconds"], 1e6)) + 5)
    _check_pages(request["checksums"])
    connection = apsw.Connection(request["file"], flags=apsw.SQLITE_OPEN_READONLY)
    access = None
    try:
        connection.set_busy_timeout(int(min(request["seconds"], 1) * 1000))
        # Sorted data may exceed memory. The heap limit is for this process only.
        for pragma in SETTINGS:  # one by one: apsw stops at the first that returns a row
            connection.execute(f"pragma {pragma}")
        access = _Access(connection)
        for limit, most in LIMITS.items():
            connection.limit(limit, most)
        for limit, most in request["limits"].items():
            connection.limit(getattr(apsw, f"SQLITE_LIMIT_{limit}"), most)
        connection.authorizer = access.check
        _run(connection, request)
    except apsw.AuthError:
        _send({"error": "AuthError", "message": "not authorized", **(access.refused if access else {})})
    finally:
        connection.close(True)


def _check_pages(extension: str | None) -> None:
    """Let SQLite verify page checksums, as `checksums` does in the main process."""
    if extension is not None and "cksmvfs" not in apsw.vfs_names():
        connection = apsw.Connection(":memory:")
        connection.enable_load_extension(True)
        connection.load_extension(extension)
        connection.close()


def _run(connection: apsw.Connection, request: dict[str, Any]) -> None:
    columns: list[str] = []
    started = 0

    def trace(cursor: apsw.Cursor, _: str, __: object) -> bool:
        nonlocal started
        started += 1
        if started == 1:
            columns.extend(name for name, *_ in cursor.get_description())
        return started == 1  # otherwise apsw.ExecTraceAbort

    rows: list[tuple[Any, ...]] = []
    size = 0
    left = request["bytes"]
    is_cut = False
    cursor = connection.cursor()
    cursor.exec_trace = trace
    for count, row in enumerate(cursor.execute(request["statement"])):
        taken = sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)
        left -= taken
        is_cut = count >= request["rows"] or left < 0
        if is_cut:
            break
        rows.append(row)
        size += taken
        if size > FRAME:
            _send({"rows": rows})
            rows, size = [], 0
    _send({"rows": rows, "columns": columns, "is_cut": is_cut})


class _Access:
    """The rights of a statement: to read the tables of the file, and to use the functions and pragmas listed here."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.refused: dict[str, str] = {}
        """The last refused action: its kind and name."""
        self._tables = {name.lower() for (name,) in connection.execute("select name from sqlite_schema")} | TABLES
        self._modules = {name.lower() for (name,) in connection.execute("select name from pragma_module_list")}

    def check(self, action: int, one: str | None, two: str | None, *_: str | None) -> int:
        """Allow or deny an action; SQLite calls this for every action of a statement, before it runs."""
        if action in (apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE):
            return apsw.SQLITE_OK
        name = ((two if action == apsw.SQLITE_FUNCTION else one) or "").lower()
        if action == apsw.SQLITE_READ:
            kind, is_allowed = "table", self._is_readable(name, two or "")
        elif action == apsw.SQLITE_FUNCTION:
            kind, is_allowed = "function", name in FUNCTIONS
        elif action == apsw.SQLITE_PRAGMA:
            kind, is_allowed = "pragma", name in PRAGMAS_OF or (name in PRAGMAS and two is None)
        else:
            kind, is_allowed = "", False
        if is_allowed:
            return apsw.SQLITE_OK
        self.refused = {"refused": kind, "name": name}
        return apsw.SQLITE_DENY

    def _is_readable(self, table: str, column: str) -> bool:
        if table.startswith("pragma_"):
            return table.removeprefix("pragma_") in PRAGMAS | PRAGMAS_OF
        if table in self._tables:
            return True
        # If no column is read, as in count(*), the name may be an alias from the statement.
        return not column and table not in self._modules


LIMITS: Final = {
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 100,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 1,
    apsw.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
TABLES: Final = {"sqlite_schema", "sqlite_master", "json_each", "json_tree"}
"""Tables to read in addition to those of the file."""
PRAGMAS_OF: Final = {
    "foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo",
}  # fmt: skip
"""Read-only pragmas that take an argument."""
PRAGMAS: Final = {
    "application_id", "collation_list", "compile_options", "data_version", "encoding", "freelist_count",
    "function_list", "page_count", "page_size", "pragma_list", "schema_version", "user_version",
}  # fmt: skip
"""Pragmas that are read-only without an argument."""
FUNCTIONS: Final = frozenset(
    """-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count
    cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format
    glob group_concat hex if ifnull iif instr json json_array json_array_insert json_array_length json_error_position
    json_extract json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote
    json_remove json_replace json_set json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract
    jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set
    julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod
    nth_value ntile nullif octet_length percent_rank percentile percentile_cont percentile_disc pi pow power printf
    quote radians random randomblob rank replace round row_number rtrim sign sin sinh sqlite_version sqrt strftime
    string_agg substr substring sum tan tanh time timediff total trim trunc typeof unhex unicode unistr unistr_quote
    unixepoch unlikely upper zeroblob""".split()
)

if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(1)  # a thread waits for requests and would block the exit
