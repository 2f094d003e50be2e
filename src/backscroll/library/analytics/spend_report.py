"""The spending of a period as a report: for the command line, the HTTP API and downloads."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from backscroll.library.analytics.cost_parts import PARTS
from backscroll.library.analytics.reports import Report, ReportRequest, share
from backscroll.library.analytics.spend import DIMENSIONS as GROUPS
from backscroll.library.analytics.spend import Spend, SpendFilter, Spending, spend
from backscroll.library.analytics.spend_periods import LEAST_DAYS, PACE_DAYS, compared_period
from backscroll.library.analytics.spend_reasons import Reason, reasons
from backscroll.library.analytics.spend_summary import headline, what_changed
from backscroll.library.analytics.unrecorded import unrecorded_note
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.pricing.money import microdollars
from backscroll.store.report_rows import moment_of

DIMENSIONS: Final = ("why", *GROUPS, "turn")
TURN_COLUMNS: Final = (
    "time", "cost_microdollars", "agents_cost_microdollars", "of_total_share", "answers", "prompt", "reason", "chat",
    "message", "placeholders",
)  # fmt: skip
NO_FILTER: Final = SpendFilter()
MEASURES: Final = ("cost_microdollars", "before_microdollars", "change_microdollars", "of_total_share")


def spend_report(
    library: Library, asked: ReportRequest, by: str, now: datetime, only: SpendFilter = NO_FILTER
) -> Report:
    """Return the cost of a period and its changes, by a dimension; `why` is the parts of the cost."""
    period = compared_period(asked.since, asked.until, asked.local(now))
    spending = spend(library, replace(asked, since=None, until=None), period, only, now)
    return as_report(spending, by, asked)


def as_report(found: Spend, by: str, asked: ReportRequest) -> Report:
    """Return the table of one dimension."""
    total = found.total.cost
    if by == "turn":
        columns: tuple[str, ...] = TURN_COLUMNS
        rows: list[tuple[Any, ...]] = [
            (
                _format_time(asked, turn.items[0].answer.time), microdollars(turn.cost),
                microdollars(turn.agents_cost), share(turn.cost, total), len(turn.items),
                turn.prompt.text if turn.prompt else "", in_words(reasons(turn.items)), turn.chat,
                turn.prompt.uuid if turn.prompt else None, sum(not item.answer.is_final for item in turn.items),
            )
            for turn in found.turns
        ]  # fmt: skip
    elif by == "why":
        columns = ("part", *MEASURES)
        rows = [
            (
                title,
                *_measures(found.total.parts[name], found.before.parts[name], found, is_comparable=found.is_comparable),
            )
            for name, title in PARTS.items()
            if found.total.parts[name] or found.before.parts[name]
        ]
        rows.sort(key=lambda row: -row[1])
    else:
        columns = (by, *MEASURES, "answers", "tokens", "placeholders", "placeholders_before")
        rows = [
            (
                group.name,
                *_measures(group.now.cost, group.before.cost, found, is_comparable=group.is_comparable),
                group.now.answers, group.now.tokens, group.now.placeholders, group.before.placeholders,
            )
            for group in found.groups[by]
        ]  # fmt: skip
        if by in ("chat", "agent"):
            columns = (*columns, "title")
            rows = [(*row, group.title) for row, group in zip(rows, found.groups[by], strict=True)]
        if by == "chat":
            columns = (*columns, "reason")
            rows = [(*row, in_words(reasons(found.chats.get(row[0], [])))) for row in rows]
    facts = unrecorded_facts(found)
    unrecorded = [unrecorded_note(facts, "≥ " if found.total.placeholders else "")] if facts else []
    notes = [headline(found), *unrecorded, *what_changed(found), *notes_of(found)]
    return Report(columns, rows, _facts(found, asked), notes, bar="cost_microdollars")


def unrecorded_facts(found: Spend) -> dict[str, Any] | None:
    """Return requests without a record, and the sum with the answers; None if there are none."""
    return found.unrecorded.facts(microdollars(found.total.cost))


def in_words(some: list[Reason]) -> str:
    """Return the reasons as one line."""
    return "; ".join(
        f"{reason.title} ${reason.cost / 1e9:,.2f} ({100 * reason.share:.0f} %): {reason.text}" for reason in some
    )


def notes_of(found: Spend) -> list[str]:
    """Return the notes about the counts."""
    notes = [f"{count(found.total.answers, 'answer')}, each counted once, including those of agents"]
    notes.append(
        "the period before is as long: moved back by whole days"
        if found.period.before
        else "there is no period before to compare with"
    )
    if found.total.placeholders:
        notes.append(
            f"no final output count of {count(found.total.placeholders, 'answer')}: sums with them are lower bounds (≥)"
        )
    if found.total.unpriced:
        notes.append(f"no known price for {count(found.total.unpriced, 'answer')}: their cost is not included")
    notes += [
        "an answer that calls several tools is divided among them by the number of calls",
        "a turn is a prompt and all answers until the next one in its chat; with the agents that began in it",
        (
            "context that the answer before already had counts as lost from the cache if at least a tenth of it was "
            "written again"
        ),
        (
            f"the forecast is an estimate: it adds the average of the last {PACE_DAYS} full days for the rest of the "
            f"month, and needs {LEAST_DAYS}"
        ),
    ]
    return notes


def _measures(now: int, before: int, found: Spend, *, is_comparable: bool = True) -> tuple[float | None, ...]:
    is_compared = found.period.before is not None
    return (
        microdollars(now),
        microdollars(before) if is_compared else None,
        microdollars(now) - microdollars(before) if is_compared and is_comparable else None,
        share(now, found.total.cost),
    )


def _facts(found: Spend, asked: ReportRequest) -> dict[str, Any]:
    coming = found.forecast
    return {
        "period": _span(found.period.since, found.period.until, asked),
        "before": _span(*found.period.before, asked) if found.period.before else None,
        "total": _sums(found.total, found.prompts),
        "total_before": _sums(found.before, found.prompts_before) if found.period.before else None,
        "unrecorded": unrecorded_facts(found),
        "why": {name: microdollars(cost) for name, cost in found.total.parts.items() if cost},
        "forecast": {
            "month": f"{coming.month:%Y-%m}",
            "so_far_microdollars": microdollars(coming.so_far),
            "days": coming.pace_days,
            "a_day_microdollars": None if coming.pace is None else microdollars(coming.pace),
            "at_end_microdollars": None if coming.at_end is None else microdollars(coming.at_end),
        },
    }


def _sums(sums: Spending, prompts: int) -> dict[str, int]:
    return {
        "cost_microdollars": microdollars(sums.cost),
        "messages": sums.answers,
        "prompts": prompts,
        "tokens": sums.tokens,
        "output_tokens": sums.output,
        "answers_without_price": sums.unpriced,
        "placeholders": sums.placeholders,
    }


def _span(since: datetime | None, until: datetime | None, asked: ReportRequest) -> dict[str, str | None]:
    return {
        "since": asked.local(since).isoformat(timespec="minutes") if since else None,
        "until": asked.local(until).isoformat(timespec="minutes") if until else None,
    }


def _format_time(asked: ReportRequest, time: int | None) -> str | None:
    when = moment_of(time)
    return f"{asked.local(when):%Y-%m-%d %H:%M}" if when else None
