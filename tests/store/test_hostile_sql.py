"""Statements that want to hang, fill, write, crash or get out: each ends in an answer or a plain error.

None of these tests measures time. Where a statement would run for hours, that it ends at all is what is asserted.
"""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError
from backscroll.library.library import Library
from backscroll.store.local import sql, sql_worker
from backscroll.store.local.sql import StatementRunner
from tests.library.support import Shelf
from tests.support.homes import EVERYTHING
from tests.support.processes import is_alive, seconds_of, sql_workers_of, until

SECONDS = 0.5
KIB = 1024
NUMBERS = "with recursive n(i) as (select 1 union all select i + 1 from n) "
HUNDRED = "with recursive n(i) as (select 1 union all select i + 1 from n limit 100) "
MANY = "with recursive n(i) as (select 1 union all select i + 1 from n limit 3000) "
LONG = "hex(zeroblob(1900000))"
HOURS = f"select instr({LONG}, replace({LONG}, '00', '0') || '1')"
OUTSIDE = "/tmp/backscroll-must-not-exist"
DOUBLED = (
    "with a0 as (select 1 as x), "
    + ", ".join(f"a{number} as (select a.x from a{number - 1} a, a{number - 1} b)" for number in range(1, 40))
    + " select count(*) from a39"
)
HOSTILE = (
    # SQLite looks at no clock while one function works.
    f"select instr({LONG}, {LONG} || 'x')",
    f"{HUNDRED} select count(*) from n where instr({LONG}, replace({LONG}, '00', '0') || '1') > 0",
    f"{HUNDRED} select sum(length(replace({LONG}, '00', 'x'))) from n",
    f"{HUNDRED} select sum({LONG} like '%0%0%0%0%0%0%0%0%0%0%1') from n",
    f"{HUNDRED} select sum({LONG} glob '*0*0*0*0*0*0*0*0*0*0*1') from n",
    f"{HUNDRED} select sum(length(trim({LONG}, printf('%.1900000c', 'x')))) from n",
    "select printf('%.*c', 3999999, 'x') like '%' || printf('%.900c', 'x') || '%y'",
    # Endless.
    f"{NUMBERS} select count(*) from n",
    f"{NUMBERS} select i from n where i < 0",
    f"{NUMBERS} select max(i) from n group by i % 2",
    f"{MANY} select count(*) from n a, n b, n c, n d",
    "with recursive n(s) as (select 'x' union all select s || s from n) select max(length(s)) from n",
    # Memory.
    f"{MANY} select json_group_array(printf('%.100c', a.i)) from n a, n b",
    f"{MANY} select json_group_object(a.i || '/' || b.i, printf('%.100c', 'x')) from n a, n b",
    f"{MANY} select length(jsonb_group_array(zeroblob(10000))) from n a, n b",
    f"{MANY} select length(group_concat(printf('%.10000c', 'x'))) from n a, n b",
    f"{MANY} select i, json_group_array({LONG}) over (order by i) from n",
    f"{MANY} select median(a.i * b.i) from n a, n b, n c",
    f"{MANY} select {', '.join([LONG] * 100)} from n",
    "select randomblob(2000000000)",
    "select zeroblob(9223372036854775807)",
    "select printf('%2000000000d', 1)",
    "select replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000000)))",
    f"select json_patch(json_object('a', {LONG}), json_object('b', {LONG}, 'c', {LONG}))",
    # Disk.
    f"{MANY} select a.i, b.i, printf('%.1000c', 'x') p from n a, n b, n c order by p, b.i",
    f"{MANY} select count(distinct a.i || printf('%.1000c', 'x') || b.i) from n a, n b, n c",
    # Shape.
    "select " + "(" * 5000 + "1" + ")" * 5000,
    "select " + " + ".join(["1"] * 100_000),
    " union all ".join(["select 1"] * 5000),
    "select " + ", ".join(["1"] * 30_000),
    "select coalesce(" + ", ".join(["null"] * 900) + ")",
    "select 'x' like '" + "%a" * 20_000 + "'",
    "select * from v_chats where id in (" + ", ".join(["'x'"] * 100_000) + ")",
    "select " + "case when 1 then " * 3000 + "1" + " end" * 3000,
    "select '" + "x" * 2_000_000 + "'",
    "select json('" + "[" * 100_000 + "')",
    "select json_extract('[1]', '$" + "[0]" * 100_000 + "')",
    DOUBLED,
    # The process, the file, the disk.
    "pragma hard_heap_limit=1",
    "pragma soft_heap_limit=1",
    "select * from pragma_hard_heap_limit(1)",
    "pragma mmap_size=1000000000000",
    "pragma cache_size=-100000000",
    "pragma temp_store_directory='/'",
    "pragma temp_store=memory",
    "pragma query_only=off",
    "pragma writable_schema=on",
    "pragma journal_mode=delete",
    "pragma locking_mode=exclusive",
    "pragma wal_checkpoint(truncate)",
    "pragma user_version=7",
    "pragma application_id=7",
    "pragma schema_version=7",
    "pragma trusted_schema=on",
    "pragma integrity_check",
    "pragma optimize",
    "select load_extension('/lib/x86_64-linux-gnu/libc.so.6')",
    "select fts3_tokenizer('simple', x'4141414141414141')",
    "select writefile('x', 'y')",
    "select readfile('/etc/passwd')",
    "select edit('x')",
    "select sqlite_log(1, 'x')",
    "select * from dbstat",
    "select count(*) from dbstat",
    "select * from sqlite_dbpage",
    "select * from fts5vocab",
    f"attach '{OUTSIDE}' as other",
    f"vacuum into '{OUTSIDE}'",
    "create temp table t as select * from v_chats",
    "create virtual table temp.t using fts5(x)",
    "insert into files default values",
    "begin exclusive",
    "savepoint x",
    "reindex",
    "analyze",
    # Text.
    "select cast(x'ff' as text)",
    "select 'a\0b'",
    "\ud800",
    "select '\ud800'",
    "select ?",
    "select 1; select 2",
    ";",
    "--",
    "/*",
    "\0",
    "explain query plan select * from v_messages",
)  # fmt: skip

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads what Linux says of processes")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    return shelf


