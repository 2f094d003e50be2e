"""What the client would send next is on the active branch, in that order, and only what was replaced is on another one.

`next_requests` holds sessions that the real client (2.1.327) wrote after "Summarize up to here", "Summarize from
here" and forks of both, and what its next request said. Texts and attachments are cut; rows and links are not.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

RECORDED: Final = Path(__file__).parent / "next_requests"
REPLACED: Final = {"first prompt aaa", "second prompt bbb", "after fff"}
"""What was typed and then taken back with Esc Esc."""


def session_of(name: str) -> str:
    rows = map(json.loads, (RECORDED / f"{name}.jsonl").read_text().splitlines())
    return next(str(row["sessionId"]) for row in rows if row["type"] in ("user", "system"))


def shown(root: Path, names: tuple[str, ...], session: str) -> list[dict[str, Any]]:
    """The messages of the chat of a session, from the command line."""
    project = root / "home" / "projects" / "-tmp-work"
    project.mkdir(parents=True)
    for name in names:
        (project / f"{session_of(name)}.jsonl").write_bytes((RECORDED / f"{name}.jsonl").read_bytes())
    own = {"CLAUDE_CONFIG_DIR": str(root / "home"), "BACKSCROLL_LIBRARY": str(root / "library")}
    command = [sys.executable, "-m", "backscroll", "show", session, "--branch", "all", "--json"]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    messages: list[dict[str, Any]] = json.loads(done.stdout)["messages"]
    return messages


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [("upto",), ("fork",), ("upto", "fork"), ("from",), ("forkfrom",), ("from", "forkfrom")], ids="-".join
)
def test_the_next_request_is_on_the_active_branch(tmp_path: Path, names: tuple[str, ...]) -> None:
    messages = shown(tmp_path, names, session_of(names[-1]))
    sent = [text for _, text in json.loads((RECORDED / f"{names[-1]}.request.json").read_text())]
    active = [message["text"] for message in messages if message["branch"] == 1]
    rest = iter(active)
    missing = [text for text in sent if not any(text == other for other in rest)]
    assert not missing, (missing, active)
    hidden = {message["text"] for message in messages if message["branch"] != 1 and message["kind"] == "prompt"}
    assert hidden == (REPLACED if "from" in names else set())
    rows = [uuid for message in messages for uuid in message["uuids"]]
    assert len(rows) == len({*rows})
