"""What session files say, counted in plain `json`. Imports nothing of the product."""

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

Row = dict[str, Any]
DECODER: Final = json.JSONDecoder()

CLIENT_TEXT: Final = ("prompt_snapshot", "skill_listing")
"""Attachments with the client's own text."""
NOT_TYPED: Final = re.compile(r"\s*(?:<|\[Request interrupted|Another Claude session sent a message|Caveat: )")


def rows_of(path: Path) -> list[Row]:
    """The rows of one file; some lines hold two, some are broken."""
    rows: list[Row] = []
    for line in path.read_text(errors="replace").split("\n"):
        text, at = line.strip("\0 \r\t"), 0
        while at < len(text):
            try:
                row, at = DECODER.raw_decode(text, at)
            except ValueError:
                break
            rows += [row] if isinstance(row, dict) else []
    return rows


def sessions(home: Path) -> dict[str, list[Row]]:
    """The rows of each session's own file, by session."""
    return {path.stem: rows_of(path) for path in home.glob("projects/*/*.jsonl") if not path.stem.startswith("agent-")}


def texts_of(row: Row) -> list[str]:
    """The texts of a user row or a queued prompt."""
    content = (row.get("message") or row.get("attachment") or {}).get("content") or row.get("attachment", {}).get(
        "prompt", ""
    )
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block["text"] for block in blocks if block.get("type") == "text"]


def typed_prompts(rows: list[Row]) -> list[str]:
    """What a person typed, in the main conversation of a session."""
    return [text for row in rows if _is_by_a_person(row) for text in texts_of(row) if not NOT_TYPED.match(text)]


def notifications(rows: list[Row]) -> list[str]:
    """The notifications that the model got, each once: by the id of the delivery."""
    bodies = [row for row in rows if (row.get("origin") or {}).get("kind") == "task-notification"]
    found = {row["uuid"]: "".join(texts_of(row)) for row in bodies}
    for row in rows:
        body = row.get("attachment") or {}
        if body.get("commandMode") == "task-notification":
            found[body.get("delivery_id") or row["uuid"]] = body["prompt"]
    return list(found.values())


class Told(NamedTuple):
    """What is known of an agent: where it stands, and what it did."""

    parent_call: str | None
    """The call that started it, if the row says so."""
    calls: list[str]
    """Its tool calls, by their ids, in order."""
    answers: list[str]
    """Its answers, by their ids, in order."""


def agents(home: Path) -> dict[tuple[str, str], Told]:
    """The agents of a home by session and id: in files of their own, or in the progress rows of their session."""
    found: dict[tuple[str, str], Told] = {}
    for path in sorted(home.glob("projects/**/*.jsonl")):
        for row in rows_of(path):
            data = row.get("data") or {}
            if row.get("type") == "progress" and data.get("type") == "agent_progress":
                said, agent, call = data.get("message") or {}, data.get("agentId"), row.get("parentToolUseID")
            else:
                said, agent, call = row, row.get("agentId"), None
            if not agent or said.get("type") != "assistant":
                continue
            told = found.setdefault((str(row.get("sessionId")), agent), Told(call, [], []))
            told.calls.extend(name for name in calls_of(said) if name not in told.calls)
            if said["message"]["id"] not in told.answers:
                told.answers.append(said["message"]["id"])
    return found


def calls_of(row: Row) -> list[str]:
    """The tool calls of an assistant row."""
    content = (row.get("message") or {}).get("content")
    blocks = content if isinstance(content, list) else []
    return [block["id"] for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]


def inputs_of(home: Path) -> dict[str, tuple[str, Row]]:
    """Every tool call of a home, whoever made it: its tool and its input, by its id."""
    found: dict[str, tuple[str, Row]] = {}
    for path in sorted(home.glob("projects/**/*.jsonl")):
        for row in rows_of(path):
            for said in (row, (row.get("data") or {}).get("message")):
                if isinstance(said, dict) and said.get("type") == "assistant":
                    content = (said.get("message") or {}).get("content")
                    for block in content if isinstance(content, list) else ():
                        if isinstance(block, dict) and block.get("type") == "tool_use":
                            found[block["id"]] = (block["name"], block["input"])
    return found


def _is_by_a_person(row: Row) -> bool:
    if row.get("isSidechain") or row.get("isMeta") or row.get("isCompactSummary"):
        return False
    if row.get("type") == "attachment":
        body = row["attachment"]
        is_prompt = body.get("type") == "queued_command" and body.get("commandMode", "prompt") == "prompt"
        return is_prompt and _origin_of(body) == "human"
    return row.get("type") == "user" and _origin_of(row) == "human"


def _origin_of(part: Row) -> str:
    return str((part.get("origin") or {}).get("kind", "human"))
