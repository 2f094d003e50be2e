"""Turn records and their rows into the columns that a store writes."""

import zlib
from collections.abc import Mapping
from typing import Final

from backscroll.conversation.chat import Chat
from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import CallState, state_of
from backscroll.conversation.overview import overview_of
from backscroll.conversation.passages import Passage, Role, passages_of, pictured, text_of_block
from backscroll.conversation.rows import Row, RowCall
from backscroll.conversation.signatures import signature_of
from backscroll.records.content import AssistantMessage, Text, Thinking, ToolResult, ToolUse, Usage, WebSearchResult
from backscroll.records.kinds import Assistant
from backscroll.records.outside import CostState, Summary
from backscroll.records.record import Record, usual_time
from backscroll.records.tools import READING_TOOLS, file_of_call
from backscroll.store.batches import (
    ROW_BEFORE,
    Batch,
    BlockColumns,
    ChatChange,
    ClientTotalColumns,
    RecordColumns,
    UsageColumns,
    microseconds,
)
from backscroll.store.detail import detail_of

OUTSIDE: Final = "outside"
"""The kind of a record that is not part of the conversation."""
MAX_TOKENS: Final = 10**9
"""The most tokens of an answer. A file may claim anything, and sums in the database must stay below 2**63."""
MAX_TOTAL: Final = 10**12
MAX_DOLLARS: Final = 10**6
"""The highest cost in a client's totals."""
MAX_MILLISECONDS: Final = 253_370_764_800_000
"""The start of the year 9999."""
MAX_MODEL: Final = 300
"""The longest name of a model."""


class FileFlags:
    """The features seen in a file so far."""

    __slots__ = ("diff", "image", "thinking")

    def __init__(self) -> None:
        self.image = self.thinking = self.diff = False


def add_record(
    batch: Batch, flags: FileFlags, file: int, number: int, start: int, length: int, record: Record, row: Row | None
) -> list[Passage]:
    """Add a record with its passages to a batch, unless it is not a row and has no text; return its passages."""
    passages = [passage for passage in passages_of(record, row.kind if row else None) if _has_text(passage)]
    if row is None and not passages:
        if isinstance(record, CostState):
            batch.client_totals += _client_totals(record, file, number)
        return passages
    name = len(batch.records)
    if row is None:
        columns = RecordColumns(
            name, file, number, start, length, None, None, OUTSIDE, microseconds(usual_time(record.timestamp)),
            False, None, None, None, None, None,
        )  # fmt: skip
    else:
        origin = row.forked_from
        parent = ROW_BEFORE if batch.last_row == (file, row.parent) else row.parent or None
        batch.last_row = (file, row.uuid)
        columns = RecordColumns(
            name, file, number, start, length, row.uuid, parent, str(row.kind), microseconds(row.when),
            row.is_sidechain, row.message_id, row.model, row.text or None,
            origin.session_id if origin else None, origin.message_uuid if origin else None,
        )  # fmt: skip
        if isinstance(record, Assistant) and record.message and row.usage is not None:
            key = row.message_id or row.uuid
            batch.usage.append(_usage(name, key, record.message, row.usage, record, is_agent=row.is_sidechain))
    batch.records.append(columns)
    calls = iter(row.calls) if row else iter(())
    pictures = pictured(record, passages)
    flags.image |= bool(pictures)
    for passage in passages:
        block = len(batch.blocks)
        source = passage.source
        if isinstance(source, ToolUse):
            batch.blocks.append(_call(block, name, passage.number, source, next(calls, None), flags))
        elif isinstance(source, (ToolResult, WebSearchResult)):
            result = _result(block, name, passage.number, source, record)
            batch.blocks.append(result._replace(has_image=True) if passage.number in pictures else result)
        else:
            state = CallState.ERROR if row is not None and row.kind is RowKind.API_ERROR else None
            size = len(source) if isinstance(source, str) else _length(source)
            text = BlockColumns(block, name, passage.number, passage.role, state=state, size=size)
            batch.blocks.append(text._replace(has_image=True) if passage.number in pictures else text)
            flags.thinking |= passage.role is Role.THINKING
    return passages


def _client_totals(record: CostState, file: int, number: int) -> list[ClientTotalColumns]:
    began = record.start_time
    if began is None or not 0 < began < MAX_MILLISECONDS:
        return []
    columns = []
    for model, total in record.totals.items():
        counts = (
            total.input_tokens, total.output_tokens, total.cache_creation_input_tokens, total.cache_read_input_tokens,
            total.ephemeral_5m, total.ephemeral_1h, total.web_search_requests,
        )  # fmt: skip
        if len(model) <= MAX_MODEL and all(0 <= count <= MAX_TOTAL for count in counts):
            cost = int(total.cost_usd * 1e9 + 0.5) if 0 <= total.cost_usd <= MAX_DOLLARS else 0
            columns.append(ClientTotalColumns(file, number, int(began) * 1000, model, *counts, cost))
    return columns


