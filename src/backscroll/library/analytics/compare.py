"""Two sides compared: projects, models, months, or whatever a query or a period selects."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from backscroll.conversation.messages import CallState
from backscroll.conversation.usage import BOUNDED, SYNTHETIC
from backscroll.library.analytics.calls import calls_about
from backscroll.library.analytics.moments import SECOND
from backscroll.library.analytics.prompts import count_prompts
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, reports_about, share
from backscroll.library.analytics.time import measure
from backscroll.library.analytics.tools import ToolTotals
from backscroll.library.analytics.usage import UsageTotals, chats_with_answers
from backscroll.library.library import Library
from backscroll.pricing.money import microdollars
from backscroll.query.parse import parse
from backscroll.query.times import parse_moment, parse_period
from backscroll.query.tree import All, Field, Part, Query


def compare(library: Library, asked: ReportRequest, first: str, second: str, now: datetime) -> Report:
    """Return the measures of two sides, with their differences."""
    sides = [side(asked, text, now) for text in (first, second)]
    measures = [_measures(library, request) for request in sides]
    is_bound = any(values["answers_without_final_output"] for values in measures)
    rows = []
    for name, value in measures[0].items():
        other = measures[1][name]
        # Lower bounds have no meaningful difference or share.
        known = (None, None) if is_bound and name in BOUNDED else (_difference(value, other), _change(value, other))
        rows.append((name, value, other, *known))
    facts = {"sides": [_request_as_json(text, request) for text, request in zip((first, second), sides, strict=True)]}
    notes = ["each answer and prompt is counted once; a query selects whole chats"]
    if any(model_of(request.query) for request in sides):
        notes.append("by model: answers, costs and time are of that model only; prompts and calls are of whole chats")
    unpriced = [values["answers_without_price"] for values in measures]
    if any(unpriced):
        notes.append(f"answers without a known price: {unpriced[0]:,} and {unpriced[1]:,}; their cost is not included")
    if is_bound:
        counts = " and ".join(f"{values['answers_without_final_output']:,}" for values in measures)
        notes.append(
            f"answers without a final output count: {counts}; output and cost are lower bounds (≥), not compared"
        )
    return Report(("measure", "first", "second", "difference", "change_share"), rows, facts, notes)


def side(asked: ReportRequest, text: str, now: datetime) -> ReportRequest:
    """Return the request for one side: a period (`2026`, `2026-01`, `2026-W05`, `last week`, `A..B`) or a query."""
    period = period_of(text.strip(), now)
    if period is None:
        return replace(asked, query=parse(text, now))
    since, until = period
    since = max(since, asked.since) if asked.since and since else since or asked.since
    until = min(until, asked.until) if asked.until and until else until or asked.until
    return replace(asked, since=since, until=until)


def period_of(text: str, now: datetime) -> tuple[datetime | None, datetime | None] | None:
    """Return the start and end if the text is a period; its days are in the time zone of `now`."""
    if ".." in text and ":" not in text.split("..")[0][:8]:
        start, _, end = text.partition("..")
        return (
            parse_moment(start, now) if start else None,
            parse_moment(end, now, end=True) if end else None,
        )
    try:
        return parse_period(text, now)
    except (ValueError, OverflowError):
        return None


def model_of(query: Query | None) -> str | None:
    """Return the model in a query if it names exactly one."""
    parts: tuple[Part, ...] = (
        () if query is None else tuple(query.root.parts) if isinstance(query.root, All) else (query.root,)
    )
    named = [str(part.value) for part in parts if isinstance(part, Field) and part.name == "model"]
    return named[0].lower() if len(named) == 1 else None


def _measures(library: Library, asked: ReportRequest) -> dict[str, Any]:
    model = model_of(asked.query)
    sums = UsageTotals()
    for row in reports_about(library, asked).usage_by("model"):
        if row.model != SYNTHETIC and (model is None or model in (row.model or "").lower()):
            sums.add(row.sums)
    typed = count_prompts(library, asked)
    spent = measure(library, asked, model=model).total
    tools = ToolTotals()
    for calls in calls_about(library, asked).call_sums("tool"):
        tools.add(calls)
    turns = [turn / SECOND for turn in spent.turns]
    prompts = len(typed.total.lengths)
    cost = microdollars(sums.sums.cost)
    asked_tokens = sums.sums.input + sums.sums.cache_write + sums.sums.cache_read
    return {
        "chats": len(typed.chats | chats_with_answers(library, asked)),
        "prompts": prompts,
        "prompt_length_p50": percentile(typed.total.lengths, 0.5),
        "interruptions": typed.total.interruptions,
        "rework_share": share(typed.total.rework, prompts),
        "turns": len(turns),
        "turn_p50_seconds": percentile(turns, 0.5),
        "turn_p90_seconds": percentile(turns, 0.9),
        "active_seconds": round(spent.active / SECOND),
        "model_seconds": round(spent.model / SECOND),
        "tools_seconds": round(spent.tools / SECOND),
        "human_seconds": round(spent.human / SECOND),
        "answers": sums.messages,
        "input_tokens": sums.sums.input,
        "output_tokens": sums.sums.output,
        "cache_creation_input_tokens": sums.sums.cache_write,
        "cache_read_input_tokens": sums.sums.cache_read,
        "cache_read_share": share(sums.sums.cache_read, asked_tokens),
        "cost_microdollars": sums.microdollars,
        "answers_without_final_output": sums.sums.placeholders,
        "answers_without_price": sums.sums.unpriced,
        "cost_per_prompt_microdollars": round(cost / prompts) if prompts and sums.microdollars is not None else None,
        "calls": tools.calls,
        "failed_calls": tools.states[CallState.ERROR],
        "failed_calls_share": share(tools.states[CallState.ERROR], tools.ran),
    }


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else second - first


def _change(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None or not first else second / first - 1


def _request_as_json(text: str, one: ReportRequest) -> dict[str, Any]:
    return {
        "asked": text,
        "since": one.since.isoformat() if one.since else None,
        "until": one.until.isoformat() if one.until else None,
    }
