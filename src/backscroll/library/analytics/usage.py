"""Tokens and costs: each answer counted once over the whole library, by day, model, project and so on."""

from collections import defaultdict
from operator import add
from typing import Final, cast

from backscroll.conversation.usage import SYNTHETIC
from backscroll.library.analytics.periods import PERIODS, names_in_order, usage_by_period
from backscroll.library.analytics.reports import Report, ReportRequest, reports_about
from backscroll.library.analytics.unrecorded import unrecorded_note, unrecorded_requests
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.pricing.money import microdollars
from backscroll.store.report_rows import ReportedCosts, UsageDimension, UsageSums, moment_of

DIMENSIONS: Final = (*PERIODS, "model", "project", "chat", "agent", "git-branch", "version", "machine")
MEASURES: Final = (
    "messages",
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cost_microdollars",
    "placeholders",
)
"""The measures of each row. With placeholders (answers without a final output count) some are lower bounds."""
DETAILS: Final = ("cache_creation_5m", "cache_creation_1h", "web_searches", "web_fetches")
"""Additional measures of the total."""


class UsageTotals:
    """Sums over usage rows of the store."""

    __slots__ = ("sums",)

    def __init__(self) -> None:
        self.sums = UsageSums()

    def add(self, sums: UsageSums) -> None:
        """Add a usage row."""
        self.sums = UsageSums._make(map(add, self.sums, sums))

    @property
    def messages(self) -> int:
        """The number of answers."""
        return self.sums.messages

    @property
    def microdollars(self) -> int | None:
        """The cost of the answers; None if nothing has a price."""
        return None if self.sums.unpriced == self.messages else microdollars(self.sums.cost)

    def row(self) -> tuple[int | None, ...]:
        """Return the values of `MEASURES`."""
        sums = self.sums
        counts = sums.messages, sums.input, sums.output, sums.cache_write, sums.cache_read
        return (*counts, self.microdollars, sums.placeholders)

    def total(self) -> dict[str, int | None]:
        """Return the measures with their names, and `DETAILS`."""
        sums = self.sums
        details = (sums.cache_write_5m, sums.cache_write_1h, sums.web_searches, sums.web_fetches)
        return dict(zip((*MEASURES, *DETAILS), (*self.row(), *details), strict=True))


def chats_with_answers(library: Library, asked: ReportRequest) -> set[str]:
    """Return the chats in which a model answered."""
    rows = reports_about(library, asked).usage_by("chat")
    return {row.name for row in rows if row.name and row.model != SYNTHETIC}


def usage(library: Library, asked: ReportRequest, by: str = "day", *, breakdown: bool = False) -> Report:
    """Return the usage by a dimension, the latest period or most expensive first; `breakdown` splits each by model."""
    reports = reports_about(library, asked)
    rows = usage_by_period(library, asked, by) if by in PERIODS else reports.usage_by(cast("UsageDimension", by))
    groups: dict[str, UsageTotals] = defaultdict(UsageTotals)
    models: dict[str, dict[str, UsageTotals]] = defaultdict(lambda: defaultdict(UsageTotals))
    total, synthetic, unknown = UsageTotals(), UsageTotals(), defaultdict[str, int](int)
    for row in rows:
        if row.model == SYNTHETIC:
            synthetic.add(row.sums)
            continue
        name = row.name or "-"
        if by == "machine" and library.machine.is_own(name):
            name = library.machine.id  # the id stays when the name changes
        groups[name].add(row.sums)
        models[name][row.model or "-"].add(row.sums)
        total.add(row.sums)
        if row.sums.unpriced:
            unknown[row.model or "no model"] += row.sums.unpriced
    report = _report(library, by, groups, total, synthetic, dict(unknown))
    if breakdown and by != "model":
        _split(report, models)
    if total.sums.reported_cost:
        _add_reported(report, reports.reported_costs())
    facts = report.facts["unrecorded"] = unrecorded_requests(reports).facts(total.microdollars)
    if facts:
        report.notes.insert(1, unrecorded_note(facts, "≥ " if total.sums.placeholders else ""))
    return report


