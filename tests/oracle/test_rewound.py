"""What is called rewound was replaced: by another prompt in its place, or because the client says so.

A recount in plain `json` that imports nothing of ours: the program is asked through its command line. A row that is
marked as abandoned must have, somewhere above it, a row with a sibling that leads to another prompt; or its session
says explicitly that the user went back.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

Row = dict[str, Any]

CHAIN: Final = frozenset({"user", "assistant", "system", "attachment", "progress"})
ABANDONED: Final = "select distinct uuid from v_messages where abandoned and not sidechain and agent is null"


def rows_in(path: Path) -> Iterator[Row]:
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


class Sessions:
    """The rows of all sessions of a home by their parents, as they stand in the files."""

    def __init__(self, home: Path) -> None:
        self.parent: dict[str, str | None] = {}
        self.children: dict[str | None, set[str]] = defaultdict(set)
        self.prompts: set[str] = set()
        self.roots_of_prompt: dict[str, set[str]] = defaultdict(set)
        self.files_with: dict[str, set[Path]] = defaultdict(set)
        self.taken_back: set[Path] = set()
        for path in sorted(home.glob("projects/*/*.jsonl")):
            if not path.name.startswith("agent-"):
                self._read(path)

    def _read(self, path: Path) -> None:
        for row in rows_in(path):
            if row.get("type") == "last-prompt" and (row.get("explicit") or row.get("rewound")):
                self.taken_back.add(path)
            uuid = row.get("uuid")
            if row.get("type") not in CHAIN or row.get("isSidechain") or not uuid:
                continue
            parent = row.get("parentUuid") or row.get("logicalParentUuid")
            self.parent[uuid] = parent
            self.children[parent].add(uuid)
            self.files_with[uuid].add(path)
            if is_typed(row):
                self.prompts.add(uuid)
                if parent is None and row.get("promptId"):
                    self.roots_of_prompt[row["promptId"]].add(uuid)

    def leads_to_prompt(self, uuid: str) -> bool:
        """Whether a prompt hangs on a row, with nothing typed between them."""
        waiting, seen = [uuid], set()
        while waiting:
            step = waiting.pop()
            if step in self.prompts:
                return True
            if step not in seen:
                seen.add(step)
                waiting += self.children[step]
        return False

    def was_replaced(self, uuid: str) -> bool:
        """Whether a row, or one above it, has a sibling with a prompt; or its session says that it was taken back."""
        if self.files_with[uuid] & self.taken_back:
            return True
        step: str | None = uuid
        seen: set[str] = set()
        while step is not None and step not in seen:
            seen.add(step)
            parent = self.parent.get(step)
            others = self.children[parent] - {step} if parent in self.parent else set()
            if parent is None:
                others = {
                    uuid for family in self.roots_of_prompt.values() if step in family for uuid in family - {step}
                }
            if any(self.leads_to_prompt(other) for other in others):
                return True
            step = parent
        return False


def is_typed(row: Row) -> bool:
    """Whether a user typed it, as far as one can tell without reading more than it."""
    message = row.get("message")
    if row.get("type") != "user" or row.get("isMeta") or not isinstance(message, dict):
        return False
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or any(block.get("type") == "tool_result" for block in blocks):
        return False
    return any(block.get("type") == "image" or str(block.get("text", "")).strip() for block in blocks)


def ask(tmp_path: Path, home: Path, *words: str) -> list[Row]:
    """The rows that a statement finds in the library of a home."""
    names = {"CLAUDE_CONFIG_DIR": str(home), "BACKSCROLL_LIBRARY": str(tmp_path / "library")}
    command = [sys.executable, "-m", "backscroll", *words, "--json"]
    done = subprocess.run(command, env={**os.environ, **names}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def check(tmp_path: Path, home: Path) -> int:
    """How many rows of a home are abandoned, after a look at each of them."""
    sessions = Sessions(home)
    rows = [str(row["uuid"]) for row in ask(tmp_path, home, "sql", ABANDONED, "--limit", "1000000")]
    wrong = [uuid for uuid in rows if uuid in sessions.parent and not sessions.was_replaced(uuid)]
    assert not wrong, f"{len(wrong)} of {len(rows)} were called rewound, and nothing replaced them: {wrong[:5]}"
    return len(rows)


@pytest.mark.slow
def test_no_real_session_has_a_rewind_that_was_none(corpus_copy: Path, corpus: Path) -> None:
    check(corpus_copy.parent, corpus / "home")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_no_session_cut_and_glued_at_random_has_a_rewind_that_was_none(tmp_path: Path, corpus: Path, seed: int) -> None:
    """Lost rows, lost links and second roots in real sessions, and true rewinds among them."""
    random = Random(seed)
    home = tmp_path / "home"
    real = [path for path in sorted((corpus / "home" / "projects").glob("*/*.jsonl")) if path.stat().st_size < 400_000]
    for path in random.sample(real, 12):
        copy = home / "projects" / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        if not path.name.startswith("agent-"):
            copy.write_text("".join(json.dumps(row) + "\n" for row in spoiled(list(rows_in(path)), random)))
    assert check(tmp_path, home) > 0


def spoiled(rows: list[Row], random: Random) -> Iterator[Row]:
    """The rows of a session, some without their link and some not at all; and, here and there, a rewind."""
    typed = [row for row in rows if row.get("uuid") and is_typed(row)]
    again = set(random.sample(range(len(typed)), min(2, len(typed))))
    for row in rows:
        luck = random.random()
        if luck < 0.01:
            continue
        yield row | {"parentUuid": None} if luck < 0.03 and "parentUuid" in row else row
        if row in typed and typed.index(row) in again:
            yield row | {
                "uuid": f"{row['uuid']}-again",
                "message": {"role": "user", "content": "rather something else"},
            }
