"""Time axes: every hour, day, week or month from the first to the last, also those in which nothing was."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from backscroll.library.analytics.moments import within
from backscroll.library.analytics.periods import NO_TIME, PERIODS, usage_by_period
from backscroll.library.analytics.reports import ReportRequest as About
from backscroll.library.analytics.reports import reports_about
from backscroll.library.analytics.touched import moment_of
from backscroll.library.library import Library
from backscroll.render.html.charts import Axis, Series

SYNTHETIC: Final = "<synthetic>"
MOST_COLUMNS: Final = 400
SERIES: Final = 7
"""So many have a colour of their own; the rest are the eighth."""
DAY: Final = timedelta(days=1)
STEPS: Final = {"hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY}


class PeriodUsage(NamedTuple):
    """What some answers of one period add up to."""

    period: str
    """An hour or a day."""
    name: str
    """Of a model or a project."""
    answers: int
    tokens: int
    nanodollars: int


def is_drawn(name: str) -> bool:
    """Whether a period is one that a clock in order can show. Some times in transcripts are of the year 1."""
    return name[:2] in ("19", "20", "21") and name[4:5] == "-"


def axis_of(period: str, first: str, last: str) -> Axis:
    """All periods between two of them, the latest if they are too many to be drawn."""
    names, spans = [], []
    for moment in _moments(period, _parsed(period, first), _parsed(period, last)):
        names.append(PERIODS[period](moment))
        spans.append(_span(period, moment))
    return Axis(names[-MOST_COLUMNS:], spans[-MOST_COLUMNS:])


def fitting(first: date, last: date) -> str:
    """The period of which neither too few nor too many lie between two days."""
    days = (last - first).days + 1
    return "hour" if days <= 2 else "day" if days <= 120 else "week" if days <= 800 else "month"


def usage_over_time(
    library: Library, about: About, stack: str, show: str, period: str
) -> tuple[str, Axis, list[Series]]:
    """The periods with what was used in them, by model or project; an empty period is one that fits."""
    spent = [
        one for one in _spent(library, about, stack, "hour" if period == "hour" else "day") if is_drawn(one.period)
    ]
    if not spent:
        return period or "day", Axis([]), []
    names = sorted({one.period for one in spent})
    if not period:
        period = fitting(date.fromisoformat(names[0][:10]), date.fromisoformat(names[-1][:10]))
        if period == "hour":
            return usage_over_time(library, about, stack, show, period)
    values: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in spent:
        name = one.period if period == "hour" else PERIODS[period](datetime.fromisoformat(one.period))
        values[one.name][name] += MEASURED[show](one)
    axis = axis_of(period, min(min(some) for some in values.values()), max(max(some) for some in values.values()))
    return period, axis, series_of(values, axis)


def series_of(values: dict[str, dict[str, float]], axis: Axis) -> list[Series]:
    """Series along an axis, the largest first, the smallest together as one."""
    ordered = sorted(values, key=lambda name: (-sum(values[name].values()), name))
    kept = ordered if len(ordered) <= SERIES + 1 else ordered[:SERIES]
    series = [Series(name, [values[name].get(place, 0.0) for place in axis.names]) for name in kept]
    if rest := ordered[len(kept) :]:
        summed = [sum(values[name].get(place, 0.0) for name in rest) for place in axis.names]
        series.append(Series(f"{len(rest):,} others", summed))
    return series


def _spent(library: Library, about: About, stack: str, period: str) -> Iterator[PeriodUsage]:
    if stack == "model":
        for row in usage_by_period(library, about, period):
            if row.name and row.name != NO_TIME and row.model != SYNTHETIC:
                yield PeriodUsage(row.name, row.model or "-", row.sums.messages, row.sums.tokens, row.sums.cost)
        return
    is_asked = within(about)
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for answer in reports_about(library, about).cached_answers():
        when = moment_of(answer.time)
        if when is None or not is_asked(answer.time or 0):
            continue
        some = sums[PERIODS[period](about.local(when)), answer.project or "-"]
        some[0] += 1
        some[1] += answer.input + answer.output + answer.cache_write + answer.cache_read
        some[2] += answer.cost or 0
    for (name, project), (answers, tokens, cost) in sums.items():
        yield PeriodUsage(name, project, answers, tokens, cost)


def _parsed(period: str, name: str) -> datetime:
    if period == "week":
        year, week = name.split("-W")
        return datetime.fromisocalendar(int(year), int(week), 1).replace(tzinfo=UTC)
    return datetime.fromisoformat(f"{name}-01" if period == "month" else name).replace(tzinfo=UTC)


def _moments(period: str, first: datetime, last: datetime) -> Iterable[datetime]:
    """The beginnings of periods, the latest `MOST_COLUMNS` of them; on a clock without summer time."""
    if period == "month":
        months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
        return [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months[-MOST_COLUMNS:]]
    step = STEPS[period]
    count = (last - first) // step
    return [last - number * step for number in range(min(count, MOST_COLUMNS - 1), -1, -1)]


def bounds_of(period: str, name: str) -> tuple[str, str]:
    """From when until when a period is, as queries have it: its end is no longer part of it."""
    first, end = _bounds(period, _parsed(period, name))
    shape = "%Y-%m-%dT%H:%M" if period == "hour" else "%Y-%m-%d"
    return f"{first:{shape}}", f"{end:{shape}}"


def _bounds(period: str, moment: datetime) -> tuple[datetime, datetime]:
    if period == "month":
        return moment, (moment.replace(day=28) + 4 * DAY).replace(day=1)
    return moment, moment + STEPS[period]


def _span(period: str, moment: datetime) -> tuple[str, str]:
    """The same as `since` and `until` have it: of days, the last one is named."""
    first, end = _bounds(period, moment)
    if period == "hour":
        return f"{first:%Y-%m-%dT%H:%M}", f"{end:%Y-%m-%dT%H:%M}"
    return f"{first:%Y-%m-%d}", f"{end - DAY:%Y-%m-%d}"


MEASURED: Final[dict[str, Callable[[PeriodUsage], float]]] = {
    "cost": lambda one: one.nanodollars / 1000,
    "tokens": lambda one: float(one.tokens),
    "answers": lambda one: float(one.answers),
}
"""What a chart can show; money in microdollars."""