def _split(report: Report, models: dict[str, dict[str, UsageTotals]]) -> None:
    """Replace each row by one for each model, the most expensive first."""
    report.columns = (report.columns[0], "model", *report.columns[1:])
    report.rows = [
        (row[0], model, *sums.row(), *row[len(MEASURES) + 1 :])
        for row in report.rows
        for model, sums in sorted(models[row[0]].items(), key=lambda item: (-_worth(item[1]), item[0]))
    ]


def answers(library: Library, asked: ReportRequest) -> Report:
    """Return every counted answer, with its number of copies: the evidence for the numbers."""
    columns = (
        "message", "time", "model", "chat", "session", "agent", *MEASURES[1:5], "cost_microdollars",
        "reported_cost_microdollars", "final", "records", "files", "path",
    )  # fmt: skip
    rows = []
    for answer in reports_about(library, asked).answers():
        when = moment_of(answer.time)
        time_text = f"{asked.local(when):%Y-%m-%d %H:%M:%S}" if when else None
        costs = (microdollars(value) if value is not None else None for value in (answer.cost, answer.reported_cost))
        rows.append((
            answer.message, time_text, answer.model, answer.chat, answer.session, answer.agent, answer.input,
            answer.output, answer.cache_write, answer.cache_read, *costs, answer.is_final, answer.records,
            answer.files, answer.path,
        ))  # fmt: skip
    return Report(columns, rows)


def _report(
    library: Library,
    by: str,
    groups: dict[str, UsageTotals],
    total: UsageTotals,
    synthetic: UsageTotals,
    unknown: dict[str, int],
) -> Report:
    names = names_in_order(groups, by, _worth)
    columns: tuple[str, ...] = (by, *MEASURES)
    rows = [(name, *groups[name].row()) for name in names]
    if by == "chat":
        titles = library.titles()
        columns = (*columns, "title")
        rows = [(*row, titles.get(name, "")) for name, row in zip(names, rows, strict=True)]
    facts = {
        "total": total.total(),
        "counted": total.messages,
        "copies": total.sums.copies,
        "repeated_rows": total.sums.records - total.messages,
        "placeholders": total.sums.placeholders,
        "synthetic": synthetic.messages,
        "unknown": unknown,
    }
    return Report(columns, rows, facts, _notes(total, synthetic, unknown), bar="cost_microdollars")


def _add_reported(report: Report, costs: ReportedCosts) -> None:
    """Compare the costs that the client recorded with ours for the same answers."""
    ours = None if costs.unpriced == costs.answers else microdollars(costs.cost)
    report.facts["reported"] = {
        "messages": costs.answers,
        "reported_cost_microdollars": microdollars(costs.reported),
        "cost_microdollars": ours,
    }
    counted = "we know no price" if ours is None else f"counted here as ${ours / 1e6:,.2f}"
    report.notes.append(
        f"the client recorded a cost for {count(costs.answers, 'answer')}, ${costs.reported / 1e9:,.2f} in total;"
        f" {counted}"
    )


def _notes(total: UsageTotals, synthetic: UsageTotals, unknown: dict[str, int]) -> list[str]:
    notes = [
        (
            f"{count(total.messages, 'answer')}, each counted once; "
            f"{count(total.sums.copies, 'copy', 'copies')} in other files not counted again"
        )
    ]
    if total.sums.placeholders:
        is_single = total.sums.placeholders == 1
        notes.append(
            f"{total.sums.placeholders:,} {'answer has' if is_single else 'answers have'} no final output count; "
            f"{'its' if is_single else 'their'} output tokens and cost are a lower bound (≥)"
        )
    if unknown:
        models = ", ".join(f"{model} ({count:,})" for model, count in sorted(unknown.items()))
        notes.append(f"no known price for {models}: tokens are included, cost is not")
    if synthetic.messages:
        notes.append(f"{count(synthetic.messages, 'synthetic answer')} written by the client itself not counted")
    return notes


def _worth(sums: UsageTotals) -> float:
    return (sums.microdollars or 0) * 1e6 + sums.sums.tokens
