"""Messages, put together from rows, with each tool call next to its result.

The rows must have kept their records.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from msgspec import Raw

from backscroll.conversation.kinds import SILENT, RowKind, sender_of, summary_of, typed_text
from backscroll.conversation.parts import PartStart
from backscroll.conversation.pictures import pictures_of
from backscroll.conversation.rows import Row, text_of
from backscroll.conversation.tree import Turn
from backscroll.conversation.usage import largest
from backscroll.records.content import Block, Text, ToolResult, ToolUse, Usage, WebSearchResult
from backscroll.records.decode import fields_of
from backscroll.records.kinds import Assistant, Attachment, ChainRecord, User
from backscroll.records.record import Record


class CallState(StrEnum):
    """The state of a tool call."""

    DONE = "done"
    ERROR = "error"
    DENIED = "denied"
    """Denied by the user or by a rule."""
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    MISSING = "missing"
    """There is no result, for an unknown reason."""


class CallResult(NamedTuple):
    """The result of a tool call, and the row that has it."""

    block: ToolResult
    row: Row

    @property
    def details(self) -> Raw:
        """The details that the client recorded. A row has them for one result only: with several, none has details."""
        record = self.row.record
        is_alone = len(self.row.results) == 1
        return record.tool_use_result if is_alone and isinstance(record, User) else NO_DETAILS


class ToolCall(NamedTuple):
    """A tool call and its result."""

    block: ToolUse
    result: CallResult | None
    state: CallState

    @property
    def id(self) -> str:
        """The id by which its result and its sub-agent refer to it."""
        return self.block.id or ""

    @property
    def name(self) -> str:
        """Name of the tool."""
        return self.block.name or ""


class OtherText(NamedTuple):
    """The text of a message's copy from another machine."""

    machine: str
    text: str


class Message:
    """A prompt, an answer, or an action of the client."""

    def __init__(self, message_id: str, kind: RowKind, row: Row) -> None:
        self.id = message_id
        self.kind = kind
        self.rows = [row]
        self.text = ""
        """The text, unless the message is an answer: answers have blocks."""
        self.blocks: list[Block] = []
        self.calls: dict[str, ToolCall] = {}
        self.conflicts: tuple[OtherText, ...] = ()
        """Differing texts of its copies from other machines."""
        self.starts_part: PartStart | None = None
        """Reason why a part of the conversation begins with the message, if one does."""

    @property
    def key(self) -> str:
        """Unique key in the chat: the id of the first row, as some APIs reuse message ids."""
        return self.rows[0].uuid

    def settle(self, results: Mapping[str, CallResult], *, was_interrupted: bool, is_live: bool) -> None:
        """Attach the results of the message's calls. In an interrupted or running turn, some have no result."""
        # Calls that the API carried out itself are answered in the same message.
        answered = {block.tool_use_id for block in self.blocks if isinstance(block, WebSearchResult)}
        for block in self.blocks:
            if isinstance(block, ToolUse):
                result = results.get(block.id or "")
                state = _state(result, was_interrupted=was_interrupted, is_live=is_live)
                state = CallState.DONE if block.id in answered else state
                self.calls[block.id or ""] = ToolCall(block, result, state)

    @cached_property
    def row_of_call(self) -> dict[str, Row]:
        """The row of each call, by the id of the call."""
        rows: dict[str, Row] = {}
        for row in self.rows:
            for made in row.calls:
                rows.setdefault(made.id, row)
        return rows

    @cached_property
    def server_results(self) -> dict[str, list[Block]]:
        """Results of server-side tools in the same message, such as a web search, by call id."""
        answers: dict[str, list[Block]] = {}
        for block in self.blocks:
            name = getattr(block, "tool_use_id", None)
            if name is not None and not isinstance(block, ToolResult):
                answers.setdefault(name, []).append(block)
        return answers

    @cached_property
    def picture_positions(self) -> dict[int, tuple[Row, int]]:
        """The row and index of each image in the message or its results, by the `id` of its block."""
        results = (call.result.row for call in self.calls.values() if call.result)
        rows = {id(row): row for row in (*self.rows, *results)}
        return {
            id(block): (row, number) for row in rows.values() for number, block in enumerate(pictures_of(row.record))
        }

    @property
    def when(self) -> datetime | None:
        """Time at which the first row was written."""
        return self.rows[0].when

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return self.rows[0].model

    @property
    def sender(self) -> str | None:
        """The teammate or session that sent the message, if any."""
        if self.kind is not RowKind.NOTIFICATION:
            return None
        return next((sender for text in self._written_texts if (sender := sender_of(text))), None)

    @property
    def notice(self) -> str | None:
        """Summary of a notification, if the message is one and has it."""
        if self.kind is not RowKind.NOTIFICATION:
            return None
        return next((about for text in self._written_texts if (about := summary_of(text))), None)

    @property
    def _written_texts(self) -> Iterator[str]:
        """The texts as they were written, with the client's tags."""
        return (block.text for block in blocks_of(self.rows[0].record) if isinstance(block, Text))

    @property
    def usage(self) -> Usage | None:
        """The usage: every row repeats it, the earlier ones as placeholders, so the maximum counts."""
        usages = [row.usage for row in self.rows if row.usage]
        if not usages:
            return None
        return largest(usages)

    @property
    def stop_reason(self) -> str | None:
        """Reason why the answer ended; None if the client never received it."""
        for row in reversed(self.rows):
            if isinstance(row.record, Assistant) and row.record.message and row.record.message.stop_reason:
                return row.record.message.stop_reason
        return None


