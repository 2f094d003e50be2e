"""Windows of five hours, like those of Claude's limits.

A window begins with the first answer after the last window ended, rounded down to the full hour (UTC), and lasts five
hours. Windows are of all chats of the homes, because limits count all of them; a query only selects the chats whose
tokens are added up. The usage of other machines and of claude.ai is not known here.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from backscroll.conversation.usage import SYNTHETIC
from backscroll.library.analytics.reports import QUARTER, Report, ReportRequest, reports_about
from backscroll.library.analytics.usage import MEASURES, UsageTotals
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.pricing.money import microdollars
from backscroll.store.batches import EPOCH, microseconds
from backscroll.store.report_rows import UsageByPeriod

HOUR: Final = 4 * QUARTER
LENGTH: Final = 5 * HOUR
COLUMNS: Final = ("start", "end", *MEASURES, "models")


@dataclass
class LimitWindow:
    """A five-hour window; times are in microseconds."""

    start: int
    sums: UsageTotals = field(default_factory=UsageTotals)
    models: set[str] = field(default_factory=set)

    @property
    def end(self) -> int:
        """The end of the window."""
        return self.start + LENGTH


def blocks(library: Library, asked: ReportRequest, now: datetime, *, active: bool = False) -> Report:
    """Return the report of windows, the latest first; with `active` only the open one."""
    windows, untimed, synthetic = _windows(library, asked)
    at = microseconds(now) or 0
    since, until = microseconds(asked.since), microseconds(asked.until)
    current = next((window for window in windows if window.start <= at < window.end), None)
    selected = [
        window
        for window in reversed(windows)
        if (since is None or window.end > since) and (until is None or window.start < until)
        and (not active or window is current) and (window.sums.messages or asked.query is None)
    ]  # fmt: skip
    total = UsageTotals()
    for window in selected:
        total.add(window.sums.sums)
    facts: dict[str, Any] = {
        "active": _burning(library, asked, current, now) if current else None,
        "total": dict(zip(MEASURES, total.row(), strict=True)),
        "copies": total.sums.copies,
        "without_time": untimed,
        "synthetic": synthetic,
    }
    notes = [
        (
            f"{count(total.messages, 'answer')}, each counted once; "
            f"{count(total.sums.copies, 'copy', 'copies')} in other files not counted again"
        ),
        "a window begins with the first answer after the last one ended, at the full hour",
        "what other machines and claude.ai used is not known here",
    ]
    if untimed:
        notes.append(f"{count(untimed, 'answer')} without a time not in any window")
    if total.sums.unpriced:
        notes.append(f"no known price for {count(total.sums.unpriced, 'answer')}: tokens are included, cost is not")
    rows = [
        (
            _format_time(asked, window.start),
            _format_time(asked, window.end),
            *window.sums.row(),
            ", ".join(sorted(window.models)),
        )
        for window in selected
    ]
    return Report(COLUMNS, rows, facts, notes, bar="cost_microdollars")


def starts_of(quarters: list[int]) -> list[int]:
    """The starts of windows, for answers in these quarters of an hour (sorted)."""
    starts: list[int] = []
    for quarter in quarters:
        time = quarter * QUARTER
        if not starts or time >= starts[-1] + LENGTH:
            starts.append(time // HOUR * HOUR)
    return starts


def _windows(library: Library, asked: ReportRequest) -> tuple[list[LimitWindow], int, int]:
    chosen = everything = reports_about(library, ReportRequest(zone=asked.zone)).usage_over_time("quarter")
    if asked.query is not None:
        chosen = reports_about(library, ReportRequest(query=asked.query)).usage_over_time("quarter")
    starts = starts_of(sorted({row.period for row in everything if row.period and row.model != SYNTHETIC}))
    windows = [LimitWindow(start) for start in starts]
    by_quarter: dict[int, list[UsageByPeriod]] = defaultdict(list)
    untimed = synthetic = 0
    for row in chosen:
        if row.model == SYNTHETIC:
            synthetic += row.sums.messages
        elif not row.period:
            untimed += row.sums.messages
        else:
            by_quarter[row.period].append(row)
    number = 0
    for quarter in sorted(by_quarter):
        while quarter * QUARTER >= windows[number].end:
            number += 1
        for row in by_quarter[quarter]:
            windows[number].sums.add(row.sums)
            windows[number].models.add(row.model or "no model")
    return windows, untimed, synthetic


def _burning(library: Library, asked: ReportRequest, window: LimitWindow, now: datetime) -> dict[str, Any]:
    """The rate of use of the open window, and its projection."""
    since = EPOCH + timedelta(microseconds=window.start)
    span = reports_about(library, ReportRequest(query=asked.query, since=since)).answer_span()
    first, last = span or (window.start, window.start)
    at = microseconds(now) or 0
    # Based on the time since the first answer; less than a minute is meaningless.
    minutes = max(1.0, (at - first) / 60e6)
    left = max(0.0, (window.end - at) / 60e6)
    tokens, cost = window.sums.sums.tokens, microdollars(window.sums.sums.cost)
    return {
        "start": _format_time(asked, window.start),
        "end": _format_time(asked, window.end),
        "first_answer": _format_time(asked, first, "%Y-%m-%d %H:%M:%S"),
        "last_answer": _format_time(asked, last, "%Y-%m-%d %H:%M:%S"),
        "minutes_used": round(minutes, 1),
        "minutes_left": round(left, 1),
        "tokens": tokens,
        "cost_microdollars": cost,
        "tokens_per_minute": round(tokens / minutes),
        "cost_microdollars_per_hour": round(60 * cost / minutes),
        "projected_tokens": round(tokens + left * tokens / minutes),
        "projected_cost_microdollars": round(cost + left * cost / minutes),
    }


def _format_time(asked: ReportRequest, time: int, shape: str = "%Y-%m-%d %H:%M") -> str:
    return asked.local(EPOCH + timedelta(microseconds=time)).strftime(shape)
