"""Count a home again in plain `json`: what was typed, answered and called, each once. It shares no code with ours."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]
SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
NOT_TYPED: Final = (
    "[Request interrupted", "<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>",
    "<bash-notification>", "<agent-notification>", "<teammate-message", "Another Claude session sent a message",
    "<user-prompt-submit-hook>", "<session-start-hook>", "This session is being continued from a previous conversation",
)  # fmt: skip
COMMANDS: Final = ("<command-name>", "<command-message>", "<bash-input>")
AROUND: Final = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>\s*", re.DOTALL)


@dataclass
class Counts:
    """What a home holds."""

    prompts: set[str] = field(default_factory=set)
    """The uuids of what was typed, or when and what, where it has none."""
    answers: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    """The sessions with a prompt or an answer of their own."""


def recount(home: Path) -> Counts:
    """Read every transcript of a home."""
    counts = Counts()
    answered: dict[tuple[str, str], str] = {}
    for path in sorted((home / "projects").rglob("*.jsonl")):
        is_session = SESSION.fullmatch(path.name) is not None
        if not (is_session or path.name.startswith("agent-")):
            continue
        rows = list(rows_of(path))
        again = _typed_again(rows) if is_session else set()
        for row in rows:
            _count(counts, row, path.stem if is_session else None)
        counts.prompts -= again
        for uuid, said in _answered(rows) if is_session else ():
            if answered.setdefault(said, uuid) != uuid:
                counts.prompts.discard(uuid)
        if is_session and (taken := _taken_from_queue(rows)):
            counts.prompts |= taken
            counts.sessions.add(path.stem)
    return counts


def rows_of(path: Path) -> Iterator[Row]:
    """The objects of a file; a damaged line has none."""
    for line in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def is_typed(row: Row) -> bool:
    """Whether a person typed this row."""
    if row.get("type") == "attachment":
        body = row.get("attachment") or {}
        is_human = (body.get("origin") or {}).get("kind", "human") == "human"
        is_prompt = body.get("type") == "queued_command" and body.get("commandMode", "prompt") == "prompt"
        return is_prompt and is_human and _is_prompt(_text(body.get("prompt")), is_meta=False)
    if row.get("type") == "system" and row.get("subtype") == "local_command":
        return str(row.get("content") or "").lstrip().startswith(COMMANDS)
    if row.get("type") != "user" or row.get("isCompactSummary"):
        return False
    content = (row.get("message") or {}).get("content")
    if isinstance(content, list) and any(block.get("type") == "tool_result" for block in content):
        return _is_prompt(_text(content), is_meta=False)
    if (row.get("origin") or {}).get("kind", "human") != "human":
        return False
    has_picture = isinstance(content, list) and any(block.get("type") == "image" for block in content)
    return (has_picture and not row.get("isMeta")) or _is_prompt(_text(content), is_meta=bool(row.get("isMeta")))


def _typed_again(rows: list[Row]) -> set[str]:
    """The prompts of a history that an editor wrote into its session again: they have the times of the first ones."""
    roots = [at for at, row in enumerate(rows) if row.get("type") == "user" and row.get("parentUuid") is None]
    if len(roots) < 2 or not _answers(rows[: roots[1]]) & _answers(rows[roots[1] :]):
        return set()
    first: dict[str, str] = {}
    again = set()
    for row in rows:
        is_prompt = row.get("type") == "user" and is_typed(row)
        if is_prompt and first.setdefault(row["timestamp"], row["uuid"]) != row["uuid"]:
            again.add(row["uuid"])
    return again


def _answered(rows: list[Row]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The uuid of each prompt, with its text and the answer behind it: by these, copies under new uuids are one."""
    last: tuple[str, str] | None = None
    for row in rows:
        if row.get("isSidechain"):
            continue
        if row.get("type") == "user" and is_typed(row):
            last = (_original(row), _text((row.get("message") or {}).get("content")))
        elif row.get("type") == "assistant" and last is not None:
            if name := (row.get("message") or {}).get("id"):
                yield last[0], (last[1], name)
            last = None


def _original(row: Row) -> str:
    """The uuid of the row that this one is a copy of, or its own."""
    return str((row.get("forkedFrom") or {}).get("messageUuid") or row["uuid"])


def _answers(rows: list[Row]) -> set[str]:
    return {row["message"]["id"] for row in rows if row.get("type") == "assistant" and "id" in row["message"]}


def _taken_from_queue(rows: list[Row]) -> set[str]:
    """What was typed while the model worked and taken into the turn, where no later row of the conversation has it."""
    waiting: list[tuple[int, str]] = []
    said = [(at, _said(row)) for at, row in enumerate(rows) if row.get("type") in ("user", "attachment", "system")]
    taken = set()
    for row_at, row in enumerate(rows):
        if row.get("type") != "queue-operation":
            continue
        if row.get("operation") == "enqueue":
            waiting.append((row_at, str(row.get("content") or "")))
        elif row.get("operation") == "popAll":
            waiting.clear()
        elif waiting:
            at, text = next((one for one in waiting if one[1] == row.get("content")), waiting[0])
            waiting.remove((at, text))
            written = next((one for one in said if one[0] > at and one[1] == text), None)
            if written is not None:
                said.remove(written)
            elif row.get("operation") == "remove" and _is_prompt(text, is_meta=False):
                taken.add(f"{row['timestamp']} {text}")
    return taken


def _said(row: Row) -> str:
    """What was typed for a row: of a slash command, its name and arguments."""
    content = (row.get("message") or {}).get("content") or (row.get("attachment") or {}).get("prompt")
    text = _text(content or row.get("content"))
    name = re.search("<command-name>(.*?)</command-name>", text)
    given = re.search("<command-args>(.*?)</command-args>", text, re.DOTALL)
    return f"{name[1]} {given[1] if given else ''}".strip() if name else text


def _count(counts: Counts, row: Row, session: str | None) -> None:
    told = (row.get("data") or {}).get("message") if row.get("type") == "progress" else None
    if isinstance(told, dict) and told.get("type") == "assistant":  # an agent's, which may stand nowhere else
        row, session = told, None
    message = row.get("message") if isinstance(row.get("message"), dict) else {}
    assert isinstance(message, dict)
    is_made_up = message.get("model") == "<synthetic>" or row.get("isApiErrorMessage")
    is_answer = row.get("type") == "assistant" and not is_made_up
    if is_answer and isinstance(message.get("usage"), dict):
        counts.answers.add(message.get("id") or row["uuid"])
    if row.get("type") == "assistant" and isinstance(message.get("content"), list):
        counts.calls |= {block["id"] for block in message["content"] if block.get("type") == "tool_use"}
    typed = session is not None and not row.get("isSidechain") and is_typed(row)
    if typed:
        counts.prompts.add(_original(row))
    if session is not None and (typed or is_answer):
        counts.sessions.add(session)


def _is_prompt(text: str, *, is_meta: bool) -> bool:
    text = text.lstrip()
    if text.startswith(COMMANDS):
        return True
    return bool(text) and not is_meta and not text.startswith(NOT_TYPED)


def _text(content: Any) -> str:  # noqa: ANN401
    """The text of a message without what the client puts around it."""
    if isinstance(content, str):
        return AROUND.sub("", content)
    texts = [block.get("text", "") for block in content or () if block.get("type") == "text"]
    return "\n".join(filter(str.strip, (AROUND.sub("", text) for text in texts)))
