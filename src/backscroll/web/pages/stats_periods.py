"""Time axes: every hour, day, week or month from the first to the last, including empty ones."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from backscroll.library.analytics.file_calls import moment_of
from backscroll.library.analytics.moments import within
from backscroll.library.analytics.periods import NO_TIME, PERIODS, usage_by_period
from backscroll.library.analytics.reports import ReportRequest as About
from backscroll.library.analytics.reports import reports_about
from backscroll.library.library import Library
from backscroll.render.charts import measure_text
from backscroll.render.html.axes import day_name, week_name
from backscroll.render.html.charts import Axis, Series

SYNTHETIC: Final = "<synthetic>"
MAX_COLUMNS: Final = 400
SERIES: Final = 7
"""Number of series with a colour of their own; the rest share the eighth."""
DAY: Final = timedelta(days=1)
COARSER: Final = {"hour": "day", "day": "week", "week": "month"}
"""The next larger period, for axes with too many columns."""
LEAST_LEFT: Final = 0.5
"""Smallest rest that the note mentions: less than half a microdollar, token or answer is a matter of rounding."""
STEPS: Final = {"hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY}


class PeriodUsage(NamedTuple):
    """Sums of some answers of one period."""

    period: str
    """Name of the hour or day."""
    name: str
    """Name of a model or a project."""
    answers: int
    tokens: int
    nanodollars: int


def is_drawn(name: str) -> bool:
    """Whether a right clock can show this period. Some times in transcripts are of the year 1."""
    return name[:2] in ("19", "20", "21") and name[4:5] == "-"


def axis_of(period: str, first: str, last: str) -> Axis:
    """Return all periods between two of them, the latest if they are too many to be drawn."""
    names, spans = [], []
    for moment in _moments(period, _parsed(period, first), _parsed(period, last)):
        names.append(PERIODS[period](moment))
        spans.append(_span(period, moment))
    years = {name[:4] for name in names}
    is_long = len(years) > 1
    name_of = {"week": week_name, "day": day_name}.get(period)
    labels = [name_of(name, with_year=is_long) for name in names] if name_of else ()
    starts = [day_name(since, with_year=is_long) for since, _ in spans] if period == "week" else ()
    return Axis(names, spans, labels, starts)


def count_periods(period: str, first: str, last: str) -> int:
    """Return the number of periods between two hours or days."""
    begin, end = datetime.fromisoformat(first), datetime.fromisoformat(last)
    if period == "month":
        return 12 * (end.year - begin.year) + end.month - begin.month + 1
    return (end - begin) // STEPS[period] + 1


def fitting(first: date, last: date) -> str:
    """Return the period that divides the time between two days into neither too few nor too many parts."""
    days = (last - first).days + 1
    return "hour" if days <= 2 else "day" if days <= 120 else "week" if days <= 800 else "month"


class DrawnUsage(NamedTuple):
    """The contents of a chart over time."""

    period: str
    axis: Axis
    series: list[Series]
    note: str
    """The drawn period, its total, and what is left out."""


def usage_over_time(library: Library, about: About, stack: str, show: str, period: str, now: datetime) -> DrawnUsage:
    """Return usage by period and by model or project; an empty `period` means the one that fits."""
    base = "hour" if period == "hour" or (not period and _is_short(about.since, about.until, now)) else "day"
    spent = list(_spent(library, about, stack, base))
    if not period and base == "day" and spent:
        days = sorted({row.period for row in spent if is_drawn(row.period)})
        if days and fitting(date.fromisoformat(days[0]), date.fromisoformat(days[-1])) == "hour":
            base, spent = "hour", list(_spent(library, about, stack, "hour"))
    values: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    untimed = 0.0
    for row in spent:
        if row.period == NO_TIME:
            untimed += MEASURED[show](row)
        else:
            values[row.name][row.period] += MEASURED[show](row)
    ranks, measure = colour_ranks(library, stack), SHOWN_AS[show]
    return drawn_over_time(values, base, period, (about.since, about.until), about.local, now, ranks, measure, untimed)


def hour_or_day(since: datetime | None, until: datetime | None, now: datetime, times: Iterable[int | None]) -> str:
    """Return `hour` if the chart's period, or all its data, covers two days at most; else `day`."""
    if since is not None:
        return "hour" if _is_short(since, until, now) else "day"
    known = [time for time in times if time is not None]
    return "hour" if known and max(known) - min(known) < 2 * DAY.days * 86_400_000_000 else "day"


