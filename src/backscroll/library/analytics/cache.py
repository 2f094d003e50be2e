"""The prompt cache: its share of the input, the savings from it, and the cost of pauses."""

from collections.abc import Callable
from typing import Any, Final

from backscroll.library.analytics.cost_parts import rewriting_cost, rewritten_tokens
from backscroll.library.analytics.periods import PERIODS, names_in_order
from backscroll.library.analytics.reports import Report, ReportRequest, reports_about, share
from backscroll.library.analytics.wording import count
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from backscroll.pricing.money import microdollars
from backscroll.pricing.prices import Prices
from backscroll.store.report_rows import moment_of
from backscroll.store.spend_rows import SpentAnswer

DIMENSIONS: Final = ("day", "week", "month", "model", "project", "chat", "pause")
COLUMNS: Final = (
    "answers", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "hit_share", "misses",
    "missed_tokens", "missed_cost_microdollars", "cost_microdollars", "saved_microdollars",
)  # fmt: skip
MINUTES: Final = 60 * 1_000_000
FIRST: Final = "first answer"
PAUSES: Final = ((5 * MINUTES, "up to 5 min"), (60 * MINUTES, "5 min to 1 h"))
LONGEST_PAUSE: Final = "more than 1 h"


class CacheTotals:
    """Sums over answers; money in nanodollars."""

    __slots__ = ("answers", "cost", "input", "missed", "missed_cost", "misses", "priced", "read", "saved", "write")

    def __init__(self) -> None:
        self.answers = self.input = self.write = self.read = self.misses = self.missed = 0
        self.missed_cost = self.cost = self.saved = self.priced = 0

    def add(self, answer: SpentAnswer, prices: Prices) -> None:
        """Add an answer to the sums."""
        self.answers += 1
        self.input += answer.input
        self.write += answer.cache_write
        self.read += answer.cache_read
        again = rewritten_tokens(answer)
        self.misses += again > 0
        self.missed += again
        if answer.cost is None:
            return
        self.priced += 1
        self.cost += answer.cost
        whole = answer.input + answer.cache_write + answer.cache_read
        self.saved += (_uncached_cost(answer, prices, whole) or answer.cost) - answer.cost
        self.missed_cost += rewriting_cost(answer, prices) if again else 0

    def row(self) -> tuple[Any, ...]:
        """Return the values of `COLUMNS`."""
        money = (
            microdollars(self.missed_cost) if self.priced else None,
            microdollars(self.cost) if self.priced else None,
            microdollars(self.saved) if self.priced else None,
        )
        hits = share(self.read, self.input + self.write + self.read)
        return (self.answers, self.input, self.write, self.read, hits, self.misses, self.missed, *money)


def pause_before(answer: SpentAnswer) -> str:
    """Return the name of the pause before an answer."""
    if answer.gap is None:
        return FIRST
    return next((name for most, name in PAUSES if answer.gap <= most), LONGEST_PAUSE)


def _uncached_cost(answer: SpentAnswer, prices: Prices, whole: int) -> int | None:
    """The cost of an answer without a cache."""
    return prices.cost(
        answer.model, answer.time, whole, answer.output, 0, 0, 0, 0, answer.web_searches, answer.tier, answer.speed,
        answer.geo,
    )  # fmt: skip


def cache(library: Library, asked: ReportRequest, by: str = "day") -> Report:
    """Return the use of the cache by a dimension; `pause` is the time since the previous answer."""
    prices = load_prices(library.settings)
    name_of = _names(asked, by)
    groups: dict[str, CacheTotals] = {}
    total = CacheTotals()
    for answer in reports_about(library, asked).spent_answers():
        groups.setdefault(name_of(answer), CacheTotals()).add(answer, prices)
        total.add(answer, prices)
    columns: tuple[str, ...] = (by, *COLUMNS)
    facts = {"total": dict(zip(COLUMNS, total.row(), strict=True)), "unpriced": total.answers - total.priced}
    rows = [(name, *groups[name].row()) for name in _ordered(groups, by)]
    if by == "chat":
        titles = library.titles()
        columns = (*columns, "title")
        rows = [(*row, titles.get(row[0], "")) for row in rows]
    return Report(columns, rows, facts, _notes(total), bar="saved_microdollars")


def _names(asked: ReportRequest, by: str) -> Callable[[SpentAnswer], str]:
    if by in PERIODS:
        period = PERIODS[by]

        def name(answer: SpentAnswer) -> str:
            when = moment_of(answer.time)
            return period(asked.local(when)) if when else "-"

        return name
    return NAMES[by]


def _ordered(groups: dict[str, CacheTotals], by: str) -> list[str]:
    if by == "pause":
        order = [FIRST, *(name for _, name in PAUSES), LONGEST_PAUSE]
        return [name for name in order if name in groups]
    return names_in_order(groups, by, lambda sums: (sums.saved, sums.answers))


def _notes(total: CacheTotals) -> list[str]:
    whole = total.input + total.write + total.read
    part = 100 * total.read / whole if whole else 0
    notes = [
        f"{count(total.answers, 'answer')}, each counted once, including those of agents",
        f"{part:.1f} % of {whole:,} input tokens came from the cache; savings are compared with no cache at all",
        "a miss wrote to the cache again what the answer before had, as in stats spend (there, agents are apart)",
    ]
    if total.answers > total.priced:
        notes.append(f"no known price for {count(total.answers - total.priced, 'answer')}: not included in amounts")
    return notes


NAMES: Final[dict[str, Callable[[SpentAnswer], str]]] = {
    "model": lambda answer: answer.model or "-",
    "project": lambda answer: answer.project or "-",
    "chat": lambda answer: answer.chat or "-",
    "pause": pause_before,
}
