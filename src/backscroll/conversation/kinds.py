"""Classify the rows of a conversation: a prompt, an answer, a command's output, an interruption …

The client writes many things in the user's name. Only this module distinguishes them; their names in the files are in
`records`.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from backscroll.records.content import Content, Text, ToolResult
from backscroll.records.kinds import Assistant, Attachment, ChainRecord, ProgressRecord, System, User


class RowKind(StrEnum):
    """The kind of a row, from a reader's point of view."""

    PROMPT = "prompt"
    QUEUED = "queued"
    """A prompt that was typed while the model was working."""
    COMMAND = "command"
    COMMAND_OUTPUT = "command-output"
    SHELL = "shell"
    SHELL_OUTPUT = "shell-output"
    ANSWER = "answer"
    TOOL_RESULT = "tool-result"
    INTERRUPTION = "interruption"
    HOOK = "hook"
    NOTIFICATION = "notification"
    API_ERROR = "api-error"
    COMPACTION = "compaction"
    MICROCOMPACTION = "microcompaction"
    COMPACT_SUMMARY = "compact-summary"
    META = "meta"
    """Text that the client added for the model."""
    NOTE = "note"
    """An event that the client recorded."""
    ATTACHMENT = "attachment"
    CLIENT_TEXT = "client-text"
    """The client's own text, such as its system prompt and the skills it offers: kept, but not conversation."""
    PROGRESS = "progress"
    UNKNOWN = "unknown"


HUMAN: Final = frozenset({RowKind.PROMPT, RowKind.QUEUED})
"""The kinds that the user typed for the model."""
TURNS: Final = frozenset({RowKind.PROMPT, RowKind.COMMAND, RowKind.SHELL})
"""The kinds that start a turn."""
PROMPTS: Final = TURNS | {RowKind.QUEUED}
"""The kinds that count as prompts: everything a person typed. Text typed beside a tool result counts, too."""
SILENT: Final = frozenset({RowKind.PROGRESS, RowKind.CLIENT_TEXT})
"""Rows of the chain without content for a reader."""


def kind_of(record: ChainRecord) -> RowKind:
    """Return the kind of a row."""
    if isinstance(record, Assistant):
        return RowKind.API_ERROR if record.is_api_error_message else RowKind.ANSWER
    if isinstance(record, User):
        return _kind_of_user(record)
    if isinstance(record, ProgressRecord):
        return RowKind.PROGRESS
    if isinstance(record, System):
        return _kind_of_system(record)
    if isinstance(record, Attachment):
        return _kind_of_attachment(record)
    return RowKind.UNKNOWN


def typed_text(content: Content) -> str:
    """Return the part of a row's content that the user can have typed: its text, without the client's additions."""
    if isinstance(content, str):
        return content if content[:1] != "<" else without_around(content)
    texts = (without_around(block.text) for block in content if isinstance(block, Text))
    return "\n".join(text for text in texts if text.strip())


def without_around(text: str) -> str:
    """Return the text without the client's additions, which are in its own tags."""
    if "<" not in text:
        return text
    pieces, at = [], 0
    for opening, end in _closed(AROUND, text):
        pieces.append(text[at : opening.start()].rstrip())
        at = end + len(opening[1]) + 3
        while at < len(text) and text[at].isspace():
            at += 1
    return "".join([*pieces, text[at:]]) if pieces else text


def _closed(openings: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield the opening tags that are closed, and the start of the closing tag, in one pass; none inside another."""
    at, unclosed = 0, set()
    for opening in openings.finditer(text):
        tag = opening[1]
        if opening.start() < at or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", opening.end())
        if end < 0:
            unclosed.add(tag)
            continue
        at = end + len(tag) + 3
        yield opening, end


def command_of(text: str) -> str | None:
    """Return `/name arguments` if the text is a slash command as the client writes it."""
    name = _inside(text, "command-name")
    if name is None:
        return None
    command = name.strip() or "?"
    command = command if command.startswith("/") else f"/{command}"
    return f"{command} {(_inside(text, 'command-args') or '').strip()}".strip()


def plain_title(text: str) -> str:
    """Return a title without the client's tags: a slash command as it was typed."""
    if "<" not in text:
        return text
    if kind_of_text(text) is RowKind.COMMAND:
        return command_of(text) or inside_tags(text)
    return COMMAND_PART.sub(r"\2", without_around(text)).strip()


def _inside(text: str, tag: str) -> str | None:
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start) if start >= 0 else -1
    return text[start + len(tag) + 2 : end] if end >= 0 else None


def inside_tags(text: str) -> str:
    """Return the text without the tags around its parts, such as a command's output or a message of another session."""
    if kind_of_text(text) is RowKind.NOTIFICATION:
        sent = [text[opening.end() : end].strip() for opening, end in _closed(SENT, text)]
        return "\n\n".join(sent) if sent else TAG.sub("", text).strip()
    return OWN_TAG.sub("", text).strip()


def sender_of(text: str) -> str | None:
    """Return the teammate or session that sent a message, if the text is such a message."""
    match = SENDER.search(text[:LONGEST_OPENING])
    return match[1] if match else None


def summary_of(text: str) -> str | None:
    """Return the summary in a notification, if it has one."""
    return (_inside(text, "summary") or "").strip() or None


