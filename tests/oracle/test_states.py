"""States, errors and titles as the client says them, in sessions that it wrote."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.library.support import Shelf
from tests.oracle.recount import inputs_of, rows_of, sessions
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home
from tests.web.served import ask as open_page
from tests.web.served import serving

RECORDINGS = Path(__file__).parent / "recordings" / "2.1.327"
LISTS = """
@ version=2.1.327 session=S1
a <- - user: keep lists
b <- a call(m1) t1 TodoWrite {"todos": [{"content": "one", "status": "pending", "activeForm": "x"}]}
c <- b result t1: done
d <- c call(m2) t2 TodoWrite {"todos": [{"content": "two", "status": "pending", "activeForm": "x"}]}
e <- d error t2: InputValidationError
f <- e call(m3) t3 TaskCreate {"subject": "three", "description": "d"}
g <- f error t3: no such tool
h <- g call(m4) t4 TaskCreate {"subject": "four", "description": "d"}
i <- h result t4: Task 1 created
j <- i assistant(m5): kept
"""


def ask(home: Path, *arguments: object) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run_command(*arguments, "--json", "--home", home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_running_tool_that_was_stopped_was_interrupted_and_a_refused_one_denied() -> None:
    home = RECORDINGS / "permission"
    ((session, rows),) = sessions(home).items()
    expected = {}
    for row in rows:
        if "toolDenialKind" in row:
            (block,) = row["message"]["content"]
            expected[block["tool_use_id"]] = "denied" if row.get("toolDenialBeforeRun") else "interrupted"
    assert sorted(expected.values()) == ["denied", "interrupted"]
    shown = ask(home, "show", session)["messages"]
    assert {call["id"]: call["state"] for said in shown for call in said.get("calls", [])} == expected
    total = ask(home, "stats", "tools")["total"]
    assert (total["calls"], total["denied"], total["interrupted"]) == (len(inputs_of(home)), 1, 1)


def test_an_error_of_the_api_is_called_as_the_client_calls_it() -> None:
    home = RECORDINGS / "overloaded"
    ((session, rows),) = sessions(home).items()
    (name,) = {row["error"]["formatted"] for row in rows if row.get("subtype") == "api_error"}
    assert name == "529 Overloaded"
    assert f"API error, 2 times: {name}" in run_command("show", session, "--home", home).stdout
    assert name in run_command("export", session, "--format", "html", "--out", "-", "--home", home).stdout


def test_an_original_its_branch_and_its_fork_have_titles_of_their_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(RECORDINGS / "forked", home)
    titles = {}
    for session, rows in sessions(home).items():
        named = [row[key] for row in rows for key in ("agentName", "customTitle") if key in row]
        titles[session] = (
            named[-1] if named else next(row["message"]["content"] for row in rows if row["type"] == "user")
        )
    assert len(set(titles.values())) == len(titles) == 3
    (chat,) = ask(home, "list")["chats"]
    tree = run_command("tree", chat["id"], "--home", home).stdout
    for session, title in titles.items():
        (line,) = [line for line in tree.splitlines() if line.strip("│ ").startswith(session) and "rows" in line]
        assert f"“{title}”" in line
    # The chat is called as what goes on; its original has no name of its own, and none of its forks'.
    (original,) = [session for session, title in titles.items() if title == "please ::hi original"]
    assert chat["title"] == max(titles.values(), key=len)
    for path in home.glob("projects/*/*.jsonl"):
        if path.stem != original:
            path.unlink()
        else:
            later = rows_of(path)[-1]
            assert "forkedFrom" not in later
    assert [chat["title"] for chat in ask(home, "list", "--library", tmp_path / "other")["chats"]] == [titles[original]]


def test_a_failed_call_changes_no_list(tmp_path: Path) -> None:
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(LISTS))})
    ((session, rows),) = sessions(home).items()
    failed = {
        block["tool_use_id"] for row in rows for block in (row["message"]["content"] if row["type"] == "user" else ())
        if isinstance(block, dict) and block.get("is_error")
    }  # fmt: skip
    assert len(failed) == 2
    expected = [
        told["content"]
        for call, (tool, told) in inputs_of(home).items()
        if call not in failed and tool == "TodoWrite"
        for told in told["todos"]
    ]
    expected += [
        told["subject"] for call, (tool, told) in inputs_of(home).items() if call not in failed and tool == "TaskCreate"
    ]
    for _ in range(2):  # read afresh, and as it was stored
        shown = ask(home, "show", session, "--library", tmp_path / "library")
        assert [item["text"] for item in shown["chat"]["todos"]] == expected == ["one", "four"]
        with (home / session_path("S1")).open("ab") as file:
            file.write(jsonl(draw("k <- j assistant(m6): still", version="2.1.327", session="S1")))


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ('ai-title: "I apologize, but the conversation snippet is too short"', "fix the parser"),
        ("ai-title: Unable to generate a title for this conversation", "fix the parser"),
        ('custom-title: "Unable to generate a title from the given text (Branch)"', "fix the parser"),
        ("ai-title: Unable to connect to the database", "Unable to connect to the database"),
        ("ai-title: Parser", "Parser"),
    ],
)
def test_a_failed_title_falls_back_to_the_first_prompt_without_markdown(rows: str, title: str, tmp_path: Path) -> None:
    drawing = f"a <- - user: fix **the** `parser`\nb <- a assistant: done\n{rows}"
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(drawing))})
    assert [chat["title"] for chat in ask(home, "list")["chats"]] == [title]


def running_client(home: Path, session: str, **fields: object) -> Path:
    """The note of a client that runs: this process."""
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    note = home / "sessions" / f"{os.getpid()}.json"
    note.parent.mkdir(exist_ok=True)
    told = {"pid": os.getpid(), "sessionId": session, "cwd": "/w", "procStart": start, **fields}
    note.with_suffix(".new").write_text(json.dumps(told))
    note.with_suffix(".new").replace(note)
    return note


WAITS = {"status": "waiting", "waitingFor": "permission prompt"}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the start of a process is read from /proc")
def test_a_session_that_waits_for_a_permission_says_so_in_every_place(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    drawing = 'a <- - user: write it\nb <- a call(m1) t1 Write {"file_path": "/w/x", "content": "y"}'
    shelf.write({session_path("S1"): jsonl(draw(drawing))})
    session = session_uuid("S1")
    running_client(shelf.home, session, status="busy")
    shelf.update()
    place = ("--home", shelf.home, "--library", shelf.folder)
    with serving(shelf, follows=True) as served:
        page = open_page(served, f"/chats/{session}").body.decode()
        assert 'data-state="working"' in page
        cursor = page.partition('data-cursor="')[2].partition('"')[0]
        running_client(shelf.home, session, **WAITS)
        while (told := open_page(served, f"/chats/{session}/changes?since={cursor}").json)["state"] != "permission":
            time.sleep(0.02)
        assert told["tool"] == "Write"
        assert "Waiting for your permission: Write" in open_page(served, f"/chats/{session}").body.decode()
        assert "waiting for your permission: Write" in open_page(served, "/").body.decode()
    assert "waiting for a permission prompt" in run_command("status", *place).stdout
    (one,) = json.loads(run_command("status", "--json", *place).stdout)["running"]
    assert (one["status"], one["waiting_for"]) == ("waiting", "permission prompt")


def test_a_session_that_its_client_ended_is_not_live(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for played in ("overloaded", "monitor", "agents"):
        shutil.copytree(RECORDINGS / played, shelf.home, dirs_exist_ok=True)
    now = time.time()
    for path in shelf.home.rglob("*.jsonl"):
        os.utime(path, (now, now))
    shelf.update()
    place = ("--home", shelf.home, "--library", shelf.folder)
    assert json.loads(run_command("list", "is:live", "--json", *place).stdout or '{"chats": []}')["chats"] == []
    goes_on = next(path for path in shelf.home.glob("projects/*/*.jsonl"))
    rows = rows_of(goes_on)
    assert rows[-1]["type"] == "cost-state"
    with goes_on.open("ab") as file:
        file.write(json.dumps({**rows[-1], "type": "mode", "mode": "normal"}).encode() + b"\n")
    found = json.loads(run_command("list", "is:live", "--json", *place).stdout)["chats"]
    assert [chat["id"] for chat in found] == [goes_on.stem]
