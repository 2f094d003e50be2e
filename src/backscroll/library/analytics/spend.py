"""The cost of a period, its change from the period before, and the reasons.

Everything comes from single answers, each counted once, so that filtered sums still add up. An answer that calls
several tools is divided among them by the number of calls. A turn is a prompt and every answer until the next prompt in
its chat, agents included.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from backscroll.library.analytics.cost_parts import CostParts, cost_parts, divided_by
from backscroll.library.analytics.reports import QUARTER, ReportRequest, reports_about, start_of_quarter
from backscroll.library.analytics.spend_periods import (
    DAY,
    PACE_DAYS,
    Forecast,
    SpendPeriod,
    forecast,
)
from backscroll.library.analytics.unrecorded import Unrecorded, unrecorded_requests
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
"""The name among tools for answers that call none."""
UNKNOWN: Final = "-"
NONE_UNRECORDED: Final = Unrecorded(())


class SpendFilter(NamedTuple):
    """The answers that count: one name of each dimension, or all."""

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
    """A tool and its share of an answer's calls: the number of its first call, its calls, and all calls."""

    tool: str
    start: int
    calls: int
    of: int

    def share(self, number: int) -> int:
        """Return the tool's part of a number. The parts of all tools add up to the number."""
        return number * (self.start + self.calls) // self.of - number * self.start // self.of


class SpentItem(NamedTuple):
    """An answer with the parts of its cost, and the tools that it calls."""

    answer: SpentAnswer
    parts: CostParts
    tools: tuple[ToolShare, ...]

    @property
    def cost(self) -> int:
        """Nanodollars; 0 if there is no known price."""
        return self.answer.cost or 0


class Spending:
    """Sums over answers. Only totals have the parts of the cost."""

    __slots__ = ("answers", "cost", "output", "parts", "placeholders", "tokens", "unpriced")

    def __init__(self) -> None:
        self.answers = self.cost = self.tokens = self.output = self.unpriced = self.placeholders = 0
        self.parts: defaultdict[str, int] = defaultdict(int)

    def add(self, items: Sequence[SpentItem]) -> None:
        """Add answers: many at once, which is faster than one by one."""
        self.answers += len(items)
        costs = [item.answer.cost for item in items]
        self.cost += sum(cost for cost in costs if cost)
        self.unpriced += costs.count(None)
        self.placeholders += sum([not answer.is_final for answer, _, _ in items])
        output = sum([item.answer.output for item in items])
        self.output += output
        self.tokens += output + sum([answer.input + answer.cache_read + answer.cache_write for answer, _, _ in items])

    def explain(self, item: SpentItem) -> None:
        """Add the parts of an answer's cost."""
        for name, cost in item.parts.items():
            self.parts[name] += cost


class SpendGroup(NamedTuple):
    """The cost of one name of a dimension, now and in the period before."""

    name: str
    title: str
    now: Spending
    before: Spending

    @property
    def is_comparable(self) -> bool:
        """Whether neither cost is a lower bound."""
        return not self.now.placeholders and not self.before.placeholders

    @property
    def change(self) -> int:
        """Nanodollars more than before; 0 if either cost is a lower bound."""
        return self.now.cost - self.before.cost if self.is_comparable else 0


class SpentTurn(NamedTuple):
    """A prompt, and the answers until the next, with all of the agents that began in it."""

    chat: str
    prompt: TypedPrompt | None
    """None before the first prompt of a chat."""
    items: list[SpentItem]

    @property
    def cost(self) -> int:
        """The cost in nanodollars."""
        return sum(item.cost for item in self.items)

    @property
    def agents_cost(self) -> int:
        """The agents' part of the cost."""
        return sum(item.cost for item in self.items if item.answer.agent)


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
    """The answers of the period by chat."""
    turns: list[SpentTurn]
    """The turns of the period, the most expensive first."""
    forecast: Forecast
    titles: dict[str, str] = field(default_factory=dict)
    prompts: int = 0
    prompts_before: int = 0
    unrecorded: Unrecorded = NONE_UNRECORDED
    """Requests without a record in the period: in no sum, and of no agent, tool or turn."""

    @property
    def is_comparable(self) -> bool:
        """Whether there is a period before, and neither cost is a lower bound."""
        return self.period.before is not None and not self.total.placeholders and not self.before.placeholders


