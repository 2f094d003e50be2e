"""Usage by hours, days, weeks and months of a time zone.

The store sums by local hours or days itself, once for each span between two clock changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from backscroll.library.analytics.reports import QUARTER, ReportRequest, reports_about
from backscroll.library.library import Library
from backscroll.store.batches import EPOCH
from backscroll.store.report_rows import TimeUnit, UsageByName, UsageSpan

Group = TypeVar("Group")
PERIODS: Final[dict[str, Callable[[datetime], str]]] = {
    "day": lambda when: f"{when:%Y-%m-%d}",
    "week": lambda when: f"{when.isocalendar().year}-W{when.isocalendar().week:02}",
    "month": lambda when: f"{when:%Y-%m}",
    "hour": lambda when: f"{when:%Y-%m-%d %H:00}",
}
END: Final = datetime.max.replace(tzinfo=UTC)
LAST: Final = (END - EPOCH) // timedelta(microseconds=QUARTER) - 2 * 96
NO_TIME: Final = "-"
"""The period of answers without a time; the store puts them into the first quarter of an hour of 1970."""
A_DAY: Final = 96
FAR: Final = 130 * 365 * A_DAY
"""About 2100. Later times are mistakes; clock changes are ignored there, so that they cost nothing."""


class Stretch(NamedTuple):
    """A span between two clock changes of a zone, in quarters of an hour."""

    since: int
    until: int
    ahead: int
    """Offset of the zone's clocks from UTC."""


def names_in_order(groups: Mapping[str, Group], by: str, size: Callable[[Group], Any]) -> list[str]:
    """Return the group names of a report: the latest period first, other groups by size, the largest first."""
    if by in PERIODS:
        return sorted(groups, reverse=True)
    return sorted(sorted(groups), key=lambda name: size(groups[name]), reverse=True)


def usage_by_period(library: Library, asked: ReportRequest, by: str) -> Iterator[UsageByName]:
    """Yield the usage by period name; a period may occur more than once."""
    span = reports_about(library, ReportRequest()).usage_span() or UsageSpan(0, 0)
    stretches = stretches_of(asked, span)
    unit: TimeUnit = "hour" if by == "hour" else "day"
    names: dict[int, str] = {}
    for place, stretch in enumerate(stretches):
        since = _moment(stretch.since) if place else None  # answers without a time are in the first
        until = _moment(stretch.until) if place + 1 < len(stretches) else None
        part = replace(
            asked,
            since=max(filter(None, (asked.since, since)), default=None),
            until=min(filter(None, (asked.until, until)), default=None),
        )
        for row in reports_about(library, part).usage_over_time(unit, stretch.ahead):
            if row.period not in names:
                names[row.period] = period_name(by, row.period)
            yield UsageByName(names[row.period], row.model, row.sums)


def period_name(by: str, number: int) -> str:
    """Return the name of the period whose first hour or day has this number, counted from 1970."""
    step = timedelta(hours=1) if by == "hour" else timedelta(days=1)
    return PERIODS[by](EPOCH + min(number * step, END - EPOCH)) if number else NO_TIME


def stretches_of(asked: ReportRequest, span: UsageSpan) -> list[Stretch]:
    """Return the spans between clock changes, from the first answer to the last."""
    first, last = span
    stretches = []
    since, ahead = first, _ahead(asked, first)
    for quarter in range(first, min(last, FAR) + A_DAY, A_DAY):
        if _ahead(asked, quarter + A_DAY) != ahead:
            changed = next(at for at in range(quarter, quarter + A_DAY + 1) if _ahead(asked, at) != ahead)
            stretches.append(Stretch(since, changed, ahead))
            since, ahead = changed, _ahead(asked, quarter + A_DAY)
    return [*stretches, Stretch(since, last + 1, ahead)]


def _ahead(asked: ReportRequest, quarter: int) -> int:
    offset = asked.local(_moment(quarter)).utcoffset() or timedelta()
    return offset // timedelta(microseconds=QUARTER)


def _moment(quarter: int) -> datetime:
    return EPOCH + timedelta(microseconds=min(quarter, LAST) * QUARTER)
