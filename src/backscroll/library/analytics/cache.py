"""The prompt cache: how much of the input came from it, what that saved, and what pauses cost."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from backscroll.library.analytics.periods import PERIODS
from backscroll.library.analytics.reports import QUARTER, Asked, Report, ask, share
from backscroll.library.analytics.touched import moment_of
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from backscroll.pricing import Prices, microdollars
from backscroll.store import microseconds

DIMENSIONS: Final = ("day", "week", "month", "model", "project", "chat", "pause")
COLUMNS: Final = (
    "answers", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "hit_share", "misses",
    "missed_tokens", "missed_cost_microdollars", "cost_microdollars", "saved_microdollars",
)  # fmt: skip
MINUTES: Final = 60 * 1_000_000
FIRST: Final = "first answer"
PAUSES: Final = ((5 * MINUTES, "up to 5 min"), (60 * MINUTES, "5 min to 1 h"))
LONGEST: Final = "more than 1 h"


class Answer(NamedTuple):
    """An answer with what it read and wrote, as the store has it."""

    time: int | None
    model: str | None
    input: int
    output: int
    write: int
    read: int
    write_5m: int
    write_1h: int
    searches: int
    tier: str | None
    speed: str | None
    geo: str | None
    cost: int | None
    chat: str | None
    project: str | None
    gap: int | None
    """Microseconds since the answer before in the same conversation; None for the first."""

    @property
    def is_miss(self) -> bool:
        """Whether the cache had nothing of a conversation that went on."""
        return self.gap is not None and self.write > 0 and self.read == 0

    @property
    def pause(self) -> str:
        """How long it was since the answer before."""
        if self.gap is None:
            return FIRST
        return next((name for most, name in PAUSES if self.gap <= most), LONGEST)

    def price(self, prices: Prices, plain: int, write: int, read: int) -> int | None:
        """What it would have cost with the input divided up so."""
        hour = self.write_1h if write else 0
        short = self.write_5m if write else 0
        return prices.cost(
            self.model, self.time, plain, self.output, write, read, short, hour, self.searches, self.tier, self.speed,
            self.geo,
        )  # fmt: skip


class Sums:
    """What answers add up to; money in nanodollars."""

    __slots__ = ("answers", "cost", "input", "missed", "missed_cost", "misses", "priced", "read", "saved", "write")

    def __init__(self) -> None:
        self.answers = self.input = self.write = self.read = self.misses = self.missed = 0
        self.missed_cost = self.cost = self.saved = self.priced = 0

    def add(self, answer: Answer, prices: Prices) -> None:
        """Take one more into account."""
        self.answers += 1
        self.input += answer.input
        self.write += answer.write
        self.read += answer.read
        if answer.is_miss:
            self.misses += 1
            self.missed += answer.write
        if answer.cost is None:
            return
        self.priced += 1
        self.cost += answer.cost
        whole = answer.input + answer.write + answer.read
        self.saved += (answer.price(prices, whole, 0, 0) or answer.cost) - answer.cost
        if answer.is_miss:
            warm = answer.price(prices, answer.input, 0, answer.write)
            self.missed_cost += answer.cost - (answer.cost if warm is None else warm)

    def row(self) -> tuple[Any, ...]:
        """The columns."""
        money = (
            microdollars(self.missed_cost) if self.priced else None,
            microdollars(self.cost) if self.priced else None,
            microdollars(self.saved) if self.priced else None,
        )
        hits = share(self.read, self.input + self.write + self.read)
        return (self.answers, self.input, self.write, self.read, hits, self.misses, self.missed, *money)


def cache(library: Library, asked: Asked, by: str = "day") -> Report:
    """How well the cache worked, by a dimension; `pause` is the time since the answer before."""
    prices = load_prices(library.settings)
    since = microseconds(asked.since)
    since = None if since is None else since // QUARTER * QUARTER
    name_of = _names(asked, by)
    groups: dict[str, Sums] = {}
    total = Sums()
    for row in ask(library, "cache answers", asked):
        answer = Answer(*row)
        # The store gives the older ones too, so that the first one has its pause.
        if since is not None and (answer.time is None or answer.time < since):
            continue
        groups.setdefault(name_of(answer), Sums()).add(answer, prices)
        total.add(answer, prices)
    columns: tuple[str, ...] = (by, *COLUMNS)
    facts = {"total": dict(zip(COLUMNS, total.row(), strict=True)), "unpriced": total.answers - total.priced}
    rows = [(name, *groups[name].row()) for name in _ordered(groups, by)]
    if by == "chat":
        titles = dict(library.store.report("titles", None, library.scope, since=None, until=None))
        columns = (*columns, "title")
        rows = [(*row, titles.get(row[0], "")) for row in rows]
    return Report(columns, rows, facts, _notes(total), bar="saved_microdollars")


def _names(asked: Asked, by: str) -> Callable[[Answer], str]:
    if by in PERIODS:
        period = PERIODS[by]

        def name(answer: Answer) -> str:
            when = moment_of(answer.time)
            return period(asked.local(when)) if when else "-"

        return name
    return lambda answer: str(getattr(answer, by) or "-")


def _ordered(groups: dict[str, Sums], by: str) -> list[str]:
    if by == "pause":
        order = [FIRST, *(name for _, name in PAUSES), LONGEST]
        return [name for name in order if name in groups]
    if by in PERIODS:
        return sorted(groups, reverse=True)
    return sorted(groups, key=lambda name: (-groups[name].saved, -groups[name].answers, name))


def _notes(total: Sums) -> list[str]:
    whole = total.input + total.write + total.read
    part = 100 * total.read / whole if whole else 0
    notes = [
        f"{total.answers:,} answers counted, each once, those of agents too",
        f"of {whole:,} tokens of input {part:.1f} % came from the cache; saved is against the same without any cache",
        "a miss read nothing from the cache though its conversation went on; its cost is against reading what it wrote",
    ]
    if total.answers > total.priced:
        notes.append(f"{total.answers - total.priced:,} answers have no price, and are not in the money")
    return notes