def _call(
    block: int, record: int, number: int, source: ToolUse, call: RowCall | None, flags: FileFlags
) -> BlockColumns:
    touched = call.file if call else None
    flags.diff |= touched is not None
    if touched is None and source.name in READING_TOOLS:
        touched = file_of_call(source)
    detail = detail_of(call) if call else None
    digest = zlib.crc32(source.input)
    return BlockColumns(
        block, record, number, Role.INPUT, source.id, source.name, touched, detail, None, len(source.input), digest
    )


def _result(block: int, record: int, number: int, source: ToolResult | WebSearchResult, found: Record) -> BlockColumns:
    if isinstance(source, ToolResult):
        state, size = state_of(source, found), _size(source)
        detail = signature_of(text_of_block(source)) if state is CallState.ERROR else None
    else:
        state, size, detail = CallState.DONE, len(source.content), None
    return BlockColumns(block, record, number, Role.OUTPUT, source.tool_use_id, None, None, detail, state, size)


def _length(source: object) -> int | None:
    if isinstance(source, Text):
        return len(source.text)
    return len(source.thinking) if isinstance(source, Thinking) else None


def _has_text(passage: Passage) -> bool:
    source = passage.source
    if isinstance(source, Text):
        return bool(source.text) and not source.text.isspace()
    return True


def _size(block: ToolResult) -> int:
    if isinstance(block.content, str):
        return len(block.content)
    return sum(len(part.text) for part in block.content if isinstance(part, Text))


def _usage(
    name: int,
    key: str,
    message: AssistantMessage,
    usage: Usage,
    record: Assistant,
    *,
    is_agent: bool,
) -> UsageColumns:
    written, counts = usage.cache_creation, usage.server_tool_use
    return UsageColumns(
        name,
        key,
        message.model,
        is_agent,
        _count(usage.input_tokens),
        _count(usage.output_tokens),
        _count(usage.cache_creation_input_tokens),
        _count(usage.cache_read_input_tokens),
        _count(written.ephemeral_5m_input_tokens) if written else 0,
        _count(written.ephemeral_1h_input_tokens) if written else 0,
        _count(counts.web_search_requests) if counts else 0,
        _count(counts.web_fetch_requests) if counts else 0,
        usage.service_tier,
        usage.speed,
        usage.inference_geo,
        message.stop_reason is not None,
        record.cost_usd,
        record.version,
        record.git_branch,
    )


def _count(tokens: int) -> int:
    """Return a valid number of tokens; 0 for anything else, which would spoil every sum."""
    return tokens if 0 <= tokens <= MAX_TOKENS else 0


def add_spilled(batch: Batch, file: int, start: int, length: int, time: int, call: str) -> None:
    """Add a piece of a spilled tool result to a batch."""
    name = len(batch.records)
    batch.records.append(
        RecordColumns(name, file, start, start, length, None, None, OUTSIDE, time, False, None, None, None, None, None)
    )
    batch.blocks.append(BlockColumns(len(batch.blocks), name, 0, Role.OUTPUT, call, None, None, None, None, length))


def change_of(chat: Chat, numbers: Mapping[str, int]) -> ChatChange:
    """Return the current state of a chat; `numbers` are the ids of files by path."""
    return ChatChange(
        overview_of(chat),
        [numbers[transcript.place.file] for transcript in chat.transcripts],
        _abandoned(chat, numbers),
        _originals(chat, numbers),
        is_silent=not _says_something(chat),
    )


def _abandoned(chat: Chat, numbers: Mapping[str, int]) -> set[tuple[int, int]]:
    """Return the rows of the turns that the user took back: no session continues from them."""
    if len(chat.branches) < 2:
        return set()
    ends = (chat.leaf_of(session) for session in chat.leaves)
    kept = {turn for end in ends if end for turn in end.path()}
    return {
        (numbers[copy.transcript], copy.position)
        for branch in chat.branches[1:]
        for turn in branch.turns
        if turn not in kept
        for node in turn.nodes
        for copy in node.copies
    }


def _originals(chat: Chat, numbers: Mapping[str, int]) -> dict[tuple[int, int], str]:
    """Return the rows that are copies under another uuid, with their originals."""
    if not chat.tree.has_copies:
        return {}
    return {
        (numbers[copy.transcript], copy.position): node.row.uuid
        for node in chat.tree.nodes.values()
        for copy in node.copies
        if copy.uuid != node.row.uuid
    }


def _says_something(chat: Chat) -> bool:
    return bool(chat.messages or chat.shown_agents)


def title_of(record: Record) -> tuple[str, str] | None:
    """Return the row that a record gives a title to, and the title."""
    if isinstance(record, Summary) and record.leaf_uuid and record.summary:
        return record.leaf_uuid, record.summary
    return None
