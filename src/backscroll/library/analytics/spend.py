"""What a period cost, what changed against the period before, and why.

Everything comes from single answers, each counted once, so that whatever is filtered still adds up. An answer that
calls several tools is divided among them by the number of calls. A turn is a prompt and every answer until the next
prompt in its chat, agents included.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from backscroll.library.analytics.cost_parts import CostParts, cost_parts, divided_by
from backscroll.library.analytics.reports import QUARTER, ReportRequest, start_of_quarter
from backscroll.library.analytics.spend_periods import (
    DAY,
    PACE_DAYS,
    Forecast,
    SpendPeriod,
    forecast,
)
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from backscroll.pricing.prices import Prices
from backscroll.store.batches import EPOCH
from backscroll.store.report_rows import TypedPrompt, UsageSpan
from backscroll.store.reports import Reports
from backscroll.store.spend_rows import SpentAnswer

DIMENSIONS: Final = ("model", "project", "chat", "agent", "tool")
MAIN: Final = "main"
"""The name of the main conversation among agents."""
NO_TOOL: Final = "none"
"""The name of no tool among tools."""
UNKNOWN: Final = "-"


class SpendFilter(NamedTuple):
    """Which answers count: of each dimension one name, or all."""

    model: str = ""
    project: str = ""
    chat: str = ""
    agent: str = ""
    tool: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """The dimensions with a name."""
        return {name: value for name, value in self._asdict().items() if value}


class ToolShare(NamedTuple):
    """A tool, and its part of the calls of an answer: from which call on, how many, of how many."""

    tool: str
    start: int
    calls: int
    of: int

    def share(self, number: int) -> int:
        """Its part of a number. The parts of all tools add up to the number."""
        return number * (self.start + self.calls) // self.of - number * self.start // self.of


class SpentItem(NamedTuple):
    """An answer with what its cost pays for, and the tools that it calls."""

    answer: SpentAnswer
    parts: CostParts
    tools: tuple[ToolShare, ...]

    @property
    def cost(self) -> int:
        """Nanodollars; 0 if there is no known price."""
        return self.answer.cost or 0


class Spending:
    """What some answers add up to. Only totals know what the cost pays for."""

    __slots__ = ("answers", "cost", "output", "parts", "tokens", "unpriced")

    def __init__(self) -> None:
        self.answers = self.cost = self.tokens = self.output = self.unpriced = 0
        self.parts: defaultdict[str, int] = defaultdict(int)

    def add(self, items: Sequence[SpentItem]) -> None:
        """Add answers: many at once, which is faster than one by one."""
        self.answers += len(items)
        costs = [item.answer.cost for item in items]
        self.cost += sum(cost for cost in costs if cost)
        self.unpriced += costs.count(None)
        output = sum([item.answer.output for item in items])
        self.output += output
        self.tokens += output + sum([one.input + one.cache_read + one.cache_write for one, _, _ in items])

    def explain(self, item: SpentItem) -> None:
        """Add what the cost of an answer pays for."""
        for name, cost in item.parts.items():
            self.parts[name] += cost


class SpendGroup(NamedTuple):
    """What one name of a dimension cost, and what it cost in the period before."""

    name: str
    title: str
    now: Spending
    before: Spending

    @property
    def change(self) -> int:
        """Nanodollars more than before."""
        return self.now.cost - self.before.cost


class SpentTurn(NamedTuple):
    """A prompt, and the answers until the next."""

    chat: str
    prompt: TypedPrompt | None
    """None before the first prompt of a chat."""
    items: list[SpentItem]

    @property
    def cost(self) -> int:
        """Nanodollars."""
        return sum(item.cost for item in self.items)


@dataclass
class Spend:
    """A period and the one before it, by every dimension."""

    period: SpendPeriod
    only: SpendFilter
    total: Spending
    before: Spending
    groups: dict[str, list[SpendGroup]]
    """By dimension, the most expensive first."""
    items: list[SpentItem]
    """The answers of the period, in order of time."""
    chats: dict[str, list[SpentItem]]
    """The same by chat."""
    turns: list[SpentTurn]
    """The most expensive first."""
    forecast: Forecast
    titles: dict[str, str] = field(default_factory=dict)
    prompts: int = 0
    prompts_before: int = 0


def spend(library: Library, asked: ReportRequest, period: SpendPeriod, only: SpendFilter, now: datetime) -> Spend:
    """The spending of a period. Of `asked`, the query and the time zone count."""
    today = asked.local(now)
    starts = [period.before[0] if period.before else period.since, today.replace(day=1), today - (PACE_DAYS + 1) * DAY]
    first = None if period.since is None else _midnight(min(filter(None, starts)))
    reports = library.reader.reports(asked.query, since=start_of_quarter(first), until=None)
    items, current, earlier = _items(reports, only, load_prices(library.settings), period)
    prompts = _prompts(reports)
    titles = library.titles()
    chats: dict[str, list[SpentItem]] = defaultdict(list)
    for item in current:
        chats[item.answer.chat or UNKNOWN].append(item)
    names = {**titles, **{one.agent: one.text for one in prompts if one.agent}}
    return Spend(
        period,
        only,
        _sum_items(current),
        _sum_items(earlier),
        {dimension: _groups(dimension, current, earlier, names) for dimension in DIMENSIONS},
        current,
        dict(chats),
        turns_of(chats, prompts),
        _forecast(items, asked, now, reports.usage_span()),
        titles,
        *(_typed(some, prompts, is_in) for some, is_in in ((current, period.has), (earlier, period.had))),
    )


def turns_of(chats: dict[str, list[SpentItem]], prompts: Iterable[TypedPrompt]) -> list[SpentTurn]:
    """The turns of some answers, the most expensive first."""
    typed: dict[str, list[TypedPrompt]] = defaultdict(list)
    for prompt in prompts:
        if not prompt.in_agent and prompt.time is not None and prompt.chat in chats:
            typed[prompt.chat].append(prompt)
    turns = []
    for chat, items in chats.items():
        known = typed[chat]
        starts = [prompt.time or 0 for prompt in known]
        found: dict[int, list[SpentItem]] = defaultdict(list)
        for item in items:
            found[bisect_right(starts, item.answer.time or 0) - 1].append(item)
        turns += [SpentTurn(chat, known[at] if at >= 0 else None, some) for at, some in found.items()]
    return sorted(turns, key=lambda turn: (-turn.cost, turn.items[0].answer.message))


def names_of(dimension: str, item: SpentItem) -> str:
    """The name of an answer in a dimension other than `tool`."""
    return getattr(item.answer, dimension) or (MAIN if dimension == "agent" else UNKNOWN)


def costs_by_day(items: Iterable[SpentItem], asked: ReportRequest) -> dict[date, int]:
    """Nanodollars by local day; answers without a time are left out."""
    costs: dict[date, int] = defaultdict(int)
    days: dict[int, date] = {}
    for item in items:
        if item.answer.time is None:
            continue
        quarter = item.answer.time // QUARTER  # in every time zone, days begin with a quarter of an hour
        if quarter not in days:
            days[quarter] = asked.local(EPOCH + timedelta(microseconds=quarter * QUARTER)).date()
        costs[days[quarter]] += item.cost
    return dict(costs)


def _items(
    reports: Reports, only: SpendFilter, prices: Prices, period: SpendPeriod
) -> tuple[list[SpentItem], list[SpentItem], list[SpentItem]]:
    """The answers; those of the period, and those of the period before."""
    calls: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for one in reports.answer_tools():
        calls[one.message].append((one.tool or UNKNOWN, one.calls))
    chosen = [(name, value) for name, value in only.chosen.items() if name != "tool"]
    items, current, earlier = [], [], []
    for answer in reports.spent_answers():
        is_current = period.has(answer.time)
        is_earlier = not is_current and period.had(answer.time)
        parts = cost_parts(answer, prices) if is_current or is_earlier else {}
        item = SpentItem(answer, parts, _shares(tuple(calls.get(answer.message, NOTHING_CALLED))))
        if any(names_of(name, item) != value for name, value in chosen):
            continue
        if only.tool:
            part = next((share for share in item.tools if share.tool == only.tool), None)
            if part is None:
                continue
            item = part_of(item, part)._replace(tools=(ToolShare(part.tool, 0, 1, 1),))
        items.append(item)
        if is_current:
            current.append(item)
        elif is_earlier:
            earlier.append(item)
    return items, current, earlier


def part_of(item: SpentItem, share: ToolShare) -> SpentItem:
    """What of an answer falls to a tool."""
    if share.calls == share.of:
        return item
    answer = item.answer
    cost = None if answer.cost is None else share.share(answer.cost)
    part = answer._replace(
        cost=cost,
        input=share.share(answer.input),
        output=share.share(answer.output),
        cache_write=share.share(answer.cache_write),
        cache_read=share.share(answer.cache_read),
    )
    return SpentItem(part, divided_by(item.parts, cost) if cost else {}, item.tools)


@lru_cache(maxsize=1024)
def _shares(called: tuple[tuple[str, int], ...]) -> tuple[ToolShare, ...]:
    of, start, shares = sum(count for _, count in called), 0, []
    for tool, count in called:
        shares.append(ToolShare(tool, start, count, of))
        start += count
    return tuple(shares)


def _groups(
    dimension: str, current: list[SpentItem], earlier: list[SpentItem], titles: dict[str, str]
) -> list[SpendGroup]:
    is_tool, nameless, name_of = (
        dimension == "tool",
        MAIN if dimension == "agent" else UNKNOWN,
        attrgetter("model" if dimension == "tool" else dimension),
    )
    sums: tuple[dict[str, Spending], ...] = (defaultdict(Spending), defaultdict(Spending))
    for items, groups in zip((current, earlier), sums, strict=True):
        named: dict[str, list[SpentItem]] = defaultdict(list)
        for item in items:
            if is_tool:
                for share in item.tools:
                    named[share.tool].append(part_of(item, share))
            else:
                named[name_of(item.answer) or nameless].append(item)
        for name, some in named.items():
            groups[name].add(some)
    now, before = sums
    found = [SpendGroup(name, titles.get(name, ""), now[name], before[name]) for name in {**now, **before}]
    return sorted(found, key=lambda group: (-group.now.cost, -group.before.cost, -group.now.tokens, group.name))


def _sum_items(items: Sequence[SpentItem]) -> Spending:
    total = Spending()
    total.add(items)
    for item in items:
        total.explain(item)
    return total


def _prompts(reports: Reports) -> list[TypedPrompt]:
    """The prompts in order of time, each once: copies in other files are later."""
    found: dict[str, TypedPrompt] = {}
    for prompt in reports.typed_prompts():
        found.setdefault(prompt.uuid, prompt)
    return list(found.values())


def _typed(items: list[SpentItem], prompts: list[TypedPrompt], is_in: Callable[[int | None], bool]) -> int:
    """How many prompts were typed in the chats of these answers, in their period."""
    chats = {item.answer.chat for item in items}
    return sum(1 for one in prompts if not one.in_agent and one.chat in chats and is_in(one.time))


def _forecast(items: list[SpentItem], asked: ReportRequest, now: datetime, span: UsageSpan | None) -> Forecast:
    local = asked.local(now)
    part = (local - _midnight(local)) / DAY
    first = asked.local(EPOCH + timedelta(microseconds=span.first * QUARTER)).date() if span else None
    return forecast(costs_by_day(items, asked), local.date(), min(1.0, max(0.0, part)), first)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


NOTHING_CALLED: Final = ((NO_TOOL, 1),)