def _kind_of_user(record: User) -> RowKind:
    content = record.message.content if record.message else ""
    if not isinstance(content, str) and any(isinstance(block, ToolResult) for block in content):
        return RowKind.TOOL_RESULT
    if record.is_compact_summary:
        return RowKind.COMPACT_SUMMARY
    origin = record.origin.kind if record.origin else None
    if origin is not None and origin != "human":
        return RowKind.NOTIFICATION
    text = typed_text(content).lstrip()
    kind = kind_of_text(text)
    if kind is not RowKind.PROMPT:
        return kind
    if record.is_meta:
        return RowKind.HOOK if HOOK_FEEDBACK.match(text) else RowKind.META
    if not text and (isinstance(content, str) or all(isinstance(block, Text) for block in content)):
        return RowKind.META  # only the client's additions around a prompt that is missing
    if COMPACT_SUMMARY.match(text):  # 1.0.98 to 1.0.120 often do not mark it
        return RowKind.COMPACT_SUMMARY
    return RowKind.PROMPT


def kind_of_text(text: str) -> RowKind:
    """Return the kind of a text, from its beginning: a prompt, unless it has a form that only the client writes."""
    text = text.lstrip()
    first = text[:1]
    if first == "[" and text.startswith("[Request interrupted"):
        return RowKind.INTERRUPTION
    if first == "<" and (tag := OPENING.match(text)):
        return TAGS.get(tag[1], RowKind.META if tag[1] in CLIENT_TAGS else RowKind.PROMPT)
    if first == "A" and FROM_SESSION.match(text):
        return RowKind.NOTIFICATION
    return RowKind.PROMPT


def _kind_of_system(record: System) -> RowKind:
    if record.subtype == "local_command":
        kind = kind_of_text((record.content or "").lstrip())
        return kind if kind is not RowKind.PROMPT else RowKind.COMMAND_OUTPUT
    return SUBTYPES.get(record.subtype or "", RowKind.NOTE)


def _kind_of_attachment(record: Attachment) -> RowKind:
    body = record.attachment
    name = (body.type if body else None) or ""
    if name == "queued_command":
        text = typed_text(body.prompt) if body and body.prompt else ""
        kind = kind_of_text(text.lstrip())
        if kind is not RowKind.PROMPT:
            return kind
        origin = body.origin.kind if body and body.origin else None
        is_human = origin in (None, "human") and (body is None or body.command_mode in (None, "prompt"))
        return RowKind.QUEUED if is_human else RowKind.NOTIFICATION
    if name in CLIENT_TEXTS:
        return RowKind.CLIENT_TEXT
    return RowKind.HOOK if name.startswith("hook_") else RowKind.ATTACHMENT


TAGS: Final = {
    "command-name": RowKind.COMMAND,
    "command-message": RowKind.COMMAND,
    "command-args": RowKind.COMMAND,
    "local-command-stdout": RowKind.COMMAND_OUTPUT,
    "local-command-stderr": RowKind.COMMAND_OUTPUT,
    "local-command-caveat": RowKind.META,
    "bash-input": RowKind.SHELL,
    "bash-stdout": RowKind.SHELL_OUTPUT,
    "bash-stderr": RowKind.SHELL_OUTPUT,
    "task-notification": RowKind.NOTIFICATION,
    "bash-notification": RowKind.NOTIFICATION,
    "agent-notification": RowKind.NOTIFICATION,
    "teammate-message": RowKind.NOTIFICATION,
    "cross-session-message": RowKind.NOTIFICATION,
    "agent-message": RowKind.NOTIFICATION,
    "channel": RowKind.NOTIFICATION,
    "user-prompt-submit-hook": RowKind.HOOK,
    "session-start-hook": RowKind.HOOK,
}
CLIENT_TAGS: Final = frozenset({
    "system-reminder", "ide_opened_file", "ide_selection", "persisted-output", "fork-boilerplate",
})  # fmt: skip
CLIENT_TEXTS: Final = frozenset({
    "prompt_snapshot", "skill_listing", "agent_listing_delta", "deferred_tools_delta", "environment", "session_context",
    "remote_session_change",
})  # fmt: skip
"""Attachments that repeat the client's offers and instructions to the model, in every session and for every agent."""
SUBTYPES: Final = {
    "compact_boundary": RowKind.COMPACTION,
    "microcompact_boundary": RowKind.MICROCOMPACTION,
    "api_error": RowKind.API_ERROR,
    "stop_hook_summary": RowKind.HOOK,
    "voice_call_talk": RowKind.PROMPT,
}
OPENING: Final = re.compile(r"<([a-z][a-z_-]*)")
# The beginning of a message from a teammate or another session: nothing else in its row says so.
FROM_SESSION: Final = re.compile(r"A(?:nother Claude| peer) session sent a message[^\n:]{0,80}:\s*<")
SENT: Final = re.compile(r"<(teammate-message|cross-session-message|agent-message)\b[^<>]*>")
SENDER: Final = re.compile(
    r"<(?:teammate-message|cross-session-message|agent-message)\b[^<>]*?\b(?:teammate_id|from)=\"([^\"]{1,80})\""
)
LONGEST_OPENING: Final = 1000
"""Characters of a text that are searched for the name of its sender."""
TAG: Final = re.compile(r"</?[a-z][a-z_-]*>")
COMMAND_PART: Final = re.compile(r"<(command-(?:name|message|args))>([^<]*)</\1>")
OWN_TAG: Final = re.compile(rf"</?(?:{'|'.join(TAGS)})>")
# Tags of the client's additions to a prompt, in the same text or in a block of its own.
AROUND: Final = re.compile(r"<(system-reminder|ide_opened_file|ide_selection|fork-boilerplate)>")
COMPACT_SUMMARY: Final = re.compile(r"This session is being continued from a previous conversation")
HOOK_FEEDBACK: Final = re.compile(r"\w+ hook (?:feedback|blocking error)")
