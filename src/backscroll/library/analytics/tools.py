"""Tool calls: their number, end states, durations, and the size of input and output."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import Any, Final

from backscroll.conversation.messages import CallState
from backscroll.library.analytics.calls import ANSWERED, calls_about, server_of
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, share, top
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.store.tool_call_rows import CallSums, ToolCallDimension

MAX_DURATION: Final = 24 * 3600 * 1_000_000
"""A longer time is not a duration: the computer slept, or the result was written when the session was resumed."""
DIMENSIONS: Final[dict[str, ToolCallDimension]] = {
    "tool": "tool",
    "mcp-server": "tool",
    "project": "project",
    "model": "model",
}
"""The dimension that the store adds up for each of ours."""
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
"""The measures of each row. `error_share` is of the calls that ran."""


class ToolTotals:
    """Sums over tool calls of a group."""

    def __init__(self) -> None:
        self.calls = self.input = self.output = self.copies = self.backwards = self.too_long = self.untimed = 0
        self.states: dict[str, int] = defaultdict(int)
        self.took: list[int] = []

    def add(self, sums: CallSums) -> None:
        """Add sums of calls."""
        self.calls += sums.calls
        self.copies += sums.copies
        self.input += sums.input
        self.output += sums.output
        self.states[sums.state or CallState.MISSING] += sums.calls
        if sums.state not in ANSWERED:
            return
        timed = sorted(took for took in sums.took if took is not None)
        first, end = bisect_left(timed, 0), bisect_right(timed, MAX_DURATION)
        self.untimed += len(sums.took) - len(timed)
        self.backwards += first
        self.too_long += len(timed) - end
        self.took += timed[first:end]

    @property
    def ran(self) -> int:
        """Number of calls that ran and have a result."""
        return self.states[CallState.ERROR] + self.states[CallState.DONE]

    def row(self) -> tuple[Any, ...]:
        """Return the values of `MEASURES`."""
        self.took.sort()
        errors = self.states[CallState.ERROR]
        return (
            self.calls,
            errors,
            share(errors, self.ran),
            self.states[CallState.DENIED],
            self.states[CallState.INTERRUPTED],
            self.states[CallState.MISSING],
            _seconds(percentile(self.took, 0.5)),
            _seconds(percentile(self.took, 0.9)),
            _seconds(max(self.took, default=None)),
            self.input,
            self.output,
        )


def tools(library: Library, asked: ReportRequest, by: str = "tool") -> Report:
    """Return the calls by a dimension, the most frequent first."""
    groups: dict[str, ToolTotals] = defaultdict(ToolTotals)
    total = ToolTotals()
    reports = calls_about(library, asked)
    for sums in reports.call_sums(DIMENSIONS[by]):
        name = server_of(sums.name) if by == "mcp-server" else sums.name
        groups[name or "-"].add(sums)
        total.add(sums)
    live = sum(session in library.live for session in reports.unanswered_calls()) if library.live else 0
    rows = top(((name, *sums.row()) for name, sums in groups.items()), 1)
    facts = {
        "total": dict(zip(MEASURES, total.row(), strict=True)),
        "counted": total.calls,
        "copies": total.copies,
        "durations": {
            "counted": len(total.took),
            "negative": total.backwards,
            "longer_than_a_day": total.too_long,
            "without_time": total.untimed,
        },
        "missing_in_live_sessions": live,
    }
    return Report((by, *MEASURES), rows, facts, _notes(total, by, live), bar="calls")


def _seconds(took: float | None) -> float | None:
    return None if took is None else took / 1e6


def _notes(total: ToolTotals, by: str, live: int) -> list[str]:
    notes = [
        f"{count(total.calls, 'call')}, each counted once; {count(total.copies, 'copy', 'copies')} not counted again",
        f"failed %: of the {count(total.ran, 'call')} that ran and have a result",
        f"{count(len(total.took), 'duration')}, from call to result, including waits for permission",
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
