"""Read files of ClaudeLens: its JSON export, and dumps of its collection of messages. Pure: bytes in, sessions out.

An export has conversations with messages whose text is all that is left of them. A dump (`mongoexport`, or the array
that `bsondump` and compass write) has the fields of the original lines.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

SPOKEN: Final = ("user", "assistant")
OWN: Final = frozenset(
    "_id id user_id userId contentHash createdAt updatedAt metadata costUsd model projectId content totalCost".split()
)
"""Fields of a dumped message that ClaudeLens added."""


class LensSession(NamedTuple):
    """A session as Claude Code would have written it."""

    id: str
    cwd: str
    lines: list[bytes]


class LensFile(NamedTuple):
    """The contents of a file."""

    sessions: list[LensSession]
    left_out: int
    """Messages without a text, or of a kind that Claude Code does not write."""


def read_claudelens(data: bytes) -> LensFile | None:
    """Read the sessions in a file; None if ClaudeLens did not write it."""
    documents = _documents(data)
    if documents is None:
        return None
    conversations = [each for document in documents for each in _conversations(document)]
    if conversations:
        exported = [_exported(each) for each in conversations]
        return LensFile([session for session, _ in exported if session.lines], sum(left for _, left in exported))
    if documents and all("sessionId" in each and "contentHash" in each for each in documents):
        return _dumped(documents)
    return None


def _documents(data: bytes) -> list[dict[str, Any]] | None:
    """Read the objects of a file: one, an array of them, or one in each line."""
    try:
        whole = msgspec.json.decode(data)
        documents = whole if isinstance(whole, list) else [whole]
    except msgspec.DecodeError:
        try:
            documents = [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
        except msgspec.DecodeError:
            return None
    return documents if all(isinstance(document, dict) for document in documents) else None


def _conversations(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    entries = document.get("conversations")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("messages"), list):
            yield entry


def _exported(conversation: Mapping[str, Any]) -> tuple[LensSession, int]:
    """Convert a conversation of an export, which has no parents: each message follows the one before."""
    messages = sorted(
        (each for each in conversation["messages"] if isinstance(each, dict)),
        key=lambda each: str(each.get("timestamp")),
    )
    about = [each.get("metadata") or {} for each in messages]
    session = next((str(each["sessionId"]) for each in about if each.get("sessionId")), "")
    if not _is_uuid(session):
        session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"claudelens:{conversation.get('id')}"))
    cwd = next((str(each["cwd"]) for each in about if each.get("cwd")), "")
    lines, parent = [], None
    for number, (message, facts) in enumerate(zip(messages, about, strict=True)):
        if message.get("type") not in SPOKEN or not message.get("content"):
            continue
        own = str(facts.get("uuid") or uuid.uuid5(uuid.NAMESPACE_URL, f"{session}:{number}"))
        message_row: dict[str, Any] = {"role": message["type"], "content": message["content"]}
        if message["type"] == "assistant":
            message_row |= {"id": f"msg_{own}", "model": message.get("model") or "unknown"}
            message_row["content"] = [{"type": "text", "text": message["content"]}]
        row = {
            "type": message["type"], "uuid": own, "parentUuid": parent, "sessionId": session, "isSidechain": False,
            "timestamp": moment(message.get("timestamp")), "cwd": facts.get("cwd"), "version": facts.get("version"),
            "gitBranch": facts.get("gitBranch"), "costUSD": message.get("costUsd"), "message": message_row,
        }  # fmt: skip
        lines.append(_line(row))
        parent = own
    left = len(messages) - len(lines)
    title = conversation.get("summary") or conversation.get("title")
    if parent and title:
        lines.append(_line({"type": "summary", "summary": str(title), "leafUuid": parent}))
    return LensSession(session, cwd, lines), left


def _dumped(documents: Iterable[dict[str, Any]]) -> LensFile:
    sessions: dict[str, list[dict[str, Any]]] = {}
    left = 0
    for document in documents:
        if document.get("type") in {*SPOKEN, "system", "summary"} and _is_uuid(str(document.get("sessionId"))):
            sessions.setdefault(str(document["sessionId"]), []).append(document)
        else:
            left += 1
    converted = []
    for session, messages in sessions.items():
        messages.sort(key=lambda document: moment(document.get("timestamp")) or "")
        cwd = next((str(document["cwd"]) for document in messages if document.get("cwd")), "")
        converted.append(LensSession(session, cwd, [_line(_original(document)) for document in messages]))
    return LensFile(converted, left)


def _original(message: Mapping[str, Any]) -> dict[str, Any]:
    """Rebuild the line that a dumped message was made of."""
    if message["type"] == "summary":
        return {"type": "summary", "summary": message.get("summary"), "leafUuid": message.get("leafUuid")}
    row = {name: value for name, value in message.items() if name not in OWN}
    row["timestamp"] = moment(message.get("timestamp"))
    if message.get("costUsd") is not None:
        row["costUSD"] = _number(message["costUsd"])
    if not isinstance(row.get("message"), dict):
        row["message"] = {"role": message["type"], "content": message.get("content") or ""}
    if message["type"] == "assistant" and message.get("model"):
        row["message"] = {"model": message["model"], **row["message"]}
    return row


def moment(value: object) -> str | None:
    """Write a time as Claude Code does; MongoDB's extended JSON wraps it."""
    if isinstance(value, dict):
        return moment(value.get("$date"))
    if value is None:
        return None
    text = str(value).replace("+00:00", "Z")
    return text if text.endswith("Z") or "+" in text[10:] else f"{text}Z"


def _number(value: object) -> object:
    """Read a number; MongoDB's extended JSON wraps decimals."""
    return float(str(value["$numberDecimal"])) if isinstance(value, dict) and "$numberDecimal" in value else value


def _line(row: Mapping[str, Any]) -> bytes:
    return (
        msgspec.json.encode({name: value for name, value in row.items() if value is not None or name == "parentUuid"})
        + b"\n"
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
