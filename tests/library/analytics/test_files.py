"""Files that were read and changed, by whom, and what they looked like."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import NothingFound, UsageError
from backscroll.library.analytics.blame import blame
from backscroll.library.analytics.file_calls import is_end_of
from backscroll.library.analytics.files import SORTS, files, folder_of, folders
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.chats.file_versions import history, seen_at
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

NOW = datetime(2026, 2, 1, tzinfo=UTC)
APP = "/home/ada/shop/app.py"
FIRST = f"""
@ session=S1
a <- - user: begin the app
b <- a call(m1) t1 Write {{"file_path": "{APP}", "content": "one\\ntwo\\n"}}
c <- b result t1: ok \
    {{"toolUseResult": {{"type": "create", "filePath": "{APP}", "content": "one\\ntwo\\n", \
    "structuredPatch": []}}}}
d <- c user: make it three
e <- d call(m2) t2 Edit {{"file_path": "{APP}", "old_string": "two", "new_string": "three"}}
f <- e result t2: ok \
    {{"toolUseResult": {{"filePath": "{APP}", "oldString": "two", "newString": "three", \
    "originalFile": "one\\ntwo\\n", "structuredPatch": [{{"oldStart": 1, "oldLines": 2, "newStart": 1, \
    "newLines": 2, "lines": [" one", "-two", "+three"]}}], "userModified": false, "replaceAll": false}}}}
g <- f call(m3) t3 Edit {{"file_path": "{APP}", "old_string": "four", "new_string": "five"}}
h <- g error t3: not found
i <- h assistant(m4): done
"""
SECOND = f"""
@ session=S2 time=2026-01-20T10:00:00.000Z
p <- - user: what is in it?
q <- p call(m5) t5 Read {{"file_path": "{APP}"}}
r <- q result t5: text \
    {{"toolUseResult": {{"type": "text", "file": {{"filePath": "{APP}", "content": "ONE\\nthree\\n", \
    "numLines": 3, "startLine": 1, "totalLines": 3}}}}}}
s <- r call(m6) t6 Write {{"file_path": "/home/ada/blog/app.py", "content": "x"}}
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    first = draw(FIRST)
    again = [row | {"sessionId": session_uuid("S3"), "timestamp": "2026-01-07T10:00:00.000Z"} for row in first]
    more = draw("@ session=S3 time=2026-01-07T10:00:01.000Z\nz <- i user: go on")
    shelf = Shelf(tmp_path).write({
        session_path("S1"): jsonl(first),
        session_path("S2"): jsonl(draw(SECOND)),
        session_path("S3"): jsonl([*again, *more]),
    })  # fmt: skip
    shelf.update()
    with shelf.open() as library:
        yield library


