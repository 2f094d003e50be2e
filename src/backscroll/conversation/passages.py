"""The searchable texts of a record, and their roles.

A piece is a block of a message, or the whole of a record that has no blocks. Its text is made on demand: the rows of a
home are written long before their words are indexed.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from backscroll.conversation.kinds import HUMAN, RowKind, kind_of, without_around
from backscroll.records.content import (
    Block,
    Document,
    Image,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
    WebSearchResult,
)
from backscroll.records.decode import fields_of, value_of
from backscroll.records.kinds import Assistant, Attachment, System, UnknownRecord, User
from backscroll.records.outside import AiTitle, CustomTitle, QueueOperation, Summary
from backscroll.records.record import Record


class Role(StrEnum):
    """The role of a passage, ordered by its value for a search."""

    TITLE = "title"
    PROMPT = "prompt"
    ANSWER = "answer"
    THINKING = "thinking"
    INPUT = "input"
    OUTPUT = "output"
    OTHER = "other"


class Passage:
    """A piece of a record. `number` counts the blocks of the record."""

    __slots__ = ("number", "role", "source")

    def __init__(self, number: int, role: Role, source: Record | Block | str) -> None:
        self.number = number
        self.role = role
        self.source = source

    def text(self) -> str:
        """Return the text of the passage."""
        source = self.source
        if isinstance(source, str):
            return source
        if not isinstance(source, Block):
            return _text_of_record(source)
        return text_of_block(source) or (WORDLESS if _is_picture(source) else "")


def passages_of(record: Record, kind: RowKind | None = None) -> Iterator[Passage]:
    """Yield the passages of a record, in order; pass `kind` of a row if it is known, to avoid computing it again."""
    if isinstance(record, Assistant):
        content = record.message.content if record.message else ""
        is_error = record.is_api_error_message
        yield from _passages(content, Role.OTHER if is_error else Role.ANSWER)
    elif isinstance(record, User):
        content = record.message.content if record.message else ""
        kind = kind or kind_of(record)
        role = ROLES.get(kind, Role.OTHER)
        if isinstance(content, str):
            yield from _passages(content, role)
        else:
            for passage in _passages(content, role):
                # The client's additions to a prompt or a result are no prompt.
                is_around = (
                    isinstance(passage.source, Text) and passage.source.text and not without_around(passage.source.text)
                )
                if is_around and passage.role is role:
                    passage.role = Role.OTHER
                yield passage
    elif isinstance(record, Attachment):
        prompt = record.attachment.prompt if record.attachment else None
        kind = kind or kind_of(record)
        if prompt and kind in HUMAN:
            yield from _passages(prompt, Role.PROMPT)
        elif kind is not RowKind.CLIENT_TEXT:
            yield Passage(0, Role.OTHER, record)
    elif isinstance(record, System):
        if record.content:
            yield Passage(0, ROLES.get(kind or kind_of(record), Role.OTHER), record.content)
        elif value_of(record.error) is not None:
            yield Passage(0, Role.OTHER, record)
    elif isinstance(record, QueueOperation):
        if record.operation == "enqueue":
            yield Passage(0, Role.OTHER, record)
    elif isinstance(record, (Summary, CustomTitle, AiTitle, UnknownRecord)):
        yield Passage(0, Role.OTHER, record)


def text_of_block(block: Block) -> str:
    """Return the text of a block, without pictures and other binary data."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Thinking):
        return block.thinking
    if isinstance(block, ToolUse):
        return "\n".join(_strings(value_of(block.input)))
    if isinstance(block, ToolResult):
        if isinstance(block.content, str):
            return block.content
        return "\n".join(filter(None, map(text_of_block, block.content)))
    if isinstance(block, WebSearchResult):
        return "\n".join(_strings(value_of(block.content)))
    if isinstance(block, UnknownBlock):
        return "\n".join(_strings(block.fields))
    if isinstance(block, Document):
        is_text = block.source is not None and block.source.type in ("text", "content")
        data = value_of(block.source.data) if block.source and is_text else ""
        return "\n".join(filter(None, [block.title or "", data if isinstance(data, str) else ""]))
    return ""


