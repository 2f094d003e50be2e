"""An archive with values that no file has: every command goes on with the rest."""

import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

import pytest

from tests.library.support import Shelf
from tests.mcp.support import answer
from tests.support.command import place_options, run_command
from tests.support.crafted import CraftedArchive
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path, write_home
from tests.web.shown import Viewer

OWN: Final = "a <- - user: about zebras\nb <- a assistant(m1): they are striped"
OTHER: Final = "{0}1 <- - user: about {0} lions\n{0}2 <- {0}1 assistant({0}m): they sleep"
TIMES: Final = (2**63, 2**64 - 1, 2**70, -1, -(2**63), 0)
"""When a file was written."""
MOMENTS: Final = (
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "1601-01-01T00:00:00Z",
    "2300-01-01T00:00:00Z",
)
"""When a row was written."""
NAMES: Final = [f"odd{number}" for number in range(len(TIMES) + len(MOMENTS))]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """A session of this machine, and sessions of another with odd times, of which some are in no index."""
    shelf = Shelf(tmp_path).write(session_file("S1", OWN))
    crafted = CraftedArchive()
    for name, time in zip(NAMES, (*TIMES, *([17] * len(MOMENTS))), strict=True):
        crafted.keep(session_path(name), odd_session(name), bytes_of={"modified_ns": time})
    for number, time in enumerate(TIMES):
        path = f"{session_path(NAMES[0]).removesuffix('.jsonl')}/tool-results/toolu_{number}.txt"
        crafted.keep(path, b"they roar\n", of={"type": "tool-result"}, bytes_of={"modified_ns": time})
    crafted.keep(session_path("lost"), b"", bytes_of={"version": 2**40})
    crafted.keep("plans/odd.md", b"# Plan\n", of={"type": "a kind of tomorrow"})
    crafted.lay(shelf.folder / "archive")
    return shelf


def odd_session(name: str) -> bytes:
    (data,) = session_file(name, OTHER.format(name)).values()
    number = NAMES.index(name) - len(TIMES)
    moment = MOMENTS[number] if number >= 0 else "2026-01-05T10:00:00Z"
    return data.replace(b"2026-01-05T10:00:00.000Z", moment.encode())


def run(shelf: Shelf, *arguments: object) -> CompletedProcess[str]:
    ran = run_command(*arguments, *place_options(arguments, shelf.home, shelf.folder))
    assert ran.returncode in (0, 1), (arguments, ran.stderr)
    return ran


def test_every_command_goes_on_with_an_archive_of_odd_values(shelf: Shelf, tmp_path: Path) -> None:
    assert b"9999" in odd_session(NAMES[-3])
    for command in (
        ["update"], ["list"], ["list", "--sort", "oldest"], ["status"], ["status", "--json"], ["stats"], ["doctor"],
        ["stats", "usage", "--by", "day"], ["stats", "activity"], ["stats", "blocks"], ["recall", "zebras"],
        ["archive", "status"], ["archive", "versions", session_uuid(NAMES[0])], ["sql", "select * from v_messages"],
    ):  # fmt: skip
        ran = run(shelf, *command)
        assert ran.returncode == 0, (command, ran.stderr)
    for name in ("S1", *NAMES):
        assert run(shelf, "show", session_uuid(name)).returncode == 0
        assert run(shelf, "export", session_uuid(name)).returncode == 0
        assert session_uuid(name) in run(shelf, "list", "--limit", "100", "--json").stdout
        assert session_uuid(name) in run(shelf, "search", "they", "--limit", "100", "--json").stdout
    assert "impossible numbers" in run(shelf, "archive", "verify").stdout
    run(shelf, "archive", "verify", "--quick")
    run(shelf, "archive", "backup", tmp_path / "backup")
    run(shelf, "archive", "repair")
    for name in NAMES:
        assert run(shelf, "archive", "forget", session_uuid(name), "--yes").returncode == 0
    assert "everything is intact" in run(shelf, "archive", "verify").stdout
    assert "they are striped" in run(shelf, "search", "striped").stdout


def test_agents_and_the_viewer_read_an_archive_of_odd_values(shelf: Shelf) -> None:
    shelf.update()
    viewer = Viewer(shelf)
    viewer.get("/")
    for name in NAMES:
        assert "they sleep" in viewer.get(f"/chats/{session_uuid(name)}").text
        assert "they sleep" in str(answer(shelf, "read", chat=session_uuid(name)))
    assert answer(shelf, "timeline", project="*")
    assert shelf.rows("select count(*) from v_sessions where kind = 'session'") == [(len(NAMES) + 1,)]


def test_a_file_of_this_machine_may_have_any_time(shelf: Shelf) -> None:
    for number, time in enumerate(TIMES):
        name = f"own{number}"
        (path,) = write_home(shelf.home, session_file(name, OTHER.format(name))).glob(f"**/{session_uuid(name)}.jsonl")
        os.utime(path, ns=(time, time))
    shelf.update()
    assert shelf.update().is_nothing
    assert shelf.total("they machine:=" + shelf.machine.id) == len(TIMES) + 1
    proof = run(shelf, "archive", "verify").stdout
    assert f"{len(TIMES) + 1} live files unchanged; 0 files with something new" in proof