def drawn_over_time(
    values: Mapping[str, Mapping[str, float]], base: str, wanted: str, ends: tuple[datetime | None, datetime | None],
    local: Callable[[datetime], datetime], now: datetime, ranks: Mapping[str, int], measure: str, untimed: float = 0.0,
) -> DrawnUsage:  # fmt: skip
    """Return values by name and hour or day (`base`) along an axis of `wanted` periods, or of those that fit.

    The axis covers the whole period, and no more: anything outside of it is blank. If there are too many columns, they
    become weeks or months.
    """
    known = sorted({place for some in values.values() for place in some if is_drawn(place)})
    since, until = ends
    first = _base_name(base, local(since)) if since else known[0] if known else ""
    end = min(until, now) if until else now
    last = _base_name(base, local(end - timedelta(microseconds=1))) if since else known[-1] if known else ""
    last = max([last, *known[-1:]])
    if not first or not last:
        return DrawnUsage(wanted or "day", Axis([]), [], "")
    period = wanted or (base if base == "hour" else fitting(*(date.fromisoformat(name[:10]) for name in (first, last))))
    period = "day" if period == "hour" and base == "day" else period
    fitted_period = period
    while period in COARSER and count_periods(period, first, last) > MAX_COLUMNS:
        period = COARSER[period]
    folded: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for name, some in values.items():
        for place, value in some.items():
            if is_drawn(place):
                folded[name][PERIODS[period](datetime.fromisoformat(place))] += value
    names = (PERIODS[period](datetime.fromisoformat(place)) for place in (first, last))
    axis = axis_of(period, *names)
    series = series_of(folded, axis, ranks)
    drawn = sum(value or 0 for row in series for value in row.values)
    whole = sum(value for some in values.values() for value in some.values()) + untimed
    total = measure_text(measure, drawn)
    note = [f"{_ends(axis)}: {total}"]
    if period != fitted_period:
        note.append(f"drawn by {period}, because there are too many {fitted_period}s to draw")
    if whole - drawn > LEAST_LEFT:
        note.append(f"not drawn: {measure_text(measure, whole - drawn)} without a time, or of a time before 1900")
    return DrawnUsage(period, axis, series, "; ".join(note) + ".")


def _ends(axis: Axis) -> str:
    """Return the first and the last place of an axis, with the year."""
    if len(axis.names) == 1:
        return axis.names[0]
    first, last = axis.label(0), axis.label(len(axis.names) - 1)
    year = axis.names[-1][:4]
    return f"{first} to {last}" + ("" if year in last else f", {year}")


def colour_ranks(library: Library, stack: str) -> dict[str, int]:
    """Rank the models or projects by their cost over all time: a name keeps its colour, whatever period is shown."""
    costs: dict[str, int] = defaultdict(int)
    for row in reports_about(library, About()).usage_by("project" if stack == "project" else "model"):
        costs[row.name or "-"] += row.sums.cost
    return {name: rank for rank, name in enumerate(sorted(costs, key=lambda name: (-costs[name], name)))}


def series_of(values: Mapping[str, Mapping[str, float]], axis: Axis, ranks: Mapping[str, int]) -> list[Series]:
    """Return series along an axis, the largest first; the smallest, and those whose colour is taken, are merged."""
    ordered = sorted(values, key=lambda name: (-sum(values[name].values()), name))
    kept: dict[str, int] = {}
    for name in ordered:
        colour = ranks.get(name, len(ranks)) % SERIES
        if colour not in kept.values():
            kept[name] = colour
    series = [
        Series(name, [values[name].get(place, 0.0) for place in axis.names], colour) for name, colour in kept.items()
    ]
    if rest := [name for name in ordered if name not in kept]:
        summed = [sum(values[name].get(place, 0.0) for name in rest) for place in axis.names]
        series.append(Series(f"{len(rest):,} others", summed, SERIES))
    return series


def _spent(library: Library, about: About, stack: str, period: str) -> Iterator[PeriodUsage]:
    if stack == "model":
        for row in usage_by_period(library, about, period):
            if row.name and row.model != SYNTHETIC:
                yield PeriodUsage(row.name, row.model or "-", row.sums.messages, row.sums.tokens, row.sums.cost)
        return
    is_asked = within(about)
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for answer in reports_about(library, about).spent_answers():
        when = moment_of(answer.time)
        if (when is None and (about.since or about.until)) or (when is not None and not is_asked(answer.time or 0)):
            continue
        some = sums[PERIODS[period](about.local(when)) if when else NO_TIME, answer.project or "-"]
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
    """Return the starts of periods, the latest `MAX_COLUMNS` of them; on a clock without summer time."""
    if period == "month":
        months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
        return [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months[-MAX_COLUMNS:]]
    step = STEPS[period]
    count = (last - first) // step
    return [last - number * step for number in range(min(count, MAX_COLUMNS - 1), -1, -1)]


def bounds_of(period: str, name: str) -> tuple[str, str]:
    """Return start and exclusive end of a period, as queries write them."""
    first, end = _bounds(period, _parsed(period, name))
    shape = "%Y-%m-%dT%H:%M" if period == "hour" else "%Y-%m-%d"
    return f"{first:{shape}}", f"{end:{shape}}"


def _bounds(period: str, moment: datetime) -> tuple[datetime, datetime]:
    if period == "month":
        return moment, (moment.replace(day=28) + 4 * DAY).replace(day=1)
    return moment, moment + STEPS[period]


def _span(period: str, moment: datetime) -> tuple[str, str]:
    """Return `since` and `until` of a period; if they are days, `until` is the last day."""
    first, end = _bounds(period, moment)
    if period == "hour":
        return f"{first:%Y-%m-%dT%H:%M}", f"{end:%Y-%m-%dT%H:%M}"
    return f"{first:%Y-%m-%d}", f"{end - DAY:%Y-%m-%d}"


MEASURED: Final[dict[str, Callable[[PeriodUsage], float]]] = {
    "cost": lambda one: one.nanodollars / 1000,
    "tokens": lambda one: float(one.tokens),
    "answers": lambda one: float(one.answers),
}
"""Measures that a chart can show; money in microdollars."""
SHOWN_AS: Final = {"cost": "cost_microdollars", "tokens": "all_tokens", "answers": "answers"}
"""Names of these measures in reports."""


def _is_short(since: datetime | None, until: datetime | None, now: datetime) -> bool:
    return since is not None and (min(until, now) if until else now) - since <= 2 * DAY


def _base_name(base: str, moment: datetime) -> str:
    return PERIODS[base](moment)
