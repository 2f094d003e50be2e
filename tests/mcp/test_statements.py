"""A statement that would run for hours holds nothing up: not the other calls, not the end of the server."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import UsageError
from tests.mcp.support import answer, story
from tests.store.test_hostile_sql import HOURS
from tests.support.processes import is_alive, seconds_of, sql_workers_of, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads what Linux says of processes")


UNLIMITED = """
from backscroll.mcp.tools import query
query.SECONDS = 3600.0
from backscroll.cli.start import main
main()
"""
"""backscroll, with statements that do not end by themselves while a test waits for that."""


@pytest.mark.slow
def test_the_server_stops_with_its_input_even_during_a_statement(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    command = [sys.executable, "-c", UNLIMITED, "--home", str(shelf.home), "--library", str(shelf.folder), "mcp"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stdin
    assert server.stdout

    def send(method: str, params: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
        assert server.stdin
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()

    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    send("initialize", about, 1)
    assert b'"id":1' in server.stdout.readline()
    send("notifications/initialized", {})
    send("tools/call", {"name": "query", "arguments": {"sql": HOURS}}, 2)
    until(lambda: any(seconds_of(worker) > 0.2 for worker in sql_workers_of(server.pid)))
    (worker,) = sql_workers_of(server.pid)
    send("tools/call", {"name": "search", "arguments": {"query": "zebra"}}, 3)
    assert b'"id":3' in server.stdout.readline()  # meanwhile
    server.stdin.close()
    try:
        assert server.wait(timeout=60) == 0
    finally:
        server.kill()
    until(lambda: not is_alive(worker))
    assert server.stderr
    assert server.stderr.read() == b""
    server.stdout.close()
    server.stderr.close()


def test_no_statement_reaches_the_memory_of_the_server(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    before = answer(shelf, "query", sql="select id, title from v_chats order by id")["rows"]
    for statement in ("pragma hard_heap_limit=1", "pragma soft_heap_limit=1"):
        with pytest.raises(UsageError, match="not available here"):
            answer(shelf, "query", sql=statement)
    assert len(answer(shelf, "query", sql="select id, title from v_chats order by id")["rows"]) == len(before)
    assert answer(shelf, "search", query="zebra")["chats"]
