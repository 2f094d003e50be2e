"""Actions and notes of the client, one line each: compactions, hooks, notifications, errors."""

import re
from typing import Any, Final, NamedTuple

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import Message
from backscroll.conversation.rows import error_name
from backscroll.records.decode import fields_of, value_of
from backscroll.records.kinds import Attachment, ChainRecord, System, User, type_of
from backscroll.render.html.ansi import terminal_html
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.page_data import Detail, View
from backscroll.render.html.plain import first_line, json_html, readable, truncate
from backscroll.render.html.prose import prose
from backscroll.render.reports import duration, short


class Aside(NamedTuple):
    """A line, and its collapsed details."""

    line: Html | str
    folded: Html = NOTHING
    detail: Detail = "everything"
    tone: str = ""


def aside_of(message: Message, view: View) -> Aside:
    """Return the line for a message that is neither prompt nor answer."""
    record = message.rows[0].record
    kind = message.kind
    if kind is RowKind.INTERRUPTION:
        return Aside("Interrupted by the user", detail="normal", tone="warn")
    if kind in (RowKind.COMPACTION, RowKind.MICROCOMPACTION) and isinstance(record, System):
        return _compaction(record)
    if kind is RowKind.COMPACT_SUMMARY:
        line = f"Summary of the conversation so far ({len(message.text):,} characters)"
        return Aside(line, _cut(message.text, view, prose), "normal")
    if kind is RowKind.NOTIFICATION:
        return _notification(message, view)
    if kind is RowKind.API_ERROR and isinstance(record, System):
        return _api_errors([(row.uuid, row.record) for row in message.rows if isinstance(row.record, System)], view)
    if kind is RowKind.HOOK:
        return _hook(message, record, view)
    if isinstance(record, System):
        return _note(message, record, view)
    if isinstance(record, Attachment):
        name = (record.attachment.type if record.attachment else None) or "attachment"
        details = (
            _cut(message.text, view) if message.text else json_html(fields_of(record).get("attachment"), view.whole)
        )
        return Aside(join(["Attached for the model: ", el("code", name), _hint(message.text)]), details)
    if kind is RowKind.META or isinstance(record, User):
        text = message.text if message.text.strip() else _raw_text(record)
        return Aside(join(["Message from Claude Code to the model", _hint(text)]), _cut(text, view))
    name = type_of(record) if record is not None else "record"
    details = json_html(fields_of(record), view.whole) if record is not None else NOTHING
    return Aside(join(["Unknown record ", el("code", name or "no type")]), details)


def _compaction(record: System) -> Aside:
    metadata = record.compact_metadata
    small = value_of(record.microcompact_metadata)
    if metadata is None and isinstance(small, dict):
        had, saved = _number(small.get("preTokens")), _number(small.get("tokensSaved"))
        sizes = [f"{short(had)} tokens before" if had else "", f"{short(saved)} saved" if saved else ""]
        return Aside(_dotted("Old tool results were removed from the context", *sizes), detail="normal", tone="divider")
    trigger = {"auto": "automatic", "manual": "/compact"}.get((metadata.trigger if metadata else None) or "", "")
    before, after = (metadata.pre_tokens, metadata.post_tokens) if metadata else (None, None)
    tokens = f"{before:,} → {after:,} tokens" if before and after else f"{before:,} tokens before" if before else ""
    count = metadata.messages_summarized if metadata else None
    summed = f"{count:,} messages summarised" if count else ""
    return Aside(_dotted("Compacted", trigger, tokens, summed), detail="normal", tone="divider")


def _notification(message: Message, view: View) -> Aside:
    text = _raw_text(message.rows[0].record) or message.text
    fields = {name: _tagged(text, name) for name in ("status", "result")}
    name = f"From {message.sender}" if message.sender else "Notification"
    about = message.notice or first_line(TAG.sub("", message.text or text))
    status = fields["status"]
    result = fields["result"] or (message.text if message.sender else TAG.sub("", text).strip())
    tail = status if status and status not in about else ""
    return Aside(join([icon("bell"), el("span", name, class_="aside-name"), " ", about, f" · {tail}" if tail else ""]),
                 _cut(result, view, prose) if len(result) > len(about) else NOTHING, "normal")  # fmt: skip


def raw_link(address: str, number: int = 1) -> Html:
    """Return a link to a row of a message as it was written."""
    return el("a", f"{number}" if number > 1 else "raw", href=address, data_raw=True, title=f"Raw row {number}")


def _api_errors(rows: list[tuple[str, System]], view: View) -> Aside:
    """Return the line for one attempt, or several in a row: then each is in the details."""
    title = join([icon("warning"), el("span", "API error", class_="aside-name")])
    if len(rows) == 1:
        error = value_of(rows[0][1].error)
        details = json_html(error, view.whole) if error else NOTHING
        return Aside(_dotted(title, *_attempt(rows[0][1])), details, "normal", "error")
    names = dict.fromkeys(_attempt(record)[0] for _, record in rows)
    raw = (raw_link(address) if (address := view.links.raw(uuid)) else "" for uuid, _ in rows)
    items = [el("li", _dotted(*_attempt(record), link)) for (_, record), link in zip(rows, raw, strict=True)]
    line = _dotted(title, f"{len(rows):,} attempts", *list(names)[:MAX_ERRORS])
    return Aside(line, el("ol", items, class_="plain-list"), "normal", "error")


