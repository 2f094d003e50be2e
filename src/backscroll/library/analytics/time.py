"""Time of chats: working, waiting on the model, on tools, on the human; and the length of turns.

Measured along a chat, by the rows' times: the time between two rows belongs to the later one. An answer ends a wait for
the model, a result ends one for a tool, typed input ends one for the human. A chat whose sessions ran side by side
counts each moment once; chats that ran side by side count separately.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from backscroll.conversation.usage import SYNTHETIC
from backscroll.library.analytics.moments import SECOND, LeftOutRows, by_chat, names_by, time_of, within
from backscroll.library.analytics.periods import names_in_order
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, reports_about
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.store.report_rows import ChatMoment

DIMENSIONS: Final = ("project", "day", "model", "chat")
PAUSE: Final = 300 * SECOND
"""A longer gap before a prompt is a pause: the user was away."""
LONGEST_WAIT: Final = 3600 * SECOND
"""A longer wait for the model or a tool is a pause too: an open question, or a sleeping computer."""
TYPED: Final = frozenset({"prompt", "command", "shell"})
MODEL: Final = frozenset({"answer", "api-error", "compaction", "compact-summary"})
TOOLS: Final = frozenset({"tool-result", "shell-output"})
ENDED: Final = {**dict.fromkeys(TYPED, "human"), **dict.fromkeys(MODEL, "model"), **dict.fromkeys(TOOLS, "tools")}
"""The activity that a row ends, by its kind."""
WORK: Final = MODEL | TOOLS
WAITS: Final = frozenset({"model", "tools"})
PARTS: Final = ("model", "tools", "human", "other", "away")
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

    def spend(self, part: str, time: int) -> None:
        """Add time to an activity."""
        setattr(self, part, getattr(self, part) + time)

    def add(self, other: "TimeTotals") -> None:
        """Add all times and turns of another group."""
        for part in PARTS:
            self.spend(part, getattr(other, part))
        self.turns += other.turns

    @property
    def active(self) -> int:
        """All time except pauses."""
        return self.model + self.tools + self.human + self.other

    def row(self) -> tuple[Any, ...]:
        """Return the values of `COLUMNS`, in seconds."""
        parts = (self.active, self.model, self.tools, self.human, self.other, self.away)
        turns = [turn / SECOND for turn in self.turns]
        return (len(turns), *(round(part / SECOND) for part in parts), percentile(turns, 0.5), percentile(turns, 0.9))


@dataclass
class MeasuredTime:
    """The time of all chats, and of each group."""

    total: TimeTotals
    groups: dict[str, TimeTotals]
    cut_waits: int
    """Waits that are too long to be real."""
    without_time: int
    copies: int


def time_spent(library: Library, asked: ReportRequest, by: str = "project") -> Report:
    """Return the report of time."""
    timed = measure(library, asked, by)
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
        (
            f"{count(len(total.turns), 'turn')} with an answer; "
            f"{count(timed.copies, 'copy', 'copies')} of rows not counted again"
        ),
        "more than 5 minutes before something typed are away; permissions that were given count as waiting on tools",
        "agents work while their call is waited for, and are not added",
    ]
    if timed.cut_waits:
        notes.append(f"{count(timed.cut_waits, 'wait')} for the model or a tool of over an hour counted as time away")
    if timed.without_time:
        notes.append(f"{count(timed.without_time, 'row')} without a time not included")
    names = names_in_order(timed.groups, by, lambda sums: sums.active)
    rows = [(name, *timed.groups[name].row()) for name in names]
    return Report((by, *COLUMNS), rows, facts, notes, bar="active_seconds")


def measure(library: Library, asked: ReportRequest, by: str = "project", model: str | None = None) -> MeasuredTime:
    """Add up the time; with `model`, only that of models whose name contains it."""
    left_out = LeftOutRows()
    timed = MeasuredTime(TimeTotals(), defaultdict(TimeTotals), 0, 0, 0)
    name_of, inside = names_by(asked, by), within(asked)

    def group_of(row: ChatMoment) -> TimeTotals | None:
        """Return the group of a row; None if the row is out of scope."""
        is_asked = inside(time_of(row)) and (model is None or model in (row.model or ""))
        return timed.groups[name_of(row)] if is_asked else None

    for rows in by_chat(reports_about(library, asked).moments(), left_out):
        _walk(_with_models(rows) if by == "model" or model is not None else rows, group_of, timed)
    for group in timed.groups.values():
        timed.total.add(group)
    timed.without_time, timed.copies = left_out.without_time, left_out.copies
    return timed


def _walk(rows: list[ChatMoment], group_of: Callable[[ChatMoment], TimeTotals | None], timed: MeasuredTime) -> None:
    """Add up the time of one chat."""
    begun, before, last = None, rows[0], time_of(rows[0])
    began = took = idle = answered = 0
    for row in rows:
        kind, time = row.kind, time_of(row)
        gap, last = time - last, time
        part = ENDED.get(kind, "other")
        if kind == "interruption":
            part = "tools" if before.kind == "answer" else "model"
        elif row.is_decision and kind == "tool-result":
            part = "human"
        is_wait = part in WAITS
        is_away = gap > (LONGEST_WAIT if is_wait else PAUSE)
        if row is not before and (group := group_of(row)) is not None:
            timed.cut_waits += is_away and is_wait
            group.spend("away" if is_away else part, gap)
        if kind in TYPED:
            _end_turn(group_of, begun, took if answered else None)
            begun, began = row, time
            took = idle = answered = 0
        elif begun is not None:
            if is_away:
                idle += gap
            if kind in WORK:
                took = time - began - idle
                answered += kind == "answer"
        before = row
    _end_turn(group_of, begun, took if answered else None)


def _end_turn(group_of: Callable[[ChatMoment], TimeTotals | None], begun: ChatMoment | None, took: int | None) -> None:
    if begun is not None and took is not None and (group := group_of(begun)) is not None:
        group.turns.append(took)


def _with_models(rows: list[ChatMoment]) -> list[ChatMoment]:
    """Return the rows, each with its model: that of the next answer in its turn, otherwise of the previous one."""
    model: str | None = None
    named: list[ChatMoment] = []
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
