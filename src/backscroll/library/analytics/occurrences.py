"""The passages behind numbers: failed calls and interruptions."""

from typing import Final

from backscroll.conversation.messages import CallState
from backscroll.library.analytics.calls import calls_about
from backscroll.library.analytics.moments import LeftOutRows, by_chat, local, time_of, within
from backscroll.library.analytics.reports import Report, ReportRequest, reports_about
from backscroll.library.analytics.wording import count
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.store.tool_call_rows import ToolCallRow

STATES: Final = (CallState.ERROR, CallState.DENIED, CallState.INTERRUPTED)
"""End states of a call that did not succeed."""
MAX_RESULT_LENGTH: Final = 500


def failed_calls(
    library: Library,
    asked: ReportRequest,
    *,
    tool: str = "",
    signature: str = "",
    state: str = "",
    limit: int | None = None,
) -> Report:
    """Return the calls that did not succeed, the latest first; of one tool, one error pattern, or one end state.

    Only the first `limit` have the text of their result.
    """
    reports = calls_about(library, asked)
    wanted = state or CallState.ERROR
    chats: dict[int, int] = {
        call.id: thread.chat
        for thread in reports.call_threads()
        for call in thread.steps
        if call.state == wanted
        and (not tool or call.name == tool)
        and (not signature or (call.signature or "") == signature)
    }
    known = reports.some_tool_calls(chats)
    calls = [known[number] for number in chats if number in known]
    calls.sort(key=lambda call: (call.time or 0, call.source, call.number, call.block), reverse=True)
    titles = library.titles()
    with library.texts() as texts:
        rows = [
            (
                f"{local(asked, call.time):%Y-%m-%d %H:%M}" if call.time is not None else None, call.name,
                titles.get(call.chat_id or "", ""), call.signature or "",
                _result(texts, call) if limit is None or number < limit else "",
                call.chat_id, call.result_uuid or call.uuid,
            )
            for number, call in enumerate(calls)
        ]  # fmt: skip
    facts = {"counted": len(calls), "chats": len({call.chat for call in calls})}
    notes = [f"{count(len(calls), 'call')} in {count(facts['chats'], 'chat')}, each counted once, including agents'"]
    return Report(("time", "tool", "title", "signature", "example", "chat", "message"), rows, facts, notes)


def interruptions(library: Library, asked: ReportRequest) -> Report:
    """Return the user's interruptions of Claude, the latest first, with the prompt before each."""
    inside, titles = within(asked), library.titles()
    rows = []
    for chat in by_chat(reports_about(library, asked).prompt_moments(), LeftOutRows()):
        prompt = ""
        for row in chat:
            if row.kind != "interruption":
                prompt = row.text or ""
            elif inside(time_of(row)):
                when = f"{local(asked, time_of(row)):%Y-%m-%d %H:%M}"
                rows.append((when, titles.get(row.chat_id, ""), prompt, row.chat_id, row.uuid))
    rows.sort(key=lambda row: (row[0], row[3]), reverse=True)
    facts = {"counted": len(rows), "chats": len({row[3] for row in rows})}
    notes = [f"{count(len(rows), 'interruption')} in {count(facts['chats'], 'chat')}"]
    return Report(("time", "title", "prompt", "chat", "message"), rows, facts, notes)


def _result(texts: Texts, call: ToolCallRow) -> str:
    if call.result_source is None or call.result_start is None or call.result_length is None:
        return ""
    text = texts.text(call.result_source, call.result_start, call.result_length, call.result_block or 0)
    return text[:MAX_RESULT_LENGTH]
