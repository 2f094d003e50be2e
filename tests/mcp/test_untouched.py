"""Asking changes nothing: not the home, not what is kept, not what is known of it."""

import hashlib
import shutil
from pathlib import Path

import anyio
import pytest

from tests.library.support import Shelf
from tests.mcp.support import CALLS, check_result, over_http, over_stdio, serving, story


def state_of(shelf: Shelf) -> tuple[object, ...]:
    """All that must stay. Files that were only just written are looked at again, and the catalogue notes that."""
    kept = contents(shelf.folder / "archive" / "packs")
    names = sorted(name for name in contents(shelf.folder) if "/text/" not in name)
    return contents(shelf.home), kept, names, shelf.answers(["zebra", "parser"])


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder, by what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(PASSING)
    }


PASSING = ("-shm", "-wal", ".lock")
"""What SQLite and tantivy put beside a file while it is open."""


def test_neither_the_home_nor_the_library_is_another_afterwards(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    before = state_of(shelf)

    async def talk() -> None:
        async with over_stdio(shelf, {"CLAUDE_CONFIG_DIR": str(shelf.home)}) as client:
            for name, arguments in CALLS.items():
                check_result(name, await client.call_tool(name, arguments))
            for resource in (await client.list_resources()).resources:
                await client.read_resource(resource.uri)
            for statement in STATEMENTS:
                assert (await client.call_tool("query", {"sql": statement})).is_error, statement
        with serving(shelf) as served:
            async with over_http(served) as client:
                for name, arguments in CALLS.items():
                    check_result(name, await client.call_tool(name, arguments))

    anyio.run(talk)
    assert state_of(shelf) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "library"]


STATEMENTS = (
    "delete from v_chats",
    "drop view v_chats",
    "create table x (y)",
    "insert into chats default values",
    "update v_chats set title = 'x'",
    "attach database 'evil.sqlite' as evil",
    "vacuum into 'evil.sqlite'",
    "begin immediate; delete from v_chats",
)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_home_without_chats_is_no_trouble(tmp_path: Path, is_there: bool) -> None:
    shelf = Shelf(tmp_path)
    shelf.update()
    if not is_there:
        shutil.rmtree(shelf.home)

    async def talk() -> None:
        async with over_stdio(shelf) as client:
            for name, arguments in CALLS.items():
                result = await client.call_tool(name, arguments)
                if not result.is_error:
                    check_result(name, result)
            assert [one.uri for one in (await client.list_resources()).resources] == ["backscroll://help"]

    anyio.run(talk)
