"""One row of a conversation: its position and kind.

Light, so that the rows of a whole home fit into memory: the record itself is kept only for callers that read it.
"""

from datetime import datetime
from hashlib import blake2b
from typing import Final, NamedTuple

from backscroll.conversation.kinds import HUMAN, RowKind, command_of, inside_tags, kind_of, kind_of_text, typed_text
from backscroll.conversation.preserved import Preserved
from backscroll.records.content import ToolResult, ToolUse, Usage
from backscroll.records.decode import value_of
from backscroll.records.kinds import Assistant, Attachment, ChainRecord, System, User
from backscroll.records.record import usual_time
from backscroll.records.tools import (
    AGENT_TOOLS,
    FILE_TOOLS,
    TODO_TOOLS,
    AgentCall,
    TodoCall,
    agent_call,
    file_of_call,
    todo_call,
)

LONGEST_TEXT: Final = 200
"""Characters of a typed text that are kept, for titles."""
SHORTENED: Final = HUMAN | {RowKind.COMMAND, RowKind.NOTIFICATION}
"""The kinds of rows whose text is kept."""


class RowCall(NamedTuple):
    """A tool call, reduced to what the structure of a chat needs."""

    id: str
    name: str
    file: str | None = None
    """The file that the call changes."""
    agent: AgentCall | None = None
    """The sub-agent that the call starts."""
    todo: TodoCall | None = None
    """The change to the to-do list."""


class Row:
    """A row of one transcript.

    Where the record has no `uuid`, it is made of its file and the line itself: an equal line in another version of the
    file is the same row.
    """

    __slots__ = (
        "calls",
        "failed",
        "forked_from",
        "instead_of",
        "is_elsewhere",
        "is_sidechain",
        "kind",
        "message_id",
        "model",
        "parent",
        "position",
        "preserved",
        "record",
        "results",
        "text",
        "transcript",
        "usage",
        "uuid",
        "when",
    )

    def __init__(
        self, record: ChainRecord, transcript: str, position: int, *, keep: bool, origin: str | None = None
    ) -> None:
        self.uuid: str = record.uuid or f"{origin or transcript}:{blake2b(record.raw, digest_size=8).hexdigest()}"
        self.transcript = transcript
        self.position = position
        self.kind = kind_of(record)
        self.when: datetime | None = usual_time(record.timestamp)
        self.is_sidechain = record.is_sidechain
        self.is_elsewhere = False
        """Whether the row is from a file of another machine: rows of this machine win over copies of them."""
        self.forked_from = record.forked_from
        self.record: ChainRecord | None = record if keep else None
        self.parent: str | None = record.parent_uuid
        if self.parent is None and self.kind is RowKind.COMPACTION:
            self.parent = record.logical_parent_uuid
        self.preserved = preserved_in(record) if self.kind is RowKind.COMPACTION else None
        """The run of rows that a compaction left in the context."""
        self.instead_of: str | None = None
        """The first row of the conversation, if this row has no parent and the client says that it replaces it."""
        self.message_id: str | None = None
        self.model: str | None = None
        self.usage: Usage | None = None
        self.calls: tuple[RowCall, ...] = ()
        self.results: tuple[str, ...] = ()
        self.failed: tuple[str, ...] = ()
        """Results that are errors."""
        self.text = ""
        if isinstance(record, Assistant):
            self._take_message(record)
        elif isinstance(record, User):
            self._take_prompt(record)
        elif self.kind in SHORTENED:
            self.text = _shorten(text_of(record))

    def _take_message(self, record: Assistant) -> None:
        message = record.message
        if message is None:
            return
        self.message_id = message.id
        self.model = message.model
        self.usage = message.usage
        if not isinstance(message.content, str):
            self.calls = tuple(_call(block) for block in message.content if isinstance(block, ToolUse))

    def _take_prompt(self, record: User) -> None:
        if self.kind is RowKind.TOOL_RESULT:
            content = record.message.content if record.message else ()
            self.results = tuple(
                block.tool_use_id for block in content if isinstance(block, ToolResult) and block.tool_use_id
            )
            self.failed = tuple(
                block.tool_use_id
                for block in content
                if isinstance(block, ToolResult) and block.tool_use_id and block.is_error
            )
            if len(content) > len(self.results) and kind_of_text(text := text_of(record)) is RowKind.PROMPT:
                self.text = _shorten(text)
        elif self.kind in SHORTENED:
            self.text = _shorten(text_of(record))


def _call(block: ToolUse) -> RowCall:
    name = block.name or ""
    # Copy only the needed parts: the block itself would keep the bytes of the whole line in memory.
    return RowCall(
        block.id or "",
        name,
        file_of_call(block) if name in FILE_TOOLS else None,
        agent_call(block) if name in AGENT_TOOLS else None,
        todo_call(block) if name in TODO_TOOLS else None,
    )


def preserved_in(record: ChainRecord) -> Preserved | None:
    """Return the run of rows that a boundary names as preserved."""
    metadata = record.compact_metadata if isinstance(record, System) else None
    kept = metadata.preserved_segment if metadata else None
    if kept is None or kept.head_uuid is None or kept.anchor_uuid is None or kept.tail_uuid is None:
        return None
    return Preserved(kept.head_uuid, kept.anchor_uuid, kept.tail_uuid)


def text_of(record: ChainRecord) -> str:
    """Return the text of a row as a reader sees it: the prompt, command, output or note."""
    if isinstance(record, (User, Assistant)):
        text = typed_text(record.message.content) if record.message else ""
    elif isinstance(record, Attachment):
        text = typed_text(record.attachment.prompt) if record.attachment and record.attachment.prompt else ""
    elif isinstance(record, System):
        text = record.content or error_name(value_of(record.error))
    else:
        return ""
    return _as_read(text)


def error_name(error: object) -> str:
    """Return the name of an API error, in the client's words, or else from anywhere inside the error."""
    status = ""
    for _ in range(4):
        if not isinstance(error, dict):
            return error if isinstance(error, str) else ""
        if isinstance(formatted := error.get("formatted"), str) and formatted:
            return formatted
        status = status or (str(error["status"]) if isinstance(error.get("status"), int) else "")
        message, inner = error.get("message"), error.get("error") or error.get("cause")
        if isinstance(message, str) and message and not isinstance(inner, dict):
            line = message.strip().partition("\n")[0]
            return line if not status or line.startswith(status) else f"{status} {line}"
        if isinstance(error.get("code"), str):
            return str(error["code"])
        if not isinstance(inner, dict):
            return status
        error = inner
    return ""


def start_of(text: str) -> str:
    """Return the beginning of a text, as `Row.text` has it."""
    return _shorten(_as_read(text))


def _as_read(text: str) -> str:
    """Return a text without the client's tags."""
    return text if kind_of_text(text) is RowKind.PROMPT else command_of(text) or inside_tags(text)


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT]
