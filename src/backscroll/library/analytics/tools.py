"""Tool calls: how many, how they ended, how long they took, and the size of input and output."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from backscroll.conversation.messages import CallState
from backscroll.library.analytics.calls import ANSWERED, calls_of, server_of
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, share, top
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.store.report_rows import ToolCallRow

LONGEST_SECONDS: Final = 24 * 3600
"""A longer time is not a duration: the computer slept, or the result was written when the session was resumed."""
DIMENSIONS: Final[dict[str, Callable[[ToolCallRow], str | None]]] = {
    "tool": lambda call: call.tool,
    "mcp-server": lambda call: server_of(call.tool),
    "project": lambda call: call.project,
    "model": lambda call: call.model,
}
MEASURES: Final = (
    "calls",
    "errors",
    "error_share",
    "denied",
    "interrupted",
    "missing",
    "p50_seconds",
    "p90_seconds",
    "max_seconds",
    "input_bytes",
    "output_characters",
)
"""The measures of each row. The share is of the calls that ran."""
SUMS: Final = ("calls", "input", "output", "copies", "backwards", "too_long", "untimed")


class ToolTotals:
    """Sums over calls."""

    def __init__(self) -> None:
        self.calls = self.input = self.output = self.copies = self.backwards = self.too_long = self.untimed = 0
        self.states: dict[str, int] = defaultdict(int)
        self.seconds: list[float] = []

    def add(self, call: ToolCallRow) -> None:
        """Add a call."""
        self.calls += 1
        self.copies += call.copies - 1
        self.input += call.size or 0
        self.output += call.result_size or 0
        self.states[call.state or CallState.MISSING] += 1
        if call.state not in ANSWERED:
            return
        if call.time is None or call.result_time is None:
            self.untimed += 1
            return
        seconds = (call.result_time - call.time) / 1e6
        if seconds < 0:
            self.backwards += 1
        elif seconds > LONGEST_SECONDS:
            self.too_long += 1
        else:
            self.seconds.append(seconds)

    def merge(self, other: "ToolTotals") -> None:
        """Add all of another."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for state, number in other.states.items():
            self.states[state] += number
        self.seconds += other.seconds

    def row(self) -> tuple[Any, ...]:
        """The measures."""
        errors = self.states[CallState.ERROR]
        return (
            self.calls,
            errors,
            share(errors, errors + self.states[CallState.DONE]),
            self.states[CallState.DENIED],
            self.states[CallState.INTERRUPTED],
            self.states[CallState.MISSING],
            percentile(self.seconds, 0.5),
            percentile(self.seconds, 0.9),
            max(self.seconds, default=None),
            self.input,
            self.output,
        )


def tools(library: Library, asked: ReportRequest, by: str = "tool") -> Report:
    """The calls by a dimension, the most frequent first."""
    groups: dict[str, ToolTotals] = defaultdict(ToolTotals)
    total, name_of, live = ToolTotals(), DIMENSIONS[by], 0
    for call in calls_of(library, asked):
        groups[name_of(call) or "-"].add(call)
        live += call.state is None and call.session in library.live
    for group in groups.values():
        total.merge(group)
    rows = top(((name, *sums.row()) for name, sums in groups.items()), 1)
    facts = {
        "total": dict(zip(MEASURES, total.row(), strict=True)),
        "counted": total.calls,
        "copies": total.copies,
        "durations": {
            "counted": len(total.seconds),
            "negative": total.backwards,
            "longer_than_a_day": total.too_long,
            "without_time": total.untimed,
        },
        "missing_in_live_sessions": live,
    }
    return Report((by, *MEASURES), rows, facts, _notes(total, by, live), bar="calls")


def _notes(total: ToolTotals, by: str, live: int) -> list[str]:
    notes = [
        f"{count(total.calls, 'call')}, each counted once; {count(total.copies, 'copy', 'copies')} not counted again",
        f"{count(len(total.seconds), 'duration')}, from call to result, including waits for permission",
    ]
    left_out = [
        f"{count:,} {what}"
        for count, what in (
            (total.backwards, "negative"),
            (total.too_long, "longer than a day"),
            (total.untimed, "without a time"),
        )
        if count
    ]
    if left_out:
        notes.append(f"durations left out: {', '.join(left_out)}")
    if live:
        notes.append(f"{live:,} of the missing are in sessions that are live: they may still run")
    if by == "mcp-server":
        notes.append("- are the tools that come with Claude Code")
    return notes
