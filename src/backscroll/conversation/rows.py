"""One row of a conversation: its position and kind.

Light, so that the rows of a whole home fit into memory: the record itself is only kept where a caller is going to read
it.
"""

from datetime import datetime
from hashlib import blake2b
from typing import Final, NamedTuple

from backscroll.conversation.kinds import HUMAN, RowKind, command_of, inside_tags, kind_of, kind_of_text, typed_text
from backscroll.records.content import ToolResult, ToolUse, Usage
from backscroll.records.kinds import Assistant, Attachment, ChainRecord, System, User
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
"""How much of a typed text is kept, for titles."""


class RowCall(NamedTuple):
    """A tool call, reduced to what the structure of a chat needs."""

    id: str
    name: str
    file: str | None = None
    """The file that it changes."""
    agent: AgentCall | None = None
    """The sub-agent it starts."""
    todo: TodoCall | None = None
    """What it changes in the to-do list."""


class Row:
    """A row of one transcript.

    Where the record has no `uuid`, one is made of its file and the line itself: the same line in another version of the
    file is the same row.
    """

    __slots__ = (
        "calls",
        "forked_from",
        "is_sidechain",
        "kind",
        "message_id",
        "model",
        "parent",
        "position",
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
        self.when: datetime | None = record.timestamp
        self.is_sidechain = record.is_sidechain
        self.forked_from = record.forked_from
        self.record: ChainRecord | None = record if keep else None
        self.parent: str | None = record.parent_uuid
        if self.parent is None and self.kind is RowKind.COMPACTION:
            self.parent = record.logical_parent_uuid
        self.message_id: str | None = None
        self.model: str | None = None
        self.usage: Usage | None = None
        self.calls: tuple[RowCall, ...] = ()
        self.results: tuple[str, ...] = ()
        self.text = ""
        if isinstance(record, Assistant):
            self._take_message(record)
        elif isinstance(record, User):
            self._take_prompt(record)
        elif self.kind in HUMAN or self.kind is RowKind.COMMAND:
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
            if len(content) > len(self.results) and kind_of_text(text := text_of(record)) is RowKind.PROMPT:
                self.text = _shorten(text)
        elif self.kind is RowKind.PROMPT or self.kind is RowKind.COMMAND:
            self.text = _shorten(text_of(record))


def _call(block: ToolUse) -> RowCall:
    name = block.name or ""
    # Copy only what is needed: the block itself would keep the bytes of the whole line in memory.
    return RowCall(
        block.id or "",
        name,
        file_of_call(block) if name in FILE_TOOLS else None,
        agent_call(block) if name in AGENT_TOOLS else None,
        todo_call(block) if name in TODO_TOOLS else None,
    )


def text_of(record: ChainRecord) -> str:
    """The text of a row as a reader sees it: the prompt, command, output or note."""
    if isinstance(record, (User, Assistant)):
        text = typed_text(record.message.content) if record.message else ""
    elif isinstance(record, Attachment):
        text = typed_text(record.attachment.prompt) if record.attachment and record.attachment.prompt else ""
    elif isinstance(record, System):
        text = record.content or ""
    else:
        return ""
    return text if kind_of_text(text) is RowKind.PROMPT else command_of(text) or inside_tags(text)


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT]
