"""The views that others may query: with plain SQLite, as documented, and right."""

import re
import sqlite3
from pathlib import Path
from typing import Any, Final

import pytest

from backscroll.store.local.schema import VIEWS
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "sql.md"
NAMES: Final = ("v_chats", "v_sessions", "v_messages", "v_tool_calls", "v_usage", "v_files_touched", "v_problems")

BEGUN: Final = """
@ time=2026-01-05T10:00
a <- - user: fix the parser
b <- a thinking(m1): where is it? {"message": {"usage": {"output_tokens": 1}}}
c <- b call(m1) t1 Edit {"file_path": "/home/ada/shop/parser.py", "old_string": "x", "new_string": "y"} \
    {"message": {"usage": {"output_tokens": 7, "cache_read_input_tokens": 100}}}
d <- c error t1: no such file
e <- d assistant(m2): done
"""
RESUMED: Final = """
@ time=2026-01-06T10:00
f <- e user: and test it
g <- f call(m3) t2 Bash {"command": "make test"}
"""
ONE, TWO = session_uuid("S1"), session_uuid("S2")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("views"))
    shelf.write(session_file("S1", BEGUN)).append("S1", b"{torn\n")
    shelf.write(session_file("S2", BEGUN + RESUMED + "custom-title: The parser"))
    folder = session_path("S2").removesuffix(".jsonl")
    agent = jsonl(
        draw("x <- - user: look\ny <- x assistant(m4): seen", session="S2", agent="a1", time="2026-01-06T11:00")
    )
    shelf.write({f"{folder}/subagents/agent-a1.jsonl": agent, f"{folder}/tool-results/t2.txt": "all tests passed\n"})
    shelf.update()
    (shelf.home / session_path("S1")).unlink()
    shelf.update()
    return shelf


def ask(shelf: Shelf, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement with Python's own sqlite3, without the library."""
    connection = sqlite3.connect(f"file:{shelf.generation / 'rows.sqlite'}?mode=ro", uri=True)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_chats(shelf: Shelf) -> None:
    columns = "id, title, project, started, last_active, archived, messages, prompts, branches, agents, compactions"
    assert ask(shelf, f"select {columns} from v_chats") == [
        (ONE, "The parser", "/home/ada/shop", "2026-01-05T10:00:00.000Z", "2026-01-06T11:00:01.000Z", 0, 5, 2, 1, 1, 0)
    ]


def test_sessions(shelf: Shelf) -> None:
    columns = "s.kind, s.session, s.agent, s.chat_id, s.chat = c.chat, s.started, s.archived"
    assert ask(
        shelf,
        f"select {columns} from v_sessions s join v_chats c on c.id = s.chat_id order by s.started, s.archived desc",
    ) == [
        ("session", ONE, None, ONE, 1, "2026-01-05T10:00:00.000Z", 1),
        ("session", TWO, None, ONE, 1, "2026-01-05T10:00:00.000Z", 0),
        ("agent", TWO, "a1", ONE, 1, "2026-01-06T11:00:00.000Z", 0),
    ]
    paths = {path for (path,) in ask(shelf, "select path from v_sessions where not archived")}
    assert all(Path(path).is_file() for path in paths)


def test_messages(shelf: Shelf) -> None:
    columns = "uuid, parent, message, kind, model is not null, sidechain, abandoned"
    assert ask(
        shelf, f"select {columns} from v_messages where session = '{TWO}' and uuid is not null order by time"
    ) == [
        ("a", None, "a", "prompt", 0, 0, 0),
        ("b", "a", "m1", "answer", 1, 0, 0),
        ("c", "b", "m1", "answer", 1, 0, 0),
        ("d", "c", "d", "tool-result", 0, 0, 0),
        ("e", "d", "m2", "answer", 1, 0, 0),
        ("f", "e", "f", "prompt", 0, 0, 0),
        ("g", "f", "m3", "answer", 1, 0, 0),
        ("x", None, "x", "prompt", 0, 1, 0),
        ("y", "x", "m4", "answer", 1, 1, 0),
    ]
    assert ask(shelf, "select count(*), count(distinct uuid) from v_messages where uuid is not null") == [(14, 9)]


def test_a_message_is_at_the_position_in_the_view(shelf: Shelf) -> None:
    ((path, start, length),) = ask(
        shelf,
        f"select path, start, length from v_messages where uuid = 'f' and session = '{TWO}'",
    )
    data = Path(path).read_bytes()[start : start + length]
    assert data.startswith(b"{")
    assert b'"uuid":"f"' in data
    assert b"\n" not in data.strip()


def test_tool_calls(shelf: Shelf) -> None:
    """A call and its copy are one; a result that was spilled into a file is none."""
    columns = "call, tool, file, chat_id, uuid, is_error, output_size, seconds"
    assert ask(shelf, f"select {columns} from v_tool_calls order by time") == [
        ("t1", "Edit", "/home/ada/shop/parser.py", ONE, "c", 1, len("no such file"), 1.0),
        ("t2", "Bash", None, ONE, "g", None, None, None),
    ]


def test_usage(shelf: Shelf) -> None:
    columns = "message, chat_id, agent, input_tokens, output_tokens, cache_read_input_tokens, is_final, records"
    assert ask(shelf, f"select {columns} from v_usage order by message") == [
        ("m1", ONE, None, 10, 7, 100, 1, 4),
        ("m2", ONE, None, 10, 5, 0, 1, 2),
        ("m3", ONE, None, 10, 5, 0, 1, 1),
        ("m4", ONE, "a1", 10, 5, 0, 1, 1),
    ]


def test_files_touched(shelf: Shelf) -> None:
    columns = "distinct path, tool, chat_id, project, uuid, time"
    assert ask(shelf, f"select {columns} from v_files_touched") == [
        ("/home/ada/shop/parser.py", "Edit", ONE, "/home/ada/shop", "c", "2026-01-05T10:00:02.000Z")
    ]


def test_problems(shelf: Shelf) -> None:
    ((path, line, start, kind),) = ask(shelf, "select path, line, start, kind from v_problems")
    assert (path, line, kind) == (str(shelf.home / session_path("S1")), 6, "damaged")
    assert start == len(jsonl(draw(BEGUN, session="S1")))


def test_a_moment_keeps_its_milliseconds(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: hi", time="2026-01-05T10:00:59.999Z"))
    shelf.update()
    assert ask(shelf, "select time from v_messages where uuid = 'a'") == [("2026-01-05T10:00:59.999Z",)]


def test_others_can_read_during_a_write(shelf: Shelf) -> None:
    with shelf.open() as library:
        library.store.start_writing().note("busy", "yes")
        assert ask(shelf, "select count(*) from v_chats") == [(1,)]


# The document.


def test_the_document_has_every_view_with_exactly_its_columns(shelf: Shelf) -> None:
    assert tuple(re.findall(r"create view (\w+)", VIEWS)) == NAMES
    page = PAGE.read_text(encoding="utf-8")
    sections = re.split(r"^## (\w+)$", page, flags=re.MULTILINE)[1:]
    documented = {
        name: re.findall(r"^\| `(\w+)` \| \S", text, flags=re.MULTILINE)
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }
    real = {name: [row[1] for row in ask(shelf, f"pragma table_info({name})")] for name in NAMES}
    assert documented == real