def _attempt(record: System) -> list[str]:
    """Return the error, and the time of the next attempt."""
    attempt, most = record.retry_attempt, record.max_retries
    facts = [error_name(value_of(record.error)) or record.content or ""]
    if attempt:
        facts.append(f"attempt {attempt:.0f}{f' of {most:.0f}' if most else ''}")
    if record.retry_in_ms:
        facts.append(f"retry after {duration(record.retry_in_ms / 1000)}")
    return facts


def _hook(message: Message, record: ChainRecord | None, view: View) -> Aside:
    if isinstance(record, System):
        return _hooks(record, view)
    if not isinstance(record, Attachment):
        is_blocking = message.text.lstrip().startswith(("Stop hook", "PreToolUse", "PostToolUse"))
        line = join(["Hook", _hint(message.text)])
        return Aside(line, _cut(message.text, view, terminal_html), "normal" if is_blocking else "everything")
    body = fields_of(record).get("attachment")
    body = body if isinstance(body, dict) else {}
    kind = str(body.get("type") or "hook")
    name = str(body.get("hookName") or body.get("hookEvent") or kind)
    how = kind.removeprefix("hook_").replace("_", " ")
    is_blocking = "block" in kind or "stopped" in kind
    line = join(["Hook ", el("code", name), f" · {how}", _hint(message.text)])
    details = _cut(message.text, view, terminal_html) if message.text else json_html(body, view.whole)
    return Aside(line, details, "normal" if is_blocking else "everything", "warn" if is_blocking else "")


def _hooks(record: System, view: View) -> Aside:
    """Return the line for the hooks that ran at the end of an answer."""
    infos, errors = value_of(record.hook_infos), value_of(record.hook_errors)
    commands = [str(info.get("command", "")) for info in _list(infos) if isinstance(info, dict)]
    wrong = [str(error) for error in _list(errors)]
    is_stopped = fields_of(record).get("preventedContinuation") is True
    count = record.hook_count or len(commands)
    counts = [f"{count} ran" if count else "", f"{len(wrong)} failed" if wrong else ""]
    listed = el("ul", [el("li", el("code", command)) for command in commands], class_="plain-list")
    details = join([listed if commands else NOTHING, *[_cut(error, view, terminal_html) for error in wrong]])
    line = _dotted("Hooks", *counts, "stopped the model" if is_stopped else "")
    return Aside(line, details, "normal" if is_stopped else "everything")


def _note(message: Message, record: System, view: View) -> Aside:
    name = record.subtype or "note"
    if name == "turn_duration" and record.duration_ms:
        return Aside(f"Turn duration: {duration(record.duration_ms / 1000)}")
    is_loud = name in LOUD or record.level in ("warning", "error")
    detail: Detail = "normal" if is_loud else "everything"
    text = message.text.strip()
    line = join([el("span", name.replace("_", " "), class_="aside-name"), _hint(text)])
    is_long = "\n" in text or len(text) > LONG_LINE
    return Aside(
        line, _cut(text, view) if is_long else NOTHING if text else json_html(_own_fields(record), view.whole), detail
    )


def _own_fields(record: ChainRecord) -> dict[str, Any]:
    return {name: value for name, value in fields_of(record).items() if name not in ENVELOPE}


def _raw_text(record: ChainRecord | None) -> str:
    content: Any = ""
    if isinstance(record, User) and record.message:
        content = record.message.content
    elif isinstance(record, Attachment) and record.attachment:
        content = record.attachment.prompt or ""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in content if isinstance(text := getattr(block, "text", None), str))


def _tagged(text: str, name: str) -> str:
    """Return the text in a tag."""
    begin = text.find(f"<{name}>")
    end = text.find(f"</{name}>", begin)
    return text[begin + len(name) + 2 : end].strip() if 0 <= begin < end else ""


def _cut(text: str, view: View, show: Any = readable) -> Html:  # noqa: ANN401 - any of the ways to show a text
    if not text.strip():
        return NOTHING
    excerpt, lines = (text, 0) if view.whole else truncate(text, 200, 20_000)
    more = el("p", f"{lines:,} lines; see the raw row for the rest", class_="more muted") if lines else NOTHING
    return join([show(excerpt), more])


def _hint(text: str) -> Html:
    begin = first_line(TAG.sub("", text[:2000]), LONG_LINE)
    return join([": ", el("span", begin, class_="aside-begin")]) if begin else NOTHING


def _list(value: Any) -> list[Any]:  # noqa: ANN401
    return value if isinstance(value, list) else []


def _dotted(*words: str) -> Html:
    return join([word for word in words if word], " · ")


def _number(value: Any) -> float:  # noqa: ANN401
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15 else 0


LONG_LINE: Final = 160
MAX_ERRORS: Final = 3
"""Number of different errors that the line of a run names."""
LOUD: Final = frozenset({
    "model_fallback", "model_refusal_fallback", "agents_killed", "scheduled_task_fire", "permission_retry",
    "away_summary",
})  # fmt: skip
"""Notes about the conversation itself."""
ENVELOPE: Final = frozenset({
    "uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id", "timestamp", "type", "version", "cwd",
    "userType", "gitBranch", "isSidechain", "isMeta", "slug", "entrypoint", "level",
})  # fmt: skip
TAG: Final = re.compile(r"</?[a-z][a-z_-]{0,40}(?: [^<>\n]{0,200})?>")
