"""What a reader reads: messages, put together from rows, with each tool call beside its result.

Needs rows that kept their records.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from backscroll.conversation.kinds import SILENT, Kind, kind_of_text, typed_text
from backscroll.conversation.rows import Row, text_of
from backscroll.conversation.tree import Turn
from backscroll.conversation.usage import largest
from backscroll.records import (
    Assistant,
    Attachment,
    Block,
    ChainRecord,
    Record,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    User,
    WebSearchResult,
    fields_of,
)


class State(StrEnum):
    """How a tool call ended."""

    DONE = "done"
    ERROR = "error"
    DENIED = "denied"
    """The user, or a rule, did not let it happen."""
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    MISSING = "missing"
    """There is no result, and nothing says why."""


class Result(NamedTuple):
    """What a tool gave back, and the row it stands in."""

    block: ToolResult
    row: Row


class ToolCall(NamedTuple):
    """A call with what came of it."""

    block: ToolUse
    result: Result | None
    state: State

    @property
    def id(self) -> str:
        """What the result and a sub-agent know it by."""
        return self.block.id or ""

    @property
    def name(self) -> str:
        """The tool."""
        return self.block.name or ""


class Message:
    """One prompt, one answer, or one thing that the client did."""

    def __init__(self, message_id: str, kind: Kind, row: Row) -> None:
        self.id = message_id
        self.kind = kind
        self.rows = [row]
        self.text = ""
        """What it says, where it is not an answer: those say it in blocks."""
        self.blocks: list[Block] = []
        self.calls: dict[str, ToolCall] = {}

    @property
    def when(self) -> datetime | None:
        """When its first row was written."""
        return self.rows[0].when

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return self.rows[0].model

    @property
    def usage(self) -> Usage | None:
        """Its tokens: every row repeats them, the earlier ones as placeholders, so the maximum counts."""
        usages = [row.usage for row in self.rows if row.usage]
        if not usages:
            return None
        return largest(usages)

    @property
    def stop_reason(self) -> str | None:
        """Why the answer ended; None where the client never learned it."""
        for row in reversed(self.rows):
            if isinstance(row.record, Assistant) and row.record.message and row.record.message.stop_reason:
                return row.record.message.stop_reason
        return None


def results_of(rows: Iterable[Row]) -> dict[str, Result]:
    """Every tool result among these rows by the call it belongs to, wherever it stands."""
    results: dict[str, Result] = {}
    for row in rows:
        for block in _blocks(row.record) if row.results else ():
            if isinstance(block, ToolResult) and block.tool_use_id:
                results[block.tool_use_id] = Result(block, row)
    return results


def messages_of(turn: Turn, results: Mapping[str, Result], *, is_live: bool = False) -> list[Message]:
    """The messages of a turn in their order. `is_live` says that the client may still be at work on it."""
    messages = _gather(turn)
    was_interrupted = any(message.kind is Kind.INTERRUPTION for message in messages)
    for message in messages:
        # What the API carried out itself is answered in the same message.
        answered = {block.tool_use_id for block in message.blocks if isinstance(block, WebSearchResult)}
        for block in message.blocks:
            if isinstance(block, ToolUse):
                result = results.get(block.id or "")
                state = _state(result, was_interrupted=was_interrupted, is_live=is_live)
                state = State.DONE if block.id in answered else state
                message.calls[block.id or ""] = ToolCall(block, result, state)
    return messages


def _gather(turn: Turn) -> list[Message]:
    answers: dict[str, Message] = {}
    messages: list[Message] = []
    for node in turn.in_order():
        row = node.row
        if row.kind in SILENT or row.record is None:
            continue
        if row.kind is Kind.TOOL_RESULT:
            messages += _said_with_result(row)
        elif isinstance(row.record, Assistant):
            name = row.message_id or row.uuid
            if name in answers:
                answers[name].rows.append(row)
            else:
                answers[name] = Message(name, row.kind, row)
                messages.append(answers[name])
            answers[name].blocks.extend(_blocks(row.record))
        else:
            message = Message(row.uuid, row.kind, row)
            message.text = text_of(row.record) or _attachment_text(row.record)
            message.blocks = [block for block in _blocks(row.record) if not isinstance(block, Text)]
            messages.append(message)
    return messages


def _said_with_result(row: Row) -> Iterator[Message]:
    """What a person typed while a tool ran: some versions put it into the row of the tool's result."""
    record = row.record
    text = typed_text(record.message.content) if isinstance(record, User) and record.message else ""
    if text.strip():
        kind = kind_of_text(text)
        kind = Kind.QUEUED if kind is Kind.PROMPT else kind
        message = Message(row.uuid, kind, row)
        message.text = text
        yield message


def _blocks(record: ChainRecord | None) -> list[Block]:
    if isinstance(record, (User, Assistant)) and record.message:
        content = record.message.content
    elif isinstance(record, Attachment) and record.attachment and record.attachment.prompt:
        content = record.attachment.prompt
    else:
        return []
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    return content


def _attachment_text(record: ChainRecord) -> str:
    """What an attachment shows, where it has a text of its own."""
    if not isinstance(record, Attachment):
        return ""
    body = fields_of(record).get("attachment")
    texts = (body.get(name) for name in ("content", "stdout", "snippet", "text")) if isinstance(body, dict) else ()
    return next((text for text in texts if isinstance(text, str) and text), "")


def _state(result: Result | None, *, was_interrupted: bool, is_live: bool) -> State:
    if result is None:
        return State.INTERRUPTED if was_interrupted else State.RUNNING if is_live else State.MISSING
    return state_of(result.block, result.row.record)


def state_of(block: ToolResult, record: Record | None) -> State:
    """How the call of a result ended."""
    if not block.is_error:
        return State.DONE
    content = block.content
    text = content if isinstance(content, str) else typed_text(content)
    if INTERRUPTED.match(text):
        return State.INTERRUPTED
    if (isinstance(record, User) and record.tool_denial_kind) or text.startswith(DENIED):
        return State.DENIED
    return State.ERROR


INTERRUPTED: Final = re.compile(r"(?:Exit code \d+\n)?\[Request interrupted")
DENIED: Final = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Permission to use ",
    "Claude requested permissions to ",
    "User rejected ",
)
