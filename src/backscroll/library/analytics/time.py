"""Where the time went: working, waiting on the model, on tools, on the human; and how long turns take.

Along a chat, by the rows' times: what lies between two rows belongs to the one that ends it. An answer ends a wait for
the model, a result one for a tool, something typed one for the human. A chat whose sessions ran side by side has each
moment once; chats that ran side by side have each their own.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from backscroll.conversation.usage import SYNTHETIC
from backscroll.library.analytics.moments import SECOND, Moment, by_chat, moments, name_of, within
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, reports_about
from backscroll.library.library import Library

Inside = Callable[[int], bool]
DIMENSIONS: Final = ("project", "day", "model", "chat")
PAUSE: Final = 300 * SECOND
"""A longer gap before a prompt is a pause: the user was away."""
LONGEST_WAIT: Final = 3600 * SECOND
"""A longer wait for the model or a tool is a pause too: an open question, or a sleeping computer."""
TYPED: Final = frozenset({"prompt", "command", "shell"})
MODEL: Final = frozenset({"answer", "api-error", "compaction", "compact-summary"})
TOOLS: Final = frozenset({"tool-result", "shell-output"})
COLUMNS: Final = (
    "turns", "active_seconds", "model_seconds", "tools_seconds", "human_seconds", "other_seconds", "away_seconds",
    "turn_p50_seconds", "turn_p90_seconds",
)  # fmt: skip


@dataclass
class TimeTotals:
    """Time in microseconds, by activity."""

    model: int = 0
    tools: int = 0
    human: int = 0
    other: int = 0
    away: int = 0
    turns: list[int] = field(default_factory=list)

    @property
    def active(self) -> int:
        """All but the pauses."""
        return self.model + self.tools + self.human + self.other

    def row(self) -> tuple[Any, ...]:
        """The columns, in seconds."""
        parts = (self.active, self.model, self.tools, self.human, self.other, self.away)
        turns = [turn / SECOND for turn in self.turns]
        return (len(turns), *(round(part / SECOND) for part in parts), percentile(turns, 0.5), percentile(turns, 0.9))


@dataclass
class MeasuredTime:
    """The time of all chats, and by group."""

    total: TimeTotals
    groups: dict[str, TimeTotals]
    cut_waits: int
    """Waits that are too long to be real."""
    without_time: int
    copies: int


def time_spent(library: Library, asked: ReportRequest, by: str = "project") -> Report:
    """The report of time."""
    timed = measure(library, asked, by)
    if by == "day":
        names = sorted(timed.groups, reverse=True)
    else:
        names = sorted(timed.groups, key=lambda name: (-timed.groups[name].active, name))
    total = timed.total
    facts = {
        "total": dict(zip(COLUMNS, total.row(), strict=True)),
        "pause_seconds": PAUSE // SECOND,
        "longest_wait_seconds": LONGEST_WAIT // SECOND,
        "cut_waits": timed.cut_waits,
        "without_time": timed.without_time,
        "copies": timed.copies,
    }
    notes = [
        f"{len(total.turns):,} turns with an answer; {timed.copies:,} copies of rows left out",
        "more than 5 minutes before something typed are away; permissions that were given count as waiting on tools",
        "agents work while their call is waited for, and are not added",
    ]
    if timed.cut_waits:
        notes.append(f"{timed.cut_waits:,} waits for the model or a tool took more than an hour, and count as away")
    if timed.without_time:
        notes.append(f"{timed.without_time:,} rows have no time, and are left out")
    rows = [(name, *timed.groups[name].row()) for name in names]
    return Report((by, *COLUMNS), rows, facts, notes, bar="active_seconds")


def measure(library: Library, asked: ReportRequest, by: str = "project", model: str | None = None) -> MeasuredTime:
    """Add up the time; with `model`, only that of models whose name has this in it."""
    found = moments(reports_about(library, asked).moments())
    timed = MeasuredTime(TimeTotals(), defaultdict(TimeTotals), 0, found.without_time, found.copies)
    inside = within(asked)
    for rows in by_chat(found.rows):
        _walk(rows, timed, asked, by, inside, model)
    return timed


def _walk(
    rows: list[Moment], timed: MeasuredTime, asked: ReportRequest, by: str, inside: Inside, wanted: str | None
) -> None:
    rows = _with_models(rows)
    begun: Moment | None = None
    took = idle = answered = 0
    for number, row in enumerate(rows):
        part, cut = ("", False) if number == 0 else _part(rows[number - 1], row)
        gap = row.time - rows[number - 1].time if number else 0
        chosen = inside(row.time) and (wanted is None or wanted in (row.model or ""))
        if part and chosen:
            timed.cut_waits += cut
            for spent in (timed.total, timed.groups[name_of(asked, row, by)]):
                setattr(spent, part, getattr(spent, part) + gap)
        if row.kind in TYPED:
            _end_turn(timed, asked, by, begun, took if answered else None, inside, wanted)
            begun, took, idle, answered = row, 0, 0, 0
        elif begun is not None:
            idle += gap if part == "away" else 0
            if row.kind in MODEL or row.kind in TOOLS:
                took = row.time - begun.time - idle
                answered += row.kind == "answer"
    _end_turn(timed, asked, by, begun, took if answered else None, inside, wanted)


def _end_turn(
    timed: MeasuredTime,
    asked: ReportRequest,
    by: str,
    begun: Moment | None,
    took: int | None,
    inside: Inside,
    wanted: str | None,
) -> None:
    if (
        begun is None
        or took is None
        or not inside(begun.time)
        or (wanted is not None and wanted not in (begun.model or ""))
    ):
        return
    timed.total.turns.append(took)
    timed.groups[name_of(asked, begun, by)].turns.append(took)


def _part(before: Moment, row: Moment) -> tuple[str, bool]:
    """The activity between two rows, and whether the wait is too long to be real."""
    gap = row.time - before.time
    if row.kind in TYPED or (row.kind == "tool-result" and row.is_decision):
        return ("away" if gap > PAUSE else "human"), False
    if row.kind == "interruption":
        part = "tools" if before.kind == "answer" else "model"
    elif row.kind in MODEL or row.kind in TOOLS:
        part = "model" if row.kind in MODEL else "tools"
    else:
        return ("away" if gap > PAUSE else "other"), False
    return ("away", True) if gap > LONGEST_WAIT else (part, False)


def _with_models(rows: list[Moment]) -> list[Moment]:
    """Every row with its model: that of the next answer in its turn, otherwise of the previous one."""
    model: str | None = None
    named: list[Moment] = []
    for row in reversed(rows):
        if row.kind == "answer" and row.model and row.model != SYNTHETIC:
            model = row.model
        named.append(row._replace(model=model))
    named.reverse()
    last: str | None = None
    for number, row in enumerate(named):
        last = row.model or last
        named[number] = row._replace(model=last)
    return named