def spend(library: Library, asked: ReportRequest, period: SpendPeriod, only: SpendFilter, now: datetime) -> Spend:
    """Return the spending of a period. Of `asked`, only the query and the time zone apply."""
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
    names = {**titles, **{prompt.agent: prompt.text for prompt in prompts if prompt.agent}}
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
        _typed(current, only, prompts, period.has),
        _typed(earlier, only, prompts, period.had),
        _unrecorded(library, asked, period, only),
    )


def _unrecorded(library: Library, asked: ReportRequest, period: SpendPeriod, only: SpendFilter) -> Unrecorded:
    if only.agent or only.tool:
        return NONE_UNRECORDED
    reports = reports_about(library, replace(asked, since=period.since, until=period.until))
    return unrecorded_requests(reports).matching(**only.chosen)


def turns_of(chats: dict[str, list[SpentItem]], prompts: Iterable[TypedPrompt]) -> list[SpentTurn]:
    """Return the turns of some answers, the most expensive first."""
    typed: dict[str, list[TypedPrompt]] = defaultdict(list)
    for prompt in prompts:
        if prompt.starts_turn and not prompt.in_agent and prompt.time is not None and prompt.chat in chats:
            typed[prompt.chat].append(prompt)
    turns = []
    for chat, items in chats.items():
        known = typed[chat]
        starts = [prompt.time or 0 for prompt in known]
        by_turn: dict[int, list[SpentItem]] = defaultdict(list)
        for item in items:
            by_turn[bisect_right(starts, item.answer.begun or 0) - 1].append(item)
        turns += [SpentTurn(chat, known[at] if at >= 0 else None, some) for at, some in by_turn.items()]
    return sorted(turns, key=lambda turn: (-turn.cost, turn.items[0].answer.message))


def names_of(dimension: str, item: SpentItem) -> str:
    """Return the name of an answer in a dimension other than `tool`."""
    return getattr(item.answer, dimension) or (MAIN if dimension == "agent" else UNKNOWN)


def costs_by_day(items: Iterable[SpentItem], asked: ReportRequest) -> dict[date, int]:
    """Return nanodollars by local day; answers without a time are left out."""
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
    """Return three lists of answers: all, those of the period, and those of the period before."""
    calls: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for used_tool in reports.answer_tools():
        calls[used_tool.message].append((used_tool.tool or UNKNOWN, used_tool.calls))
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
    """Return a tool's part of an answer."""
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
    spend_groups = [SpendGroup(name, titles.get(name, ""), now[name], before[name]) for name in {**now, **before}]
    return sorted(spend_groups, key=lambda group: (-group.now.cost, -group.before.cost, -group.now.tokens, group.name))


def _sum_items(items: Sequence[SpentItem]) -> Spending:
    total = Spending()
    total.add(items)
    for item in items:
        total.explain(item)
    return total


def _prompts(reports: Reports) -> list[TypedPrompt]:
    """Return the prompts in order of time, each once: copies in other files are later."""
    first_copies: dict[str, TypedPrompt] = {}
    for prompt in reports.typed_prompts():
        first_copies.setdefault(prompt.uuid, prompt)
    return list(first_copies.values())


def _typed(
    items: list[SpentItem], only: SpendFilter, prompts: list[TypedPrompt], is_in: Callable[[int | None], bool]
) -> int:
    """Return the number of prompts typed in the period; with a filter, only in the chats of these answers."""
    chats = {item.answer.chat for item in items}
    is_all = not any(value for _, value in only.chosen.items())
    return sum(
        1 for prompt in prompts
        if not prompt.in_agent and prompt.time is not None and (is_all or prompt.chat in chats) and is_in(prompt.time)
    )  # fmt: skip


def _forecast(items: list[SpentItem], asked: ReportRequest, now: datetime, span: UsageSpan | None) -> Forecast:
    local = asked.local(now)
    part = (local - _midnight(local)) / DAY
    first = asked.local(EPOCH + timedelta(microseconds=span.first * QUARTER)).date() if span else None
    return forecast(costs_by_day(items, asked), local.date(), min(1.0, max(0.0, part)), first)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


NOTHING_CALLED: Final = ((NO_TOOL, 1),)
