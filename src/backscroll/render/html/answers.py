"""Answers of the model: text, thinking and tool calls."""

from collections.abc import Iterator
from typing import Final

from backscroll.conversation.messages import Message, ToolCall
from backscroll.conversation.usage import SYNTHETIC
from backscroll.records.content import (
    Block,
    Document,
    Image,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
    WebSearchResult,
)
from backscroll.records.decode import readable_value
from backscroll.records.kinds import Assistant
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.icons import icon
from backscroll.render.html.page_data import Detail, View
from backscroll.render.html.pictures import document_note, picture
from backscroll.render.html.plain import json_html, one_line, truncate, typed_text
from backscroll.render.html.prose import prose
from backscroll.render.html.tools import call_section, denial_reason

MAX_LINES: Final = 5000
MAX_CHARACTERS: Final = 200_000
"""Most characters of an answer shown: no real answer is longer, but a file may claim one, and the page must stay
readable."""


def answer_parts(message: Message, view: View) -> Iterator[Html]:
    """Yield everything in an answer, in its order."""
    for block in message.blocks:
        yield from _part(block, message, view)
    yield from _how_it_ended(message)


def answer_detail(message: Message) -> Detail:
    """Return the level from which on an answer is shown: as soon as one of its parts is."""
    if any(isinstance(block, Text) and block.text.strip() for block in message.blocks):
        return "talk"
    is_thought = all(_is_empty(block) for block in message.blocks)
    if any(denial_reason(call) for call in message.calls.values()):
        return "talk"
    return "everything" if is_thought and not _ended_oddly(message) else "normal"


def _part(block: Block, message: Message, view: View) -> Iterator[Html]:
    if isinstance(block, Text):
        if block.text.strip():
            excerpt, lines = (block.text, 0) if view.whole else truncate(block.text, MAX_LINES, MAX_CHARACTERS)
            more = el("p", f"… {lines:,} lines; see the raw row", class_="muted") if lines else NOTHING
            yield el("div", prose(excerpt), more, class_="part text", data_detail="talk")
    elif isinstance(block, Thinking):
        yield _thinking(block.thinking)
    elif isinstance(block, RedactedThinking):
        yield _thinking("")
    elif isinstance(block, ToolUse):
        if (block.id or "") in message.calls:
            call = message.calls[block.id or ""]
            if call.block is not block:
                call = ToolCall(block, None, call.state)  # an id that was given twice: its result is shown once
            yield call_section(call, message, view)
            words = denial_reason(call)
            if words:
                who = el("p", "You, rejecting it", class_="part-label")
                yield el("div", who, typed_text(words), class_="part said", data_detail="talk")
    elif isinstance(block, WebSearchResult):
        if (block.tool_use_id or "") not in message.calls:
            yield _odd("search result", json_html(readable_value(block.content), view.whole))
    elif isinstance(block, Image):
        yield _image(block, message, view)
    elif isinstance(block, Document):
        yield document_note(block)
    elif isinstance(block, UnknownBlock):
        yield _odd(block.name, json_html(block.fields, view.whole))
    elif not isinstance(block, ToolResult):
        yield _odd(str(block.__struct_config__.tag), json_html(None))


def _thinking(text: str) -> Html:
    if not text.strip():
        return el("p", "Thinking (not recorded)", class_="part thinking empty", data_detail="everything")
    begin = el("span", one_line(text), class_="thinking-begin")
    summary = el("summary", icon("thought"), el("span", "Thinking", class_="part-name"), " ", begin)
    return el("details", summary, prose(text), class_="part thinking", data_detail="normal")


def _image(block: Image, message: Message, view: View) -> Html:
    row, number = message.picture_positions.get(id(block), (message.rows[0], 0))
    return picture(block, row.uuid, number, view)


def _odd(name: str, shown: Html) -> Html:
    summary = el("summary", "Unknown block ", el("code", name))
    return el("details", summary, shown, class_="part odd", data_detail="everything")


def _how_it_ended(message: Message) -> Iterator[Html]:
    ending = _ended_oddly(message)
    if ending:
        yield el("p", ending, class_="part aside", data_detail="normal")


def _ended_oddly(message: Message) -> str:
    reason = message.stop_reason
    if any(isinstance(row.record, Assistant) and row.record.is_aborted_mid_stream for row in message.rows):
        return "The answer is incomplete."
    if message.model == SYNTHETIC or reason in (None, *USUAL):
        return ""
    return STOPS.get(reason or "", f"The answer stopped: {reason}.")


def _is_empty(block: Block) -> bool:
    return isinstance(block, RedactedThinking) or (isinstance(block, Thinking) and not block.thinking.strip())


USUAL: Final = ("end_turn", "tool_use", "stop_sequence")
STOPS: Final = {
    "max_tokens": "The answer stopped at its maximum length.",
    "refusal": "The model refused to continue.",
    "pause_turn": "The answer paused.",
    "model_context_window_exceeded": "The answer stopped because the context window was full.",
}
