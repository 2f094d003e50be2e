"""Length and size of chats: the median, the 90th and 95th percentile, and the largest.

Every chat in which a model answered in the period is one value; only its part in the period counts.
"""

from collections import defaultdict
from datetime import datetime
from typing import Any, Final, NamedTuple

from backscroll.conversation.usage import SYNTHETIC
from backscroll.library.analytics.moments import SECOND
from backscroll.library.analytics.periods import NO_TIME, PERIODS, names_in_order
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, reports_about
from backscroll.library.analytics.time import TimeTotals, measure
from backscroll.library.analytics.usage import UsageTotals
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library

DIMENSIONS: Final = ("project", "model", "week", "month")
PARTS: Final = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("max", 1.0))
MEASURES: Final = {"turns": "turns_{}", "tokens": "total_{}_tokens", "cost": "cost_{}_microdollars",
                   "time": "active_{}_seconds"}  # fmt: skip
"""The measures of a chat, and the names of their columns."""


def columns_of(measure: str) -> tuple[str, ...]:
    """Return the column names of a measure."""
    return tuple(MEASURES[measure].format(part) for part, _ in PARTS)


class ChatSize(NamedTuple):
    """Length and size of a chat."""

    turns: int
    tokens: int
    cost: int | None
    """Microdollars; None if no price is known."""
    seconds: int
    model: str
    """The model with most of the chat's tokens."""


def chats(library: Library, asked: ReportRequest, by: str = "project") -> Report:
    """Return the report of chats."""
    sizes, unpriced = _sizes(library, asked)
    groups: dict[str, list[ChatSize]] = defaultdict(list)
    if by == "model":
        for size in sizes.values():
            groups[size.model].append(size)
    else:
        known = {chat.overview.id: chat.overview for chat in library.reader.chats(None, sort="newest", limit=None,
                                                                                  offset=0)}  # fmt: skip
        for name, size in sizes.items():
            overview = known.get(name)
            if by == "project":
                groups[(overview.project if overview else None) or "-"].append(size)
            else:
                groups[_period(asked, by, overview.started if overview else None)].append(size)
    facts = {
        "total": dict(zip(COLUMNS, _row(list(sizes.values())), strict=True)),
        "chats_without_price": sum(size.cost is None for size in sizes.values()),
        "answers_without_price": unpriced,
    }
    rows = [(name, *_row(groups[name])) for name in names_in_order(groups, by, len)]
    return Report((by, *COLUMNS), rows, facts, _notes(len(sizes), by, facts))


def _sizes(library: Library, asked: ReportRequest) -> tuple[dict[str, ChatSize], int]:
    """Return the sizes of all chats with an answer, and the number of answers without a price."""
    used: dict[str, UsageTotals] = defaultdict(UsageTotals)
    models: dict[str, dict[str, int]] = defaultdict(dict)
    for row in reports_about(library, asked).usage_by("chat"):
        if row.name and row.model != SYNTHETIC:
            used[row.name].add(row.sums)
            models[row.name][row.model or "-"] = row.sums.tokens
    times = measure(library, asked, "chat").groups
    talked = [name for name, spent in times.items() if spent.turns and name != "-"]
    sizes = {}
    for name in dict.fromkeys((*used, *talked)):
        sums, spent = used.get(name, UsageTotals()), times.get(name, TimeTotals())
        model = max(models.get(name, {"-": 0}).items(), key=lambda one: (one[1], one[0]))[0]
        sizes[name] = ChatSize(
            len(spent.turns), sums.sums.tokens, sums.microdollars, round(spent.active / SECOND), model
        )
    return sizes, sum(totals.sums.unpriced for totals in used.values())


def _period(asked: ReportRequest, by: str, started: datetime | None) -> str:
    """Return the period in which a chat began, or the first of the report if the chat is older."""
    if started is None:
        return NO_TIME
    return PERIODS[by](asked.local(max(started, asked.since) if asked.since else started))


def _row(sizes: list[ChatSize]) -> tuple[Any, ...]:
    costs = [size.cost for size in sizes if size.cost is not None]
    measured = ([size.turns for size in sizes], [size.tokens for size in sizes], costs,
                [size.seconds for size in sizes])  # fmt: skip
    return (len(sizes), *(percentile(values, part) for values in measured for _, part in PARTS))


def _notes(number: int, by: str, facts: dict[str, Any]) -> list[str]:
    notes = [
        f"{count(number, 'chat')} with an answer; of each, what happened in the period counts",
        "p50, p90, p95: half, nine of ten and 19 of 20 chats have no more; max: the largest",
        "turns are prompts that got an answer; tokens and costs include agents, active time has no pauses",
    ]
    if by == "model":
        notes.append("a chat counts once, for the model with most of its tokens")
    elif by in PERIODS:
        notes.append(f"a chat counts once, in the {by} in which it began")
    if facts["chats_without_price"]:
        notes.append(f"{count(facts['chats_without_price'], 'chat')} without a known price not in the costs")
    elif facts["answers_without_price"]:
        notes.append(
            f"no known price for {count(facts['answers_without_price'], 'answer')}: their cost is not included"
        )
    return notes


COLUMNS: Final = ("chats", *(column for measure in MEASURES for column in columns_of(measure)))
