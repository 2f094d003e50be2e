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


def agent(reader: CallReader) -> CallView:
    """Task, Agent: a sub-agent's task and answer, and a link to its messages."""
    request = agent_call(reader.call.block)
    known = next(iter(reader.view.agents.get(reader.call.id, ())), None)
    outcome = agent_result(reader.call.result.details) if reader.call.result else None
    # A result can name an agent whose file was deleted; then there is nothing to open.
    name = known.id if known else (outcome.agent_id if outcome and outcome.agent_id in reader.view.inline else None)
    kind = (known.type if known else None) or request.subagent_type or "agent"
    is_async = reader.details.get("isAsync") is True
    answer = "" if reader.has_failed or is_async else _answer(reader)
    facts = [kind, *_totals(reader), *(["in the background"] if is_async else [])]
    task = (
        el("details", el("summary", "What it was told"), prose(request.prompt), class_="agent-task")
        if request.prompt
        else NOTHING
    )
    parts = [
        task,
        label("its answer", reader.prose(answer)) if answer else NOTHING,
        _conversation(reader, name, len(known.calls) if known else 0) if name else NOTHING,
    ]
    return CallView(parts=parts, facts=" · ".join(facts), words=first_line(request.description or reader.about))


def workflow(reader: CallReader) -> CallView:
    """Workflow: a script that starts agents, with each of them."""
    started = reader.view.agents.get(reader.call.id, ())
    outcome = agent_result(reader.call.result.details) if reader.call.result else None
    name = (outcome.workflow_name if outcome else None) or ""
    script = reader.input_text("script")
    parts = [
        el("details", el("summary", "Its script"), el("pre", script), class_="agent-task") if script else NOTHING,
        *[
            label(agent_run.description or agent_run.id, _conversation(reader, agent_run.id, len(agent_run.calls)))
            for agent_run in started
        ],
        reader.prose(reader.output) if reader.output else NOTHING,
    ]
    return CallView(parts=parts, facts=plural(len(started), "agent") if started else "", words=name or reader.about)


def _answer(reader: CallReader) -> str:
    texts = [block.text for block in reader.result_blocks if isinstance(block, Text)]
    texts = texts or [reader.output]
    return "\n\n".join(text for text in texts if text.strip() and not BOOKKEEPING.match(text.strip()))


def _totals(reader: CallReader) -> list[str]:
    calls, tokens = (_number(reader.details.get(name)) for name in ("totalToolUseCount", "totalTokens"))
    sizes = (plural(round(calls), "call") if calls else "", f"{short(tokens)} tokens" if tokens else "")
    return [word for word in sizes if word]


def _number(value: Any) -> float:  # noqa: ANN401 - whatever JSON holds
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MAX_NUMBER else 0


def _conversation(reader: CallReader, name: str, calls: int) -> Html:
    links = reader.view.links
    page, source, here = links.agent(name), links.agent_messages(name), reader.view.inline.get(name)
    way = el("a", "Open as a page", href=page, class_="agent-page") if page else NOTHING
    if here is None and source is None:
        return el("p", way, class_="agent-way") if page else NOTHING
    count = el("span", f" · {plural(calls, 'call')}", class_="muted") if calls else NOTHING
    summary = el("summary", "What it said and did", count)
    inside = el("div", here if here is not None else NOTHING, class_="agent-messages", data_agent=name)
    return el("details", summary, el("p", way, class_="agent-way"), inside, class_="agent-talk",
              data_src=source if here is None else None)  # fmt: skip


MAX_NUMBER: Final = 1e15
BOOKKEEPING: Final = re.compile(r"agentId: \S+")
