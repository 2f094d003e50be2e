"""A chat cut into the parts that a reader sees, the same for every format.

This module decides which parts of each kind of message are shown, how a tool call is titled, and which lines of its
result matter. Texts are unchanged; the formats clean them.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import CallState, Message, ToolCall
from backscroll.conversation.parts import PartStart
from backscroll.records.content import Block, Document, Image, Text, Thinking, ToolResult, ToolUse, UnknownBlock
from backscroll.records.decode import readable_value
from backscroll.records.kinds import System

Tools = Literal["full", "short", "none"]
WITHOUT_SESSION: Final = "The session's own file is not there; this is what its agents were told and said."


class ChatPart(NamedTuple):
    """One thing to show: `title` is a single line, `text` is below it."""

    kind: Literal["prompt", "answer", "thinking", "tool", "diff", "output", "note", "divider"]
    text: str = ""
    title: str = ""
    state: CallState | None = None


class PartFilter(NamedTuple):
    """The kinds of parts that are shown."""

    tools: Tools = "short"
    thinking: bool = False
    everything: bool = False
    """Include what the client wrote for the model, and its internal notes."""


def parts_of(messages: Iterable[Message], choice: PartFilter) -> Iterator[ChatPart]:
    """Yield the parts of some messages, in order."""
    for message in messages:
        if message.starts_part is not None:
            yield ChatPart("divider", title=PART_STARTS[message.starts_part])
        if message.kind is RowKind.ANSWER or (message.kind is RowKind.API_ERROR and message.blocks):
            yield from _answer(message, choice)
        else:
            yield from _message_parts(message, choice)
        for other in message.conflicts:
            yield ChatPart("note", other.text, title=f"{other.machine} has another text here")


def call_title(call: ToolCall) -> str:
    """Return a call and its subject on one line: `Read(src/x.py)`."""
    value = readable_value(call.block.input)
    about = next((value[name] for name in ABOUT if value.get(name)), "") if isinstance(value, dict) else ""
    about = about if isinstance(about, str) else ""
    return f"{call.name or 'tool'}({_first_line(about)})"


def result_text(call: ToolCall) -> str:
    """Return the result for the model, as text."""
    return _content_text(call.result.block) if call.result else ""


def diff_of(call: ToolCall) -> str:
    """Return the change that a call made to a file, as a unified diff; the client writes it into the result."""
    value = readable_value(call.result.details) if call.result else None
    patch = value.get("structuredPatch") if isinstance(value, dict) else None
    lines: list[str] = []
    for hunk in patch if isinstance(patch, list) else ():
        if isinstance(hunk, dict) and isinstance(hunk.get("lines"), list):
            start, length = hunk.get("oldStart", "?"), hunk.get("oldLines", "?")
            lines.append(f"@@ -{start},{length} +{hunk.get('newStart', '?')},{hunk.get('newLines', '?')} @@")
            lines += [line for line in hunk["lines"] if isinstance(line, str)]
    return "\n".join(lines)


def _answer(message: Message, choice: PartFilter) -> Iterator[ChatPart]:
    for block in message.blocks:
        if isinstance(block, Text):
            kind: Literal["answer", "note"] = "note" if message.kind is RowKind.API_ERROR else "answer"
            if block.text.strip():
                yield ChatPart(kind, block.text)
        elif isinstance(block, Thinking):
            if choice.thinking and block.thinking.strip():
                yield ChatPart("thinking", block.thinking)
        elif isinstance(block, ToolUse):
            if choice.tools != "none" and (block.id or "") in message.calls:
                call = message.calls[block.id or ""]
                # Of an id that was given twice the result is shown once, with the last.
                yield from _call(call if call.block is block else ToolCall(block, None, call.state), choice)
        elif not isinstance(block, ToolResult):
            yield ChatPart("note", _block_name(block))


def _call(call: ToolCall, choice: PartFilter) -> Iterator[ChatPart]:
    yield ChatPart("tool", title=call_title(call), state=call.state)
    diff = diff_of(call)
    if diff:
        yield ChatPart("diff", diff)
    output = result_text(call)
    if choice.tools == "full":
        value = readable_value(call.block.input)
        if not diff and isinstance(value, dict):
            yield ChatPart(
                "output", "\n".join(f"{name}: {_plain(item)}" for name, item in value.items()), title="input"
            )
        if output and not diff:
            yield ChatPart("output", output, title="output")
    elif call.state in (CallState.ERROR, CallState.DENIED) and output:
        yield ChatPart("output", _first_line(output), title=str(call.state))


def _message_parts(message: Message, choice: PartFilter) -> Iterator[ChatPart]:
    kind, text = message.kind, message.text
    pictures = "".join(f"\n{_block_name(block)}" for block in message.blocks)
    if kind in (RowKind.PROMPT, RowKind.QUEUED, RowKind.COMMAND):
        yield ChatPart("prompt", (text + pictures).strip(), title="queued" if kind is RowKind.QUEUED else "")
    elif kind is RowKind.SHELL:
        yield ChatPart("prompt", f"! {text}")
    elif kind in (RowKind.COMMAND_OUTPUT, RowKind.SHELL_OUTPUT):
        if text.strip():
            yield ChatPart("output", text)
    elif kind is RowKind.INTERRUPTION:
        yield ChatPart("note", "interrupted by the user")
    elif kind is RowKind.COMPACTION:
        yield ChatPart("divider", title=_compaction(message))
    elif kind is RowKind.COMPACT_SUMMARY:
        yield ChatPart(
            "note",
            text if choice.everything else "",
            title=f"summary of the conversation so far ({len(text):,} characters)",
        )
    elif kind is RowKind.NOTIFICATION:
        title = f"message from {message.sender}" if message.sender else "notification"
        is_whole = choice.everything or message.sender
        yield ChatPart("note", text if is_whole else message.notice or _first_line(text), title=title)
    elif kind is RowKind.API_ERROR:
        times = f", {len(message.rows)} times" if len(message.rows) > 1 else ""
        yield ChatPart("note", text or "the API did not respond", title=f"API error{times}")
    elif choice.everything:
        yield ChatPart("note", text, title=str(kind))


def _compaction(message: Message) -> str:
    record = message.rows[0].record
    metadata = record.compact_metadata if isinstance(record, System) else None
    if metadata is None:
        return "compacted"
    tokens = [f"{count:,}" for count in (metadata.pre_tokens, metadata.post_tokens) if count is not None]
    facts = [word for word in (metadata.trigger, " → ".join(tokens) + " tokens" if tokens else "") if word]
    return f"compacted ({', '.join(facts)})" if facts else "compacted"


def _content_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(block.text if isinstance(block, Text) else _block_name(block) for block in result.content)


def _block_name(block: Block) -> str:
    if isinstance(block, Image):
        return f"[image{f' {block.source.media_type}' if block.source and block.source.media_type else ''}]"
    if isinstance(block, Document):
        return f"[document{f' {block.title}' if block.title else ''}]"
    name = block.name if isinstance(block, UnknownBlock) else str(block.__struct_config__.tag)
    return f"[{name}]"


def _plain(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    return value if isinstance(value, str) else str(value)


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    line = lines[0] if lines else ""
    return line if len(line) <= LONGEST_LINE and len(lines) < 2 else line[: LONGEST_LINE - 1] + "…"


LONGEST_LINE: Final = 100
PART_STARTS: Final = {
    PartStart.COMPACTED: "compacted",
    PartStart.CLEARED: "cleared: Claude does not know what is above",
    PartStart.PLAN_ACCEPTED: "plan accepted: Claude knows only the plan of what is above",
    PartStart.ROWS_LOST: "rows before this one are lost or damaged",
    PartStart.OTHER_SESSION: "another session of the same chat",
    PartStart.UNLINKED: "a new beginning in the same session: nothing says why",
}
"""Texts of the divider between two parts of a conversation."""
ABOUT: Final = (
    "file_path", "notebook_path", "command", "pattern", "query", "url", "description", "skill", "path", "prompt",
    "subject",
)  # fmt: skip
"""Input fields that tell best what a call is about; the first that is there is used."""
