"""Exports contain no secret, wherever it is in a transcript and in any format."""

import html
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.library.sharing.share import redaction_summary, redactor, rows_of, share
from backscroll.render.html.export import Assets, exported
from backscroll.render.html.export_site import exported_chat, index_page
from tests.library.support import Shelf
from tests.redaction.planting import Planted, planted
from tests.support.drawings import Row, draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, session_path
from tests.support.samples import TRY_ALL

ASSETS = Assets(style="body {}", script="0")
TOKEN = "ghp_" + "a1B2" * 9
DRAWN = """
@ session=S1 cwd=/home/ada/shop branch=main
a <- - user: fix the parser
b <- a thinking(m1): where is it?
c <- b call(m1) t1 Read {"file_path": "x.py"}
d <- c result t1: "import os\\nprint(1)\\n" {"toolUseResult": {"type": "text", "file": {"filePath": "x.py", \
    "content": "import os\\nprint(1)\\n", "numLines": 2, "startLine": 1, "totalLines": 2}}}
e <- d call(m2) t2 Bash {"command": "ls -l", "description": "look"}
f <- e result t2: "one\\ntwo" {"toolUseResult": {"stdout": "one\\ntwo", "stderr": "", "interrupted": false}}
g <- f call(m3) t3 Edit {"file_path": "x.py", "old_string": "1", "new_string": "2"}
h <- g result t3: done {"toolUseResult": {"filePath": "x.py", "oldString": "1", "newString": "2", \
    "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-1", "+2"]}]}}
i <- h call(m4) t4 Task {"description": "look", "prompt": "find it", "subagent_type": "Explore"}
j <- i result t4: found {"toolUseResult": {"agentId": "a1", "status": "completed"}}
k <- j call(m5) t5 mcp__shop__order {"order": {"items": ["tea"], "note": "soon"}}
l <- k error t5: no such order
m <- l assistant(m6): "```python\\nx = 1\\n```\\nand **done**"
n <- a user: no, undo that
o <- n assistant(m7): undone
p <- o system informational: a note
q <- p attachment hook_success: hooked
custom-title: The parser
summary d: What it was
pr-link 12 https://example.org/pull/12
"""
AGENT = """
@ session=S1 cwd=/home/ada/shop agent=a1
s <- - user: find it
t <- s assistant(n1): found it
"""
META = {"agentType": "Explore", "description": "look", "toolUseId": "t4"}


def files(main: list[Row], agent: list[Row], meta: Any) -> dict[str, bytes]:  # noqa: ANN401
    folder = session_path("S1").removesuffix(".jsonl")
    return {
        session_path("S1"): jsonl(main),
        f"{folder}/subagents/agent-a1.jsonl": jsonl(agent),
        f"{folder}/subagents/agent-a1.meta.json": json.dumps(meta).encode(),
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """Where texts stand in a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], text: str) -> None:  # noqa: ANN401
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = text


def seen(page: str) -> str:
    """What a reader sees of a page: colours cut words into pieces, which a reader does not see."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def everything(shelf: Shelf) -> Iterator[str]:
    """All that can be given away of a home, redacted."""
    with shelf.open() as library:
        library.update()
        hiding, entries = redactor(), []
        for stored in library.chats():
            shared = share(library, stored, hiding)
            for detail in ("everything", "normal", "talk"):
                page = "".join(exported(shared, "html", ASSETS, detail=detail))
                yield page
                yield seen(page)
                yield "".join(exported(shared, "md", ASSETS, detail=detail))
            yield "".join(exported(shared, "json", ASSETS))
            yield b"".join(rows_of(library, stored, hiding)).decode()
            entries.append(exported_chat("x.html", shared, shared.overview))
        yield "".join(index_page(entries, ASSETS, title="all", is_redacted=True))


ROWS = [draw(DRAWN), draw(AGENT), [dict(META)]]
PLACES = [
    (file, row, path)
    for file, rows in enumerate(ROWS)
    for row, fields in enumerate(rows)
    for path in places(fields)
    # Where a session or agent is named, a file is: what a file is called is not for us to change.
    if path[-1] not in ("sessionId", "agentId")
]


@pytest.mark.slow
@given(plant=planted(), place=st.sampled_from(PLACES))
@settings(max_examples=80 if TRY_ALL else 20, suppress_health_check=[HealthCheck.too_slow])
def test_a_secret_in_any_field_of_a_transcript_is_in_nothing_that_is_given_away(
    plant: Planted, place: tuple[int, int, tuple[Any, ...]]
) -> None:
    file, row, path = place
    rows = json.loads(json.dumps(ROWS))
    put(rows[file][row], path, plant.text)
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder)).write(files(rows[0], rows[1], rows[2][0]))
        for given_away in everything(shelf):
            assert plant.secret not in given_away
            assert json.dumps(plant.secret)[1:-1] not in given_away