def results_of(rows: Iterable[Row]) -> dict[str, CallResult]:
    """Return every tool result among these rows, by the id of its call."""
    results: dict[str, CallResult] = {}
    for row in rows:
        for block in blocks_of(row.record) if row.results else ():
            if isinstance(block, ToolResult) and block.tool_use_id:
                results[block.tool_use_id] = CallResult(block, row)
    return results


def messages_of(turn: Turn, results: Mapping[str, CallResult], *, is_live: bool = False) -> list[Message]:
    """Return the messages of a turn, in order. `is_live` says that the client may still be working on it."""
    gathered = gather(node.row for node in turn.in_order())
    messages = [message for rows in gathered if (message := message_of(rows)) is not None]
    was_interrupted = any(message.kind is RowKind.INTERRUPTION for message in messages)
    starts = {node.row.uuid: node.starts_part for node in turn.nodes if node.starts_part is not None}
    for message in messages:
        message.settle(results, was_interrupted=was_interrupted, is_live=is_live)
        message.starts_part = next((starts[row.uuid] for row in message.rows if row.uuid in starts), None)
    return messages


def gather(rows: Iterable[Row]) -> list[list[Row]]:
    """Group the rows of a turn into messages: all rows of an answer are one message, and so are consecutive retries."""
    answers: dict[str, list[Row]] = {}
    gathered: list[list[Row]] = []
    for row in rows:
        if not is_shown(row):
            continue
        if row.message_id in answers:
            answers[row.message_id].append(row)
            continue
        if gathered and is_retry_after(row, gathered[-1][-1]):
            gathered[-1].append(row)
            continue
        gathered.append([row])
        if row.message_id is not None:
            answers[row.message_id] = gathered[-1]
    return gathered


def is_retry_after(row: Row, before: Row) -> bool:
    """Whether both rows report a failed API request that is retried: a client may write dozens of them."""
    return all(each.kind is RowKind.API_ERROR and each.message_id is None for each in (row, before))


def is_shown(row: Row) -> bool:
    """Whether a row is a message, or part of one: the result of a tool is shown with its call."""
    return row.kind not in SILENT and (row.kind is not RowKind.TOOL_RESULT or bool(row.text))


def message_of(rows: Sequence[Row]) -> Message | None:
    """Return the message of these rows, as `gather` groups them; None if their records were not kept."""
    rows = [row for row in rows if row.record is not None]
    if not rows or (first := rows[0].record) is None:
        return None
    row = rows[0]
    if row.kind is RowKind.TOOL_RESULT:
        return _said_with_result(row)
    message = Message(row.message_id or row.uuid, row.kind, row)
    message.rows = list(rows)
    if isinstance(first, Assistant):
        message.blocks = [block for part in rows for block in blocks_of(part.record)]
    else:
        texts = dict.fromkeys(text_of(part.record) or _attachment_text(part.record) for part in rows if part.record)
        message.text = "\n".join(text for text in texts if text)
        message.blocks = [block for block in blocks_of(first) if not isinstance(block, Text)]
    return message


def _said_with_result(row: Row) -> Message:
    """Return a prompt that the user typed while a tool ran: some versions write it into the tool's result row."""
    record = row.record
    message = Message(row.uuid, RowKind.QUEUED, row)
    message.text = typed_text(record.message.content) if isinstance(record, User) and record.message else ""
    return message


def blocks_of(record: ChainRecord | None) -> list[Block]:
    """Return the blocks of a record of any kind."""
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
    """Return the text of an attachment, if it has any."""
    if not isinstance(record, Attachment):
        return ""
    body = fields_of(record).get("attachment")
    texts = (body.get(name) for name in ("content", "stdout", "snippet", "text")) if isinstance(body, dict) else ()
    return next((text for text in texts if isinstance(text, str) and text), "")


def _state(result: CallResult | None, *, was_interrupted: bool, is_live: bool) -> CallState:
    if result is None:
        return CallState.INTERRUPTED if was_interrupted else CallState.RUNNING if is_live else CallState.MISSING
    return state_of(result.block, result.row.record)


def state_of(block: ToolResult, record: Record | None) -> CallState:
    """Return the state of a call, from its result."""
    if not block.is_error:
        return CallState.DONE
    text = text_of_result(block)
    if INTERRUPTED.match(text):
        return CallState.INTERRUPTED
    if isinstance(record, User) and (kind := record.tool_denial_kind):
        is_denied = record.tool_denial_before_run or kind == "permission-rule"
        return CallState.DENIED if is_denied and kind not in ("interrupted", "cancelled") else CallState.INTERRUPTED
    return CallState.DENIED if text.startswith(DENIED) else CallState.ERROR


def text_of_result(block: ToolResult) -> str:
    """Return the text that a tool returned."""
    return block.content if isinstance(block.content, str) else typed_text(block.content)


NO_DETAILS: Final = Raw(b"null")
INTERRUPTED: Final = re.compile(r"(?:Exit code \d+\n)?\[Request interrupted")
DENIED: Final = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Permission to use ",
    "Claude requested permissions to ",
    "User rejected ",
)