def outcome(library: Library, statement: str) -> str:
    try:
        return f"{len(library.sql(statement, limit=1000, seconds=SECONDS).rows)} rows"
    except BackscrollError as error:
        assert error.message
        assert error.hint
        return f"{type(error).__name__}: {error.message}"


@pytest.mark.all
@pytest.mark.slow
def test_every_hostile_statement_ends_and_leaves_the_index_as_it_was(shelf: Shelf) -> None:
    sound = shelf.answers(["the"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with shelf.open() as library:
        told = {statement[:120]: outcome(library, statement) for statement in HOSTILE}
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert library.search("the").total == sound["the"][0]
    assert grown * KIB < 4 * sql.MAX_BYTES, "memory that a statement takes is not that of this process"
    assert not Path(OUTSIDE).exists()
    assert told["pragma hard_heap_limit=1"] == "UsageError: SQL: the pragma hard_heap_limit is not available here"
    for name, what in told.items():
        if name.startswith(("pragma", "create", "insert", "attach", "vacuum", "begin", "savepoint", "reindex")):
            assert what.startswith("UsageError"), name
    assert shelf.answers(["the"]) == sound
    assert list(shelf.folder.glob("**/*set-aside*")) == []


def test_allowed_functions_are_available(shelf: Shelf) -> None:
    with shelf.open() as library:
        known = {name for (name,) in library.sql("select name from pragma_function_list").rows}
        assert known >= sql_worker.FUNCTIONS
        for pragma in sorted(sql_worker.PRAGMAS):
            assert library.sql(f"pragma {pragma}").columns
        for pragma in sorted(sql_worker.PRAGMAS_OF):
            assert library.sql(f"pragma {pragma}('chats')").columns
        assert library.sql("select name from pragma_table_info('v_chats')").rows[1] == ("id",)
        assert library.sql("select value from json_each('[1, 2]')").rows == [(1,), (2,)]
        assert library.sql("with dbstat2 as (select 1) select count(*) from dbstat2").rows == [(1,)]


def test_values_come_back_as_they_are(shelf: Shelf) -> None:
    with shelf.open() as library:
        found = library.sql(
            "select 9223372036854775807, 1e999, 0.1, null, x'00ff', x'', '\u2028\U0001f600' || char(0, 27)"
        )
    assert found.rows == [(2**63 - 1, float("inf"), 0.1, None, b"\x00\xff", b"", "\u2028\U0001f600\0\x1b")]


@on_linux
def test_a_process_that_ended_is_replaced(shelf: Shelf) -> None:
    statements = StatementRunner()
    file = shelf.generation / "rows.sqlite"
    for _ in range(3):
        assert statements.run(file, "select 1", 10, 60).rows == [(1,)]
        (worker,) = sql_workers_of(os.getpid())
        os.kill(worker, signal.SIGKILL)
        until(lambda: not statements.is_running)
    assert statements.run(file, "select 2", 10, 60).rows == [(2,)]
    statements.close()
    assert sql_workers_of(os.getpid()) == []


@on_linux
def test_the_system_limits_the_process_too(shelf: Shelf) -> None:
    statements = StatementRunner()
    statements.run(shelf.generation / "rows.sqlite", "select 1", 10, 5)
    (worker,) = sql_workers_of(os.getpid())
    assert resource.prlimit(worker, resource.RLIMIT_AS)[0] == sql_worker.MAX_MEMORY
    assert resource.prlimit(worker, resource.RLIMIT_FSIZE)[0] == sql_worker.LARGEST_FILE
    assert 5 <= resource.prlimit(worker, resource.RLIMIT_CPU)[0] <= 60
    statements.close()


PARENT = """
import sys
from pathlib import Path
from backscroll.store.local.sql import StatementRunner
StatementRunner().run(Path(sys.argv[1]), sys.argv[2], 10, 3600)
"""


@on_linux
def test_the_worker_ends_with_its_parent(shelf: Shelf) -> None:
    """Even during one long SQLite function, which cannot be told to stop."""
    command = [sys.executable, "-c", PARENT, str(shelf.generation / "rows.sqlite"), HOURS]
    parent = subprocess.Popen(command)
    until(lambda: sql_workers_of(parent.pid))
    (worker,) = sql_workers_of(parent.pid)
    until(lambda: seconds_of(worker) > 0.2)  # it is at work
    parent.kill()
    parent.wait()
    until(lambda: not is_alive(worker))