def _passages(content: str | list[Block], role: Role) -> Iterator[Passage]:
    if isinstance(content, str):
        if content:
            yield Passage(0, role, content)
        return
    is_wordless = not any(isinstance(block, Text) and block.text.strip() for block in content)
    for number, block in enumerate(content):
        if isinstance(block, Text):
            yield Passage(number, role, block)
        elif isinstance(block, Image):
            if is_wordless:  # with no text beside it, nothing else would lead to the picture
                yield Passage(number, role, block)
        elif isinstance(block, Thinking):
            if block.thinking:
                yield Passage(number, Role.THINKING, block)
        elif isinstance(block, ToolUse):
            yield Passage(number, Role.INPUT, block)
        elif isinstance(block, (ToolResult, WebSearchResult)):
            yield Passage(number, Role.OUTPUT, block)
        elif isinstance(block, (Document, UnknownBlock)):
            yield Passage(number, Role.OTHER, block)


def _text_of_record(record: Record) -> str:
    if isinstance(record, Summary):
        return record.summary or ""
    if isinstance(record, CustomTitle):
        return record.custom_title or ""
    if isinstance(record, AiTitle):
        return record.ai_title or ""
    if isinstance(record, QueueOperation):
        return record.text
    if isinstance(record, Attachment):
        return "\n".join(_strings(fields_of(record).get("attachment")))
    if isinstance(record, System):
        return "\n".join(_strings(value_of(record.error)))
    fields = fields_of(record)
    return "\n".join(_strings({name: value for name, value in fields.items() if name not in BOOKKEEPING}))


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Yield every text and number in a value, and the names that are not those of everyday tools."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if value:
                yield value
        elif isinstance(value, dict):
            for name, part in reversed(value.items()):
                if name in SEALED:
                    continue
                waiting.append(part)
                if name not in EVERYDAY:
                    waiting.append(name)
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield str(value)


def pictured(record: Record, passages: Sequence[Passage]) -> set[int]:
    """Return the numbers of the passages with a picture: in their result, or beside their text."""
    has_own = False
    with_picture = set()
    for number, block in enumerate(_blocks(record)):
        if isinstance(block, Image):
            has_own = True
        elif _is_picture(block):
            with_picture.add(number)
    if has_own:
        beside = [passage for passage in passages if isinstance(passage.source, (Text, Image))]
        texts = [passage for passage in beside if passage.role is not Role.OTHER]  # without the client's additions
        with_picture |= {passage.number for passage in (texts or beside)[:1]}
    return with_picture


def _is_picture(block: Block) -> bool:
    """Whether a block is a picture, or a result with one."""
    if not isinstance(block, ToolResult):
        return isinstance(block, Image)
    return not isinstance(block.content, str) and any(isinstance(part, Image) for part in block.content)


def _blocks(record: Record) -> Sequence[Block]:
    """Return the blocks of a message or of a queued prompt."""
    content: str | Sequence[Block] | None = None
    if isinstance(record, (User, Assistant)):
        content = record.message.content if record.message else None
    elif isinstance(record, Attachment):
        content = record.attachment.prompt if record.attachment else None
    return () if content is None or isinstance(content, str) else content


WORDLESS: Final = "[Image]"
"""The text of a picture that was sent without text."""


ROLES: Final = {
    RowKind.PROMPT: Role.PROMPT,
    RowKind.QUEUED: Role.PROMPT,
    RowKind.COMMAND: Role.PROMPT,
    RowKind.SHELL: Role.PROMPT,
}
BOOKKEEPING: Final = frozenset({
    "uuid", "parentUuid", "logicalParentUuid", "sessionId", "timestamp", "type", "version", "cwd", "userType",
    "gitBranch", "isSidechain", "requestId", "leafUuid", "messageId",
})  # fmt: skip
"""Fields of nearly every record. The text of an unknown record is in its other fields."""
EVERYDAY: Final = frozenset({
    "activeForm", "args", "command", "content", "description", "file_path", "filePath", "filename", "glob", "id",
    "limit", "message", "name", "new_string", "offset", "old_string", "output_mode", "path", "pattern", "prompt",
    "query", "replace_all", "skill", "source", "status", "subagent_type", "taskId", "text", "timeout", "title",
    "todos", "tool_use_id", "type", "url",
})  # fmt: skip
"""Input fields of nearly every call; indexing them would flood searches for such words."""
SEALED: Final = frozenset({"encrypted_content", "signature"})
"""Fields that only the API can read."""
