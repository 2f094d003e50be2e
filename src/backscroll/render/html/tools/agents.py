"""Tools that start a sub-agent."""

import re
from typing import Any, Final

from backscroll.records.content import Text
from backscroll.records.tools import agent_call, agent_result
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.plain import first_line
from backscroll.render.html.prose import prose
from backscroll.render.html.tools.call_view import CallReader, CallView, label
from backscroll.render.reports import short
from backscroll.render.terminal import plural


def agent(called: CallReader) -> CallView:
    """Task, Agent: what a sub-agent was told, what it answered, and the way to all that it said."""
    asked = agent_call(called.call.block)
    found = called.view.agents.get(called.call.id)
    told = agent_result(called.call.result.details) if called.call.result else None
    # A result may name an agent whose file is gone: then there is nothing to be opened.
    name = found.id if found else (told.agent_id if told and told.agent_id in called.view.inline else None)
    kind = (found.type if found else None) or asked.subagent_type or "agent"
    is_async = called.fields.get("isAsync") is True
    answer = "" if called.has_failed or is_async else _answer(called)
    facts = [kind, *_totals(called), *(["in the background"] if is_async else [])]
    task = (
        el("details", el("summary", "What it was told"), prose(asked.prompt), class_="agent-task")
        if asked.prompt
        else NOTHING
    )
    parts = [
        task,
        label("its answer", called.prose(answer)) if answer else NOTHING,
        _conversation(called, name, len(found.calls) if found else 0) if name else NOTHING,
    ]
    return CallView(parts=parts, facts=" · ".join(facts), words=first_line(asked.description or called.about))


def _answer(called: CallReader) -> str:
    texts = [block.text for block in called.result_blocks if isinstance(block, Text)]
    texts = texts or [called.output]
    return "\n\n".join(text for text in texts if text.strip() and not BOOKKEEPING.match(text.strip()))


def _totals(called: CallReader) -> list[str]:
    calls, tokens = (_number(called.fields.get(name)) for name in ("totalToolUseCount", "totalTokens"))
    told = (plural(round(calls), "call") if calls else "", f"{short(tokens)} tokens" if tokens else "")
    return [word for word in told if word]


def _number(value: Any) -> float:  # noqa: ANN401 - whatever JSON holds
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MOST else 0


def _conversation(called: CallReader, name: str, calls: int) -> Html:
    links = called.view.links
    page, source, here = links.agent(name), links.agent_messages(name), called.view.inline.get(name)
    way = el("a", "Open as a page", href=page, class_="agent-page") if page else NOTHING
    if here is None and source is None:
        return el("p", way, class_="agent-way") if page else NOTHING
    count = el("span", f" · {plural(calls, 'call')}", class_="muted") if calls else NOTHING
    summary = el("summary", "What it said and did", count)
    inside = el("div", here if here is not None else NOTHING, class_="agent-messages", data_agent=name)
    return el("details", summary, el("p", way, class_="agent-way"), inside, class_="agent-talk",
              data_src=source if here is None else None)  # fmt: skip


MOST: Final = 1e15
BOOKKEEPING: Final = re.compile(r"agentId: \S+")