def rows(library: Library, **options: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    return {row["file"]: row for row in files(library, ReportRequest(zone=UTC), **options).as_dicts()}


def test_copies_of_a_call_count_once_and_failures_are_no_edits(library: Library) -> None:
    row = rows(library)[APP]
    assert (row["edits"], row["reads"], row["failed"], row["chats"]) == (2, 1, 1, 2)
    assert (row["added"], row["removed"]) == (3, 1)
    assert (row["first"], row["last"]) == ("2026-01-05 10:00:02", "2026-01-20 10:00:02")


def test_a_call_without_a_result_is_no_edit(library: Library) -> None:
    row = rows(library)["/home/ada/blog/app.py"]
    assert (row["edits"], row["failed"], row["added"]) == (0, 1, 0)


def test_lines_are_read_only_for_the_rows_that_are_shown(library: Library) -> None:
    found = files(library, ReportRequest(), limit=1)
    assert [row[5] for row in found.rows] == [3, None]
    assert found.facts == {"files": 2, "edits": 2, "reads": 1, "failed": 2, "without_lines": 0}


def test_a_path_is_an_end_of_whole_names() -> None:
    assert is_end_of("app.py", APP)
    assert is_end_of("./shop/app.py", APP)
    assert is_end_of(APP, APP)
    assert not is_end_of("pp.py", APP)
    assert not is_end_of("/shop/app.py", APP)
    assert is_end_of("src/app.py", r"C:\shop\src\app.py")


def test_blame_names_the_turns_newest_first_with_their_prompts(library: Library) -> None:
    found = blame(library, "shop/app.py", ReportRequest())
    assert [(row.prompt, row.edits, row.failed, row.added, row.removed) for row in found] == [
        ("make it three", 1, 1, 1, 1),
        ("begin the app", 1, 0, 2, 0),
    ]
    assert {row.chat for row in found} == {session_uuid("S1")}
    assert blame(library, "shop/app.py", ReportRequest(), reads=True)[0].prompt == "what is in it?"
    with pytest.raises(NothingFound):
        blame(library, "other.py", ReportRequest())


def test_what_an_agent_changed_belongs_to_the_prompt_that_it_worked_for(tmp_path: Path) -> None:
    main = """
        a <- - user: have it done
        b <- a call(m1) t1 Task {"description": "do", "prompt": "do it", "subagent_type": "x"}
        """
    agent = f"""
        @ agent=a1 time=2026-01-05T10:00:05.000Z
        x <- - user: do it
        y <- x call(m2) t2 Write {{"file_path": "{APP}", "content": "one"}}
        z <- y result t2: ok {{"toolUseResult": {{"type": "create", "content": "one", "structuredPatch": []}}}}
        """
    folder = session_path("S1").removesuffix(".jsonl")
    shelf = Shelf(tmp_path / "agents").write({
        session_path("S1"): jsonl(draw(main)),
        f"{folder}/subagents/agent-a1.jsonl": jsonl(draw(agent)),
    })  # fmt: skip
    shelf.update()
    with shelf.open() as library:
        found = blame(library, "app.py", ReportRequest())
        assert [(row.agent, row.prompt, row.added) for row in found] == [("a1", "have it done", 1)]


@pytest.mark.parametrize(
    ("at", "content", "certain"),
    [
        (None, "ONE\nthree\n", True),
        ("2026-01-19", "one\nthree\n", True),
        ("b", "one\ntwo\n", True),
        ("c", "one\ntwo\n", True),
        ("d", "one\ntwo\n", True),
        ("e", "one\nthree\n", True),
        ("f", "one\nthree\n", True),
        ("m2", "one\nthree\n", True),
    ],
)
def test_a_file_at_a_message_or_a_time(library: Library, at: str | None, content: str, certain: bool) -> None:
    seen = seen_at(library, history(library, "shop/app.py"), at, NOW)
    assert (seen.version.content, seen.certain) == (content, certain)


def test_before_it_was_written_nothing_is_known(library: Library) -> None:
    with pytest.raises(NothingFound):
        seen_at(library, history(library, "shop/app.py"), "2026-01-01", NOW)


def test_a_path_that_means_two_files_is_refused(library: Library) -> None:
    with pytest.raises(UsageError, match="2 paths"):
        history(library, "app.py")


def test_a_copy_that_the_client_kept_is_a_version(tmp_path: Path, library: Library) -> None:
    name = hashlib.sha256(APP.encode()).hexdigest()[:16]
    copy = tmp_path / "home" / "file-history" / session_uuid("S1") / f"{name}@v1"
    copy.parent.mkdir(parents=True)
    copy.write_text("kept\n")
    moment = datetime(2026, 1, 6, tzinfo=UTC).timestamp()
    os.utime(copy, (moment, moment))
    seen = seen_at(library, history(library, "shop/app.py"), "2026-01-10", NOW)
    assert (seen.version.content, seen.basis) == ("kept\n", "a backup that Claude Code made")


def test_an_edit_shows_the_text_before_it(tmp_path: Path) -> None:
    only = [row for row in draw(FIRST) if row["uuid"] not in "bc"]
    shelf = Shelf(tmp_path / "other").write({session_path("S1"): jsonl(only)})
    shelf.update()
    with shelf.open() as library:
        seen = seen_at(library, history(library, "app.py"), "2026-01-01", NOW)
        assert (seen.version.content, seen.certain) == ("one\ntwo\n", False)


def test_the_numbers_are_those_of_an_independent_count(corpus: Path, corpus_library: Library) -> None:
    tools: dict[str, tuple[str, str]] = {}
    done: set[str] = set()
    for path in sorted((corpus / "home").glob("projects/**/*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                row = json.loads(line)
                said = row["data"]["message"] if row.get("type") == "progress" else row
                content = said["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use" and block["name"] in ("Read", "Edit", "Write"):
                    tools[block["id"]] = (block["name"], block["input"].get("file_path"))
                if block.get("type") == "tool_result" and not block.get("is_error"):
                    done.add(block["tool_use_id"])
    expected: dict[str, list[int]] = {}
    for call, (tool, file) in tools.items():
        if call in done:
            expected.setdefault(file, [0, 0])[tool == "Read"] += 1
    found = {
        row["file"]: [row["edits"], row["reads"]] for row in files(corpus_library, ReportRequest(), limit=1).as_dicts()
    }
    assert {file: counts for file, counts in found.items() if any(counts)} == expected


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/a/b/c.py", "/a/b"), ("/c.py", "/"), ("c.py", "-"), ("C:\\a\\c.py", "C:\\a"), ("a/c.py", "a")],
)
def test_the_folder_of_a_path(path: str, folder: str) -> None:
    assert folder_of(path) == folder


def test_folders_add_up_to_files(corpus_library: Library) -> None:
    whole = files(corpus_library, ReportRequest(), limit=1)
    found = folders(corpus_library, ReportRequest())
    for name in ("files", "edits", "reads", "failed"):
        assert sum(row[name] for row in found.as_dicts()) == found.facts[name] == whole.facts[name]
    expected: dict[str, int] = defaultdict(int)
    for row in whole.as_dicts():
        expected[folder_of(row["file"])] += row["edits"]
    assert {row["folder"]: row["edits"] for row in found.as_dicts()} == expected
    assert [row["edits"] for row in found.as_dicts()] == sorted(expected.values(), reverse=True)


@pytest.mark.parametrize("sort", SORTS)
def test_folders_are_in_the_order_asked(corpus_library: Library, sort: str) -> None:
    values = [row[sort] for row in folders(corpus_library, ReportRequest(), sort).as_dicts()]
    assert values == sorted(values, reverse=True)
