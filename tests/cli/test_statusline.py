"""backscroll statusline, as Claude Code runs it."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

STATUS: dict[str, Any] = {
    "session_id": session_uuid("S1"),
    "transcript_path": "/home/ada/.claude/projects/x.jsonl",
    "model": {"id": "claude-sonnet-4-5", "display_name": "Son\x1b[31mnet"},
    "cost": {"total_cost_usd": 0.5, "total_duration_ms": 45000},
    "context_window": {"total_input_tokens": 1000, "total_output_tokens": 500, "used_percentage": 8},
    "rate_limits": {"five_hour": {"used_percentage": 42.4, "resets_at": 1767607200}},
}
ODD = [
    b"",
    b"nothing",
    b"[]",
    b"null",
    b'{"model": 3, "cost": [], "session_id": {}}',
    b'{"model": "Opus"',
    b"\xff\xfe",
    b"[" * 100_000,
]
HEAVY = {"click", "tantivy", "apsw", "msgspec", "rich", "backscroll.library", "backscroll.store"}


def run(data: bytes, *arguments: str, library: Path | None = None) -> str:
    environment = os.environ | ({"BACKSCROLL_LIBRARY": str(library)} if library else {})
    command = [sys.executable, "-m", "backscroll", "statusline", *arguments]
    done = subprocess.run(command, capture_output=True, input=data, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def told(library: Path | None = None, **changes: object) -> Any:  # noqa: ANN401 - whatever JSON says
    return json.loads(run(json.dumps(STATUS | changes).encode(), "--json", library=library))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    now = datetime.now(UTC)
    drawing = f"@ time={now:%Y-%m-%dT%H:%M:%S}\na <- - user: hello\nb <- a assistant(m1): hi"
    rows = draw(drawing)
    for row in rows:
        row["timestamp"] = now.isoformat().replace("+00:00", "Z")
    rows[1]["message"]["usage"]["output_tokens"] = 1_000_000
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(rows)})
    folder = tmp_path / "library"
    run_command("update", "--home", home, "--library", folder).check_returncode()
    return folder


def test_without_an_index_it_says_what_stdin_says(tmp_path: Path) -> None:
    line = run(json.dumps(STATUS).encode(), library=tmp_path / "none")
    assert line == "Sonnet | $0.50 1.5k tokens | context 8 % | 5 h 42 %\n"
    assert not (tmp_path / "none").exists()


def test_with_an_index_it_knows_chat_day_and_window(library: Path) -> None:
    found = told(library)
    assert found["tokens"] == 1_000_010
    # A million tokens of output at $15, and ten of input.
    assert (
        found["cost_microdollars"] == found["today_microdollars"] == found["window"]["cost_microdollars"] == 15_000_030
    )
    assert 0 <= found["window"]["minutes_left"] < 300
    line = run(json.dumps(STATUS).encode(), library=library)
    assert line.startswith("Sonnet | $15.00 1.0M tokens | context 8 % | today $15.00 | 5 h 42 % $15.00, $")


def test_the_larger_cost_is_the_chats(library: Path) -> None:
    assert told(library, cost={"total_cost_usd": 20})["cost_microdollars"] == 20_000_000
    assert told(library, session_id="another")["cost_microdollars"] == 500_000


@pytest.mark.parametrize("data", ODD, ids=range(len(ODD)))
def test_there_is_one_line_for_any_input(data: bytes, library: Path) -> None:
    assert run(data, library=library).count("\n") == 1


def test_an_index_that_is_none_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "index" / "000001" / "rows.sqlite"
    file.parent.mkdir(parents=True)
    (tmp_path / "index" / "current").write_text("000001 00000000\n")
    file.write_bytes(b"no database" * 1000)
    assert run(b"{}", library=tmp_path) == "Claude\n"
    assert file.read_bytes() == b"no database" * 1000


def test_nothing_heavy_is_imported_and_nothing_written(library: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in library.rglob("*") if path.suffix == ".sqlite"}
    program = (
        "import sys; from backscroll.cli.start import main; main();"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "statusline"],
        input=json.dumps(STATUS).encode(), capture_output=True, timeout=60,
        env=os.environ | {"BACKSCROLL_LIBRARY": str(library)},
    )  # fmt: skip
    assert done.stderr.decode() == "[]\n"
    assert {path: path.stat().st_mtime_ns for path in library.rglob("*") if path.suffix == ".sqlite"} == before
