"""The report of what filled the context, with known sizes."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import UsageError
from backscroll.library.analytics.context import context
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path


def usage(given: int, read: int = 0) -> str:
    return f'{{"message": {{"usage": {{"input_tokens": {given}, "cache_read_input_tokens": {read}}}}}}}'


DRAWING = f"""
a <- - user: {"p" * 10}
b <- a thinking(m1): {"t" * 20} {usage(1000)}
c <- b call(m1) t1 Bash {{"command": "x"}} {usage(1000)}
d <- c result t1: {"o" * 40}
e <- d assistant(m2): {"a" * 30} {usage(500, 9000)}
f <- e user: {"q" * 5}
g <- f assistant(m3): {"a" * 5} {usage(20000)}
h <- - compact(logical=g) auto
i <- h compact-summary: {"s" * 50}
j <- i assistant(m4): {"a" * 10} {usage(30000)}
k <- j attachment file: {"f" * 100}
"""
OTHER = "@ session=S9 time=2026-01-09T10:00:00.000Z\nx <- - user: hello\ny <- x assistant(m9): hi\n"
CALL = len('{"command":"x"}')


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    rows = draw(DRAWING)
    again = [row | {"sessionId": session_uuid("S2")} for row in rows]
    more = draw("@ session=S2 time=2026-01-07T10:00:00.000Z\nz <- k user: qqqqq")
    files = {session_path("S1"): jsonl(rows), session_path("S2"): jsonl([*again, *more])}
    shelf = Shelf(tmp_path).write({**files, session_path("S9"): jsonl(draw(OTHER))})
    shelf.update()
    with shelf.open() as library:
        yield library


def test_shares_are_of_the_transcript_and_copies_count_once(library: Library) -> None:
    row = context(library, ReportRequest()).as_dicts()[0]
    attachment = row["characters"] - (10 + 20 + CALL + 40 + 30 + 5 + 5 + 50 + 10 + 5)
    assert 100 <= attachment <= 110  # its name too
    assert row["chat"] == session_uuid("S1")
    assert row["outputs_share"] == 40 / row["characters"]
    assert row["answers_share"] == 45 / row["characters"]
    assert row["other_share"] == (50 + attachment) / row["characters"]
    assert row["largest_context_tokens"] == 30000
    assert row["input_tokens"] == 1000 + 9500 + 20000 + 30000


def test_what_a_compaction_took_is_measured_by_the_next_answer(library: Library) -> None:
    found = context(library, ReportRequest())
    assert (found.facts["compactions"], found.facts["measured"], found.facts["unknown"]) == (1, 1, 0)
    assert found.facts["lost_tokens"] == 150_000 - 30_000


def test_outputs_by_tool(library: Library) -> None:
    assert [row[:4] for row in context(library, ReportRequest(), "tool").rows] == [("Bash", 1, 40, 40)]


def test_turns_of_one_chat(library: Library) -> None:
    asked = ReportRequest(query=library.parse(f"chat:{session_uuid('S1')}"))
    rows = context(library, asked, "turn").as_dicts()
    assert [(row["turn"], row["prompt"], row["largest_context_tokens"]) for row in rows] == [
        (1, "p" * 10, 9500),
        (2, "q" * 5, 30000),
        (3, "q" * 5, None),
    ]
    assert [row["compactions"] for row in rows] == [0, 1, 0]
    assert rows[0]["characters"] == 10 + 20 + CALL + 40 + 30


def test_turns_need_one_chat(library: Library) -> None:
    with pytest.raises(UsageError, match="one chat"):
        context(library, ReportRequest(), "turn")


def test_the_outputs_are_those_of_an_independent_count(corpus: Path, corpus_library: Library) -> None:
    tools: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for path in sorted((corpus / "home").glob("projects/**/*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                row = json.loads(line)
                content = row["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            for block in content if isinstance(content, list) and not row.get("isSidechain") else ():
                if block["type"] == "tool_use":
                    tools[block["id"]] = block["name"]
                if block["type"] == "tool_result":
                    said = block.get("content", "")
                    parts = [said] if isinstance(said, str) else [part.get("text", "") for part in said]
                    sizes[block["tool_use_id"]] = sum(map(len, parts))
    expected: dict[str, int] = defaultdict(int)
    for call, size in sizes.items():
        expected[tools.get(call, "-")] += size
    assert {row[0]: row[2] for row in context(corpus_library, ReportRequest(), "tool").rows} == expected
