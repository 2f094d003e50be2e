"""Tokens and money: each answer counted once over the whole library, by day, model, project and so on."""

from collections import defaultdict
from datetime import timedelta
from operator import add
from typing import Any, Final

from backscroll.conversation import SYNTHETIC
from backscroll.library.analytics.periods import PERIODS as PERIODS
from backscroll.library.analytics.periods import usage_by_period
from backscroll.library.analytics.reports import Asked, Report, ask
from backscroll.library.library import Library
from backscroll.pricing import microdollars
from backscroll.store import EPOCH

DIMENSIONS: Final = (*PERIODS, "model", "project", "chat", "agent", "git-branch", "version")
MEASURES: Final = (
    "messages",
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cost_microdollars",
)
"""What each row of usage says, behind what it is the usage of."""
DETAILS: Final = ("cache_creation_5m", "cache_creation_1h", "web_searches", "web_fetches")
"""What the total says besides."""


class Sums:
    """Sums over rows of the store."""

    __slots__ = ("numbers",)

    def __init__(self) -> None:
        # As the store's reports have them: messages, input, output, cache writes, cache reads, of the writes those for
        # 5 minutes and 1 hour, web searches, web fetches, cost, unpriced, placeholders, reported cost, records, copies
        self.numbers = [0] * 15

    def add(self, values: tuple[Any, ...]) -> None:
        """Take one more row into account."""
        self.numbers = list(map(add, self.numbers, values))

    @property
    def messages(self) -> int:
        """How many answers."""
        return self.numbers[0]

    @property
    def tokens(self) -> int:
        """All tokens."""
        return sum(self.numbers[1:5])

    @property
    def unpriced(self) -> int:
        """How many answers have no price."""
        return self.numbers[10]

    @property
    def placeholders(self) -> int:
        """How many answers have an output that is only a lower bound."""
        return self.numbers[11]

    @property
    def copies(self) -> int:
        """In how many other files the answers stand again."""
        return self.numbers[14]

    @property
    def microdollars(self) -> int | None:
        """What they cost; None where nothing of it has a price."""
        return None if self.unpriced == self.messages else microdollars(self.numbers[9])

    def row(self) -> tuple[Any, ...]:
        """The measures."""
        return (*self.numbers[:5], self.microdollars)

    def total(self) -> dict[str, Any]:
        """The measures with their names, and more of what they are made of."""
        return dict(zip((*MEASURES, *DETAILS), (*self.row(), *self.numbers[5:9]), strict=True))


def usage(library: Library, asked: Asked, by: str = "day") -> Report:
    """The usage by a dimension, the latest period or the most expensive first."""
    rows = usage_by_period(library, asked, by) if by in PERIODS else ask(library, f"usage by {by}", asked)
    groups: dict[str, Sums] = defaultdict(Sums)
    total, synthetic, unknown = Sums(), Sums(), defaultdict[str, int](int)
    for row in rows:
        model = row[0] if by == "model" else row[1]
        values = row[1:] if by == "model" else row[2:]
        if model == SYNTHETIC:
            synthetic.add(values)
            continue
        groups[_plainly(row[0])].add(values)
        total.add(values)
        if values[10]:
            unknown[model or "no model"] += values[10]
    report = _report(library, by, groups, total, synthetic, dict(unknown))
    if total.numbers[12]:
        _add_reported(report, ask(library, "reported costs", asked)[0])
    return report


def answers(library: Library, asked: Asked) -> Report:
    """Every answer that was counted, with how often it is repeated: what the numbers are made of."""
    columns = (
        "message", "time", "model", "chat", "session", "agent", *MEASURES[1:5], "cost_microdollars",
        "reported_cost_microdollars", "final", "records", "files", "path",
    )  # fmt: skip
    rows = []
    for message, time, model, chat, session, agent, *numbers, cost, final, records, files, path, reported in ask(
        library, "answers", asked
    ):
        when = EPOCH + timedelta(microseconds=time) if time is not None else None
        told = f"{asked.local(when):%Y-%m-%d %H:%M:%S}" if when else None
        costs = (microdollars(value) if value is not None else None for value in (cost, reported))
        rows.append((message, told, model, chat, session, agent, *numbers, *costs, bool(final), records, files, path))
    return Report(columns, rows)


def _report(
    library: Library, by: str, groups: dict[str, Sums], total: Sums, synthetic: Sums, unknown: dict[str, int]
) -> Report:
    names = (
        sorted(groups, reverse=True)
        if by in PERIODS
        else sorted(groups, key=lambda name: (-_worth(groups[name]), name))
    )
    columns: tuple[str, ...] = (by, *MEASURES)
    rows = [(name, *groups[name].row()) for name in names]
    if by == "chat":
        titles = dict(library.store.report("titles", None, library.scope, since=None, until=None))
        columns = (*columns, "title")
        rows = [(*row, titles.get(row[0], "")) for row in rows]
    facts = {
        "total": total.total(),
        "counted": total.messages,
        "copies": total.copies,
        "repeated_rows": total.numbers[13] - total.messages,
        "placeholders": total.placeholders,
        "synthetic": synthetic.messages,
        "unknown": unknown,
    }
    return Report(columns, rows, facts, _notes(total, synthetic, unknown), bar="cost_microdollars")


def _add_reported(report: Report, row: tuple[Any, ...]) -> None:
    """Say what the client itself had reckoned, beside what we reckon for the same answers."""
    answers, reported, cost, unpriced = row
    ours = None if unpriced == answers else microdollars(cost)
    report.facts["reported"] = {
        "messages": answers,
        "reported_cost_microdollars": microdollars(reported),
        "cost_microdollars": ours,
    }
    counted = "no price is known to us" if ours is None else f"counted here as ${ours / 1e6:,.2f}"
    report.notes.append(
        f"of {answers:,} answers the client wrote down a cost itself, ${reported / 1e9:,.2f} together; {counted}"
    )


def _notes(total: Sums, synthetic: Sums, unknown: dict[str, int]) -> list[str]:
    notes = [f"{total.messages:,} answers counted, each once; {total.copies:,} copies in other files left out"]
    if total.placeholders:
        notes.append(f"of {total.placeholders:,} of them the client never wrote the final output count: a lower bound")
    if unknown:
        models = ", ".join(f"{model} ({count:,})" for model, count in sorted(unknown.items()))
        notes.append(f"no price is known for {models}: their tokens count, their cost does not")
    if synthetic.messages:
        notes.append(f"not counted: {synthetic.messages:,} that the client itself made up")
    return notes


def _worth(sums: Sums) -> float:
    return (sums.microdollars or 0) * 1e6 + sums.tokens


def _plainly(value: Any) -> str:  # noqa: ANN401 - whatever the column holds
    return str(value) if value not in (None, "") else "-"
