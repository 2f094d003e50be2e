"""Agents: each of their calls and answers is found, shown, counted, blamed and exported once, wherever it is written.

2.1.9 to 2.1.83 also write what an agent does into the progress rows of its session. Where the agent's own file is not
there, these rows are its only copy.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.tools import tools
from backscroll.library.homes import open_homes
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings
from tests.library.support import Shelf
from tests.oracle.recount import agents, calls_of, inputs_of, rows_of, sessions
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import agent_path, session_path, write_home
from tests.support.samples import TRY_ALL
from tests.web.served import ask as open_page
from tests.web.served import serving

NOTHING_FOUND = 3
RECORDINGS = Path(__file__).parent / "recordings" / "2.1.327"
SESSION = """
@ version=2.1.42 session=S1 cwd=/work/shop
a <- - user: mend the boat
b <- a call(m1) t1 Task {"description": "caulk it", "prompt": "caulk the planks", "subagent_type": "Explore"}
PROGRESS
z <- b result t1: caulked {"toolUseResult": {"agentId": "abc1234", "totalTokens": 9}}
y <- z assistant(m9): it is dry
"""
AGENT = """
@ version=2.1.42 session=S1 cwd=/work/shop agent=abc1234 time=2026-01-05T10:00:02
x1 <- - user: caulk the planks
x2 <- x1 thinking(n1): OAKUM is needed
x3 <- x2 call(n1) e1 Edit {"file_path": "/work/shop/plank.py", "old_string": "hole", "new_string": "tarred"}
x4 <- x3 result e1: PITCHWORD applied {"toolUseResult": {"filePath": "/work/shop/plank.py", "oldString": "hole", \
"newString": "tarred", "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, \
"lines": ["-hole", "+tarred"]}]}}
x5 <- x4 call(n2) e2 Bash {"command": "hammer --nails"}
x6 <- x5 error e2: no NAILWORD here
x7 <- x6 assistant(n3): the planks are TIGHTWORD
"""
WORDS = {"OAKUM": "thinking", "PITCHWORD": "output", "hammer": "input", "NAILWORD": "output", "TIGHTWORD": "answer"}
LAYOUTS = ["progress", "file", "both", "torn file"]


def home_of(folder: Path, layout: str) -> Path:
    """The same agent in progress rows, in a file of its own, in both, or with a file that is not whole."""
    own = draw(AGENT)
    progress = "\n".join(f"p{number} <- b progress agent_progress t1: caulk" for number, _ in enumerate(own))
    rows = draw(SESSION.replace("PROGRESS", progress))
    said = iter(own)
    for row in rows:
        if row["type"] == "progress":
            kept = next(said)
            inner = {
                name: kept[name] for name in ("type", "message", "uuid", "timestamp", "toolUseResult") if name in kept
            }
            row["data"] = {"type": "agent_progress", "agentId": "abc1234", "prompt": "caulk", "message": inner}
            row["parentToolUseID"], row["toolUseID"] = "t1", "agent_msg"
    if layout == "file":
        rows = [row for row in rows if row["type"] != "progress"]
    files: dict[str, bytes] = {session_path("S1"): jsonl(rows)}
    if layout in ("file", "both"):
        files[agent_path("S1", "abc1234")] = jsonl(own)
    if layout == "torn file":
        files[agent_path("S1", "abc1234")] = jsonl(own[:4])
    return write_home(folder / "claude", files)


def ask(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run_command(*arguments, "--json", "--home", home)
    assert done.returncode in (0, NOTHING_FOUND), done.stderr
    return json.loads(done.stdout)


@contextmanager
def pages(folder: Path, home: Path) -> Iterator[Any]:
    shelf = Shelf(folder / "shelf")
    shutil.copytree(home, shelf.home, dirs_exist_ok=True)
    shelf.update()
    with serving(shelf) as served:
        yield lambda address: open_page(served, address)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_an_agent_did_is_there_once_in_every_door(layout: str, tmp_path: Path) -> None:
    home, chat = home_of(tmp_path, layout), session_uuid("S1")
    ((_, agent), told), *others = agents(home).items()
    assert (agent, told.calls, told.answers, others) == ("abc1234", ["e1", "e2"], ["n1", "n2", "n3"], [])
    for word, role in WORDS.items():
        found = ask(home, "search", word)
        assert [hit["kind"] for hit in found["hits"]] == [role], word
    (listed,) = ask(home, "list")["chats"]
    assert (listed["agents"], listed["prompts"]) == (1, 1)
    (shown,) = ask(home, "show", chat, "--agents")["agents"]
    assert (shown["id"], shown["call"], shown["description"]) == (agent, "t1", "caulk it")
    named = [call["id"] for said in shown["messages"] for call in said.get("calls", [])]
    assert named == told.calls
    assert "Explore: caulk it" in run_command("tree", chat, "--home", home).stdout
    total = ask(home, "stats", "tools")["total"]
    assert (total["calls"], total["errors"]) == (len(inputs_of(home)), 1) == (3, 1)
    assert ask(home, "stats", "usage")["total"]["messages"] == 2 + len(told.answers)
    (version,) = ask(home, "file", "/work/shop/plank.py", "--list")["versions"]
    (turn,) = ask(home, "blame", "/work/shop/plank.py")["turns"]
    assert (version["message"], turn["messages"], turn["prompt_uuid"]) == ("x3", ["x3"], "a")
    (touched,) = ask(home, "stats", "files")["rows"]
    assert (touched["edits"], touched["added"]) == (1, 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_an_agent_did_is_on_pages_and_in_exports(layout: str, tmp_path: Path) -> None:
    home, chat = home_of(tmp_path, layout), session_uuid("S1")
    printed = run_command("show", chat, "--agents", "--tools", "full", "--thinking", "--home", home).stdout
    exports = {"show": printed}
    for form in ("md", "html"):
        target = tmp_path / f"chat.{form}"
        assert (
            run_command(
                "export", chat, "--format", form, "--detail", "everything", "--out", target, "--home", home
            ).returncode
            == 0
        )
        exports[form] = target.read_text()
    with pages(tmp_path, home) as page:
        exports["page"] = page(f"/chats/{chat}/agents/abc1234?detail=everything").body.decode()
        assert page(f"/chats/{chat}").body.decode().count("/agents/abc1234") >= 1
    counts = {door: {word: text.count(word) for word in ("NAILWORD", "TIGHTWORD")} for door, text in exports.items()}
    assert {door: min(found.values()) for door, found in counts.items()} == dict.fromkeys(exports, 1), counts


@pytest.mark.parametrize("second", ["file", "torn file"])
def test_a_file_that_comes_later_adds_only_what_was_missing(second: str, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    alone, with_file = home_of(tmp_path / "a", "progress"), home_of(tmp_path / "b", "both")
    shutil.copytree(alone, shelf.home, dirs_exist_ok=True)
    shelf.update()
    before = totals(shelf)
    assert before["calls"] == 3
    own = rows_of(with_file / agent_path("S1", "abc1234"))
    own = own[:4] if second == "torn file" else own
    target = shelf.home / agent_path("S1", "abc1234")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(jsonl(own))
    shelf.update()
    assert totals(shelf) == before
    target.write_bytes(jsonl(rows_of(with_file / agent_path("S1", "abc1234"))))
    shelf.update()
    assert totals(shelf) == before


def totals(shelf: Shelf) -> dict[str, Any]:
    """What the library counts."""
    place = ("--json", "--home", shelf.home, "--library", shelf.folder)
    reports = {name: json.loads(run_command("stats", name, *place).stdout)["total"] for name in ("tools", "usage")}
    (listed,) = json.loads(run_command("list", *place).stdout)["chats"]
    found = json.loads(run_command("search", "TIGHTWORD", *place).stdout)
    return {
        "calls": reports["tools"]["calls"],
        "tools": reports["tools"],
        "usage": reports["usage"],
        "agents": listed["agents"],
        "messages": listed["messages"],
        "hits": len(found["hits"]),
    }


@pytest.mark.slow
def test_every_call_in_real_sessions_is_counted_and_every_agent_is_shown(corpus: Path, corpus_copy: Path) -> None:
    home = corpus / "home"
    settings = Settings(homes=(home,), library=corpus_copy, file=corpus_copy / "settings.toml")
    with local_library(settings, open_homes(settings)) as library:
        check_real_agents(library, home)


def check_real_agents(library: Library, home: Path) -> None:
    counted = tools(library, ReportRequest()).facts["total"]["calls"]
    assert counted == len(inputs_of(home))
    every = [row for rows in sessions(home).values() for row in rows if row["type"] == "assistant"]
    assert counted > len({call for row in every for call in calls_of(row)}) + 500
    told = {key: one for key, one in agents(home).items() if one.parent_call}
    assert len(told) > 20
    for session in sorted({session for session, _ in told})[:: 1 if TRY_ALL else 4]:
        chat = library.open(library.find(session)).chat
        shown = {agent.id: [call.id for call in agent.calls] for agent in chat.agents}
        for (_, agent), one in ((key, one) for key, one in told.items() if key[0] == session):
            assert shown[agent] == one.calls


def own_rows(home: Path) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each agent's sidecar, and the rows of its file that are not its parent's: a fork begins with a copy."""
    found = {}
    for path in home.glob("projects/*/*/subagents/**/agent-*.jsonl"):
        sidecar = json.loads(path.with_suffix(".meta.json").read_text())
        rows = [row for row in rows_of(path) if "message" in row]
        copied = {row["message"]["id"] for row in rows if sidecar.get("toolUseId") in calls_of(row)}
        found[path.stem.removeprefix("agent-")] = (sidecar, [r for r in rows if r["message"].get("id") not in copied])
    return found


@pytest.mark.parametrize("played", ["agents", "workflow", "teammate"])
def test_recorded_agents_belong_to_their_calls_and_count_their_own_tokens(played: str) -> None:
    home = RECORDINGS / played
    (session,) = sessions(home)
    callers: dict[str, str | None] = {call: None for row in sessions(home)[session] for call in calls_of(row)}
    callers |= {call: agent for agent, (_, rows) in own_rows(home).items() for row in rows for call in calls_of(row)}
    workflow = next((call for call, (tool, _) in inputs_of(home).items() if tool == "Workflow"), None)
    shown = {agent["id"]: agent for agent in ask(home, "show", session, "--agents")["agents"]}
    assert shown.keys() == own_rows(home).keys()
    for agent, (sidecar, rows) in own_rows(home).items():
        call = str(sidecar.get("toolUseId") or workflow)
        assert (shown[agent]["call"], shown[agent]["parent"]) == (call, callers[call])
        answers = {row["message"]["id"]: row["message"]["usage"] for row in rows if row["type"] == "assistant"}
        spent = sum(usage["output_tokens"] for usage in answers.values())
        assert shown[agent]["usage"]["output_tokens"] == spent > 0
    tree = run_command("tree", session, "--home", home).stdout
    assert all(agent in tree for agent in shown)
    assert "belongs to no call" not in tree
    rows = [row for path in home.rglob("*.jsonl") for row in rows_of(path) if row.get("type") == "assistant"]
    answers = {row["message"]["id"]: row["message"]["usage"]["output_tokens"] for row in rows}
    assert ask(home, "stats", "usage")["total"]["output_tokens"] == sum(answers.values())


def test_the_agents_of_a_workflow_are_on_the_page_of_its_call(tmp_path: Path) -> None:
    home = RECORDINGS / "workflow"
    (session,) = sessions(home)
    with pages(tmp_path, home) as page:
        text = page(f"/chats/{session}").body.decode()
    for agent, (sidecar, _) in own_rows(home).items():
        assert f"/agents/{agent}" in text
        assert f"{sidecar['description']}</p>" in text
