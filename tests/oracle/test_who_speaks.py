"""Who speaks: prompts are what a person typed, notifications stand once, and the client's own text is nobody's.

The sessions in `recordings` were written by the real client; its vendor's texts are cut out of them.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.library.support import Shelf
from tests.oracle.recount import CLIENT_TEXT, notifications, sessions, typed_prompts
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home
from tests.web.served import ask as open_page
from tests.web.served import serving

RECORDINGS = Path(__file__).parent / "recordings" / "2.1.327"
PLAYED = ["agents", "monitor", "overloaded", "permission", "teammate", "workflow"]
"""Those of one session each."""
NOTHING_FOUND = 3
SNAPSHOT = "SNAPSHOTWORD"
"""A word of every text of the client in the recordings, and of nothing else."""
PEERS = """
@ version=2.1.327 session=S1
a <- - user: make the boat
b <- a assistant(m1): made
c <- b user: "<teammate-message teammate_id=\\"builder\\" summary=\\"oars\\">\\nthe oars are done\\n</teammate-message>"
d <- c assistant(m2): good oars
e <- d user: "Another Claude session sent a message:\\n<cross-session-message from=\\"harbour\\">\\nthe tide turns\\n\
</cross-session-message>\\n\\nThis came from another Claude session"
f <- e assistant(m3): we leave
g <- f user: Another Claude session sent a message yesterday, what was it?
h <- g assistant(m4): none
queue-operation enqueue: sail now
queue-operation remove: sail now {"reason": "delivered_to_agent", "commandUuid": "u1"}
i <- h user: thanks
j <- i assistant(m5): welcome
"""


def ask(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run_command(*arguments, "--json", "--home", home)
    assert done.returncode in (0, NOTHING_FOUND), done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def peers(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(PEERS))})


@pytest.mark.parametrize("played", PLAYED)
def test_every_door_counts_the_prompts_that_a_person_typed(played: str) -> None:
    home = RECORDINGS / played
    for session, rows in sessions(home).items():
        typed = typed_prompts(rows)
        shown = ask(home, "show", session)
        assert [said["text"] for said in shown["messages"] if said["kind"] in ("prompt", "queued")] == typed
        assert [chat["prompts"] for chat in ask(home, "list")["chats"]] == [len(typed)]
        assert ask(home, "stats", "prompts")["total"]["prompts"] == len(typed)


@pytest.mark.parametrize("played", PLAYED)
def test_each_notification_stands_once(played: str) -> None:
    home = RECORDINGS / played
    for session, rows in sessions(home).items():
        told = notifications(rows)
        shown = ask(home, "show", session)
        assert sum(said["kind"] == "notification" for said in shown["messages"]) == len(told)
        assert shown["messages"][0]["kind"] == "prompt"


def test_some_recording_has_notifications_and_client_text() -> None:
    rows = [row for played in PLAYED for said in sessions(RECORDINGS / played).values() for row in said]
    assert len(notifications(rows)) > 5
    assert {row["attachment"]["type"] for row in rows if row["type"] == "attachment"} >= set(CLIENT_TEXT)
    assert sum(SNAPSHOT in json.dumps(row) for row in rows) > 30


@pytest.mark.parametrize("played", PLAYED)
def test_the_text_of_the_client_is_kept_and_no_part_of_the_conversation(played: str, tmp_path: Path) -> None:
    home = RECORDINGS / played
    written = sum(SNAPSHOT in line for path in home.rglob("*.jsonl") for line in path.read_text().splitlines())
    assert ask(home, "search", SNAPSHOT)["total_chats"] == 0
    assert ask(home, "recall", f"what is {SNAPSHOT} about?")["passages"] == []
    kept = 0
    for session in sessions(home):
        assert SNAPSHOT not in json.dumps(ask(home, "show", session))
        assert SNAPSHOT not in run_command("show", session, "--agents", "--tools", "full", "--home", home).stdout
        for form in ("md", "html"):
            target = tmp_path / f"{session}.{form}"
            assert run_command("export", session, "--format", form, "--out", target, "--home", home).returncode == 0
            assert SNAPSHOT not in target.read_text()
        target = tmp_path / f"{session}.jsonl"
        assert run_command("export", session, "--format", "jsonl", "--out", target, "--home", home).returncode == 0
        kept += target.read_text().count(f'"{SNAPSHOT}')
    assert kept >= written


def test_no_page_shows_the_text_of_the_client(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for played in PLAYED:
        shutil.copytree(RECORDINGS / played, shelf.home, dirs_exist_ok=True)
    shelf.update()
    with serving(shelf) as served:
        addresses = ["/", "/search?q=characters+client+please"]
        for session in sessions(shelf.home):
            addresses += [f"/chats/{session}?detail=everything", f"/api/v1/chats/{session}"]
            addresses += [f"/api/v1/chats/{session}/messages"]
        pages = {address: open_page(served, address) for address in addresses}
    assert {page.status for page in pages.values()} == {200}
    assert [address for address, page in pages.items() if SNAPSHOT in page.body.decode()] == []
    assert any("AGENTONEWORD" in page.body.decode() for page in pages.values())


def test_messages_of_teammates_and_sessions_are_theirs(peers: Path) -> None:
    shown = ask(peers, "show", session_uuid("S1"))
    kinds = [(said["kind"], said.get("text")) for said in shown["messages"] if said["kind"] != "answer"]
    assert kinds == [
        ("prompt", "make the boat"),
        ("notification", "the oars are done"),
        ("notification", "the tide turns"),
        ("prompt", "Another Claude session sent a message yesterday, what was it?"),
        ("prompt", "thanks"),
    ]
    (chat,) = ask(peers, "list")["chats"]
    assert chat["prompts"] == 3
    assert ask(peers, "stats", "prompts")["total"]["prompts"] == 3
    printed = run_command("show", session_uuid("S1"), "--home", peers).stdout
    assert "message from builder" in printed
    assert "message from harbour" in printed
    assert ask(peers, "search", "tide role:prompt")["total_chats"] == 0
    assert ask(peers, "search", "tide")["total_chats"] == 1
