"""Two branches beside each other: what was asked and answered after the fork, which files changed, what it cost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import NothingFound, UsageError
from backscroll.library.chats.branch_comparison import MAX_TURNS, BranchComparison, comparison_of, landing
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

PATCH = '"structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-1", "+2", "+3"]}]'
USAGE = '{"message": {"usage": {"input_tokens": 1000, "output_tokens": %d}, "model": "claude-opus-4-5"}}'
REWOUND = f"""
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00
a <- - user: fix the parser
b <- a assistant(m1): fixed
c <- b user: make it blue
d <- c call(m2) t1 Edit {{"file_path": "/shop/a.py", "old_string": "1", "new_string": "2"}}
e <- d result t1: done {{"toolUseResult": {{"filePath": "/shop/a.py", {PATCH}}}}}
f <- e call(m3) t2 Write {{"file_path": "/shop/blue.py", "content": "x"}}
g <- f error t2: no space left
h <- g assistant(m4): it is blue {USAGE % 2000}
w <- h assistant(m8): "API Error" {{"message": {{"usage": {{"input_tokens": 0, "output_tokens": 0}}, \
    "model": "<synthetic>"}}}}
@ time=2026-01-05T11:00
i <- b user: make it red
j <- i call(m5) t3 Task {{"description": "look", "prompt": "find it", "subagent_type": "Explore"}}
k <- j result t3: found {{"toolUseResult": {{"agentId": "a1", "status": "completed"}}}}
l <- k assistant(m6): it is red {USAGE % 1000}
m <- l user: and darker
n <- m assistant(m7): darker
"""
AGENT = f"""
@ session=S1 cwd=/home/ada/shop agent=a1 time=2026-01-05T11:00:10
s <- - user: find it
t <- s call(n1) u1 Edit {{"file_path": "/shop/a.py", "old_string": "1", "new_string": "2"}}
u <- t result u1: done {{"toolUseResult": {{"filePath": "/shop/a.py", {PATCH}}}}}
v <- u assistant(n2): found it {USAGE % 1000}
"""
RED, BLUE = 1, 2
INPUT, OUTPUT = 5_000, 25_000
"""Nanodollars for a token of the model."""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    folder = session_path("S1").removesuffix(".jsonl")
    files = {
        session_path("S1"): jsonl(draw(REWOUND)),
        f"{folder}/subagents/agent-a1.jsonl": jsonl(draw(AGENT)),
        f"{folder}/subagents/agent-a1.meta.json": json.dumps({"agentType": "Explore", "toolUseId": "t3"}).encode(),
        session_path("S2"): jsonl(draw("@ session=S2\nx <- - user: alone\ny <- x assistant: yes")),
        session_path("S3"): jsonl(draw(long_branches(MAX_TURNS + 20))),
    }
    with Shelf(tmp_path).write(files).open() as library:
        library.update()
        yield library


def long_branches(turns: int) -> str:
    lines = ["@ session=S3 time=2026-01-05T10:00", "p <- - user: begin", "q <- p assistant: begun"]
    for way in "ab":
        before = "q"
        for number in range(turns):
            lines += [
                f"{way}{number} <- {before} user: {way} asks {number}",
                f"{way}r{number} <- {way}{number} assistant: ok {number}",
            ]
            before = f"{way}r{number}"
    return "\n".join(lines)


def compared(library: Library, left: int, right: int, session: str = "S1") -> BranchComparison:
    return comparison_of(library, reader(library, session), left, right)


def reader(library: Library, session: str = "S1") -> ChatReader:
    return ChatReader(library, library.find(session_uuid(session)))


def test_the_branches_are_told_from_where_they_part(library: Library) -> None:
    found = compared(library, BLUE, RED)
    assert (found.shared_messages, found.shared_prompts, found.fork_text) == (2, 1, "fix the parser")
    assert [(turn.prompt, turn.answer) for turn in found.left.turns] == [("make it blue", "it is blue")]
    assert [(turn.prompt, turn.answer) for turn in found.right.turns] == [
        ("make it red", "it is red"), ("and darker", "darker"),
    ]  # fmt: skip
    assert (found.left.number, found.right.number) == (BLUE, RED)


def test_everything_is_counted_with_the_agents(library: Library) -> None:
    found = compared(library, BLUE, RED)
    left, right = found.left, found.right
    assert (left.prompts, left.answers, left.calls, left.errors, left.agents) == (1, 4, 2, 1, 0)
    assert (right.prompts, right.answers, right.calls, right.errors, right.agents) == (2, 3, 1, 0, 1)
    small = 105_000  # nanodollars, of an answer whose usage is not drawn
    assert left.cost == 1000 * INPUT + 2000 * OUTPUT + 2 * small
    assert [turn.cost for turn in right.turns] == [2 * (1000 * INPUT + 1000 * OUTPUT + small), small]
    assert right.cost == sum(turn.cost or 0 for turn in right.turns)  # half of the first turn is the agent's


def test_only_changes_that_were_made_count(library: Library) -> None:
    found = compared(library, BLUE, RED)
    (file,) = found.files
    assert (file.file, file.left, file.right) == ("/shop/a.py", file.left, file.left)
    assert file.left is not None
    assert (file.left.edits, file.left.added, file.left.removed) == (1, 2, 1)
    assert [turn.files for turn in found.right.turns] == [["/shop/a.py"], []]


def test_as_json_it_says_the_same(library: Library) -> None:
    told = json.loads(json.dumps(compared(library, BLUE, RED).as_json()))
    assert told["shared"]["last_prompt"] == "fix the parser"
    assert [branch["number"] for branch in told["branches"]] == [BLUE, RED]
    assert told["branches"][0]["turns"][0]["answer"] == "it is blue"
    assert told["files"] == [{"file": "/shop/a.py", "changes": [{"edits": 1, "added": 2, "removed": 1}] * 2}]


def test_all_turns_are_counted_and_the_first_ones_are_read(library: Library) -> None:
    found = compared(library, 1, 2, "S3")
    for side in (found.left, found.right):
        assert (len(side.turns), side.prompts, side.answers) == (MAX_TURNS + 20,) * 3
        assert [bool(turn.answer) for turn in side.turns] == [True] * MAX_TURNS + [False] * 20
        assert all(turn.prompt for turn in side.turns)


def test_what_cannot_be_compared_is_an_error(library: Library) -> None:
    with pytest.raises(NothingFound, match="only one branch"):
        compared(library, 1, 2, "S2")
    with pytest.raises(UsageError, match="with itself"):
        compared(library, 2, 2)
    with pytest.raises(NothingFound, match="no branch 3"):
        compared(library, 1, 3)


def test_a_reader_who_changes_branches_lands_where_they_part(library: Library) -> None:
    chat = reader(library)
    texts = {entry.key: entry.rows[0].text for number in (1, 2) for entry in chat.branch_messages(number).entries}
    assert texts[landing(chat, RED, BLUE) or ""] == "make it blue"
    assert texts[landing(chat, BLUE, RED) or ""] == "make it red"
    assert landing(chat, 7, RED) is None