def test_every_format_is_redacted_alike_and_reports_what_it_masked(tmp_path: Path) -> None:
    drawing = DRAWN.replace("fix the parser", f"use {TOKEN}").replace("ls -l", f"echo {TOKEN}")
    shelf = Shelf(tmp_path).write(files(draw(drawing), draw(AGENT), META))
    with shelf.open() as library:
        library.update()
        hiding = redactor()
        shared = share(library, library.chats()[0], hiding)
        assert redaction_summary(hiding) == "masked 1 secret: github-token 1"
        for form in ("html", "md", "json"):
            text = "".join(exported(shared, form, ASSETS))
            assert "[redacted: github-token]" in text
            assert TOKEN not in text
        open_ = share(library, library.chats()[0], None)
        assert TOKEN in "".join(exported(open_, "json", ASSETS))
    assert redaction_summary(redactor()) == "masked no secrets: none were found"


def test_a_title_that_was_cut_in_the_middle_of_a_secret_shows_nothing_of_it(tmp_path: Path) -> None:
    words = "x" * 180 + "="  # one long word: it is cut inside
    prompt = f"{words}{TOKEN} and more"
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(f"a <- - user: {prompt}\nb <- a assistant: ok"))})
    with shelf.open() as library:
        library.update()
        stored = library.chats()[0]
        assert TOKEN[:12] in stored.overview.title
        shared = share(library, stored, redactor())
        assert TOKEN[:6] not in shared.title + shared.overview.title
        assert TOKEN[:6] not in "".join(exported(shared, "html", ASSETS))


@pytest.mark.parametrize("is_redacted", [False, True])
def test_where_there_is_no_secret_nothing_changes(tmp_path: Path, is_redacted: bool) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    with shelf.open() as library:
        library.update()
        for stored in library.chats():
            shared = share(library, stored, redactor() if is_redacted else None)
            opened = library.open(stored)
            assert (shared.title, shared.overview) == (opened.title, stored.overview)
            assert [branch.number for branch in shared.chat.branches] == [one.number for one in opened.chat.branches]
            for mine, other in zip(shared.chat.branches, opened.chat.branches, strict=True):
                assert [one.id for one in shared.messages(mine)] == [one.id for one in opened.messages(other)]


def test_every_chat_there_is_becomes_a_page(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    with shelf.open() as library:
        library.update()
        for stored in library.chats():
            shared = share(library, stored, redactor())
            page = "".join(exported(shared, "html", ASSETS))
            anchors = set(re.findall(r'id="(m-[^"]*)"', page))
            for branch in shared.chat.branches:
                assert {html.escape(f"m-{message.key}") for message in shared.messages(branch)} <= anchors
            for agent in shared.chat.agents:
                if not agent.is_stub and not agent.is_side_copy:
                    assert {html.escape(f"m-{message.key}") for message in shared.agent_messages(agent)} <= anchors


def test_rows_are_given_byte_for_byte(tmp_path: Path) -> None:
    content = files(draw(DRAWN), draw(AGENT), META)
    content[session_path("S1")] += b'\n{"torn": tr\n\0\0\n{"type":"user"}'
    shelf = Shelf(tmp_path).write(content)
    with shelf.open() as library:
        library.update()
        stored = library.find(session_uuid("S1"))
        main, agent = (data for name, data in content.items() if name.endswith(".jsonl"))
        assert b"".join(rows_of(library, stored, None)) == main + b"\n" + agent
        hidden = b"".join(rows_of(library, stored, redactor()))
        assert hidden.startswith(jsonl(draw(DRAWN)))
        assert hidden.endswith(agent)


def test_a_line_that_is_not_a_record_is_redacted_as_text(tmp_path: Path) -> None:
    content = (
        jsonl(draw("a <- - user: hi")) + f'{{"broken": "{TOKEN}\nrest {TOKEN}\n{{"type": "x", "half": "{TOKEN}'.encode()
    )
    shelf = Shelf(tmp_path).write({session_path("S1"): content})
    with shelf.open() as library:
        library.update()
        assert TOKEN.encode() not in b"".join(rows_of(library, session_uuid("S1"), redactor()))
        assert b"".join(rows_of(library, session_uuid("S1"), None)).rstrip(b"\n") == content


def test_a_chat_that_is_only_kept_is_given_away_too(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(files(draw(DRAWN.replace("undone", TOKEN)), draw(AGENT), META))
    shelf.update()
    whole = (shelf.home / session_path("S1")).read_bytes()
    for path in sorted(shelf.home.rglob("*.jsonl")):
        path.unlink()
    shelf.update()
    with shelf.open() as library:
        stored = library.find(session_uuid("S1"))
        assert stored.archived
        assert b"".join(rows_of(library, stored, None)).startswith(whole)
        text = "".join(exported(share(library, stored, redactor()), "md", ASSETS))
        assert "[redacted: github-token]" in text
        assert TOKEN not in text
