"""The period of a Spend report, the equally long one before it, and the forecast of the month. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from math import ceil
from typing import Final

from backscroll.library.analytics.reports import start_of_quarter

DEFAULT_SINCE: Final = "7d"
"""The start if neither a start nor an end is given: a week can be compared with the one before."""
DAY: Final = timedelta(days=1)
PACE_DAYS: Final = 14
"""The forecast uses the average of this many full days, or of all if there are fewer."""
LEAST_DAYS: Final = 7
"""With fewer full days since the first answer there is no forecast: a week has days of every kind."""


@dataclass(frozen=True)
class SpendPeriod:
    """A period, and the period that it is compared with."""

    since: datetime | None
    """Start of the period; None if it begins with the first answer."""
    until: datetime | None
    """End of the period; None if it is still running."""
    before: tuple[datetime, datetime] | None = None
    """As long as the period until now. None if there is nothing to compare with."""

    def has(self, time: int | None) -> bool:
        """Whether an answer is in the period, to the quarter of an hour, as in all reports."""
        return _is_between(time, *self._bounds[0])

    def had(self, time: int | None) -> bool:
        """Whether an answer is in the period before."""
        return self.before is not None and _is_between(time, *self._bounds[1])

    @cached_property
    def _bounds(self) -> tuple[tuple[int | None, int | None], ...]:
        both = ((self.since, self.until), self.before or (None, None))
        return tuple((start_of_quarter(since), start_of_quarter(until)) for since, until in both)


def compared_period(since: datetime | None, until: datetime | None, now: datetime) -> SpendPeriod:
    """Return the period with the one before it: moved back by whole days, or by its length if it is shorter than a day.

    A period that is still running is compared with one that ends at the same time of day as now.
    """
    end = min(until, now) if until else now
    if since is None or since >= end:
        return SpendPeriod(since, until)
    length = end - since
    step = DAY * ceil(length / DAY) if length >= DAY or until is None else length
    first = _moved(since, step)
    return SpendPeriod(since, until, (first, first + length))


@dataclass(frozen=True)
class Forecast:
    """An estimate of the current month's cost at its end; money in nanodollars."""

    month: date
    days: int
    """Days of the month, today included."""
    days_in_month: int
    so_far: int
    pace_days: int
    """Number of full days that the pace is based on, `PACE_DAYS` at most."""
    pace: int | None
    """Average cost of these days; None if they are fewer than `LEAST_DAYS`."""
    at_end: int | None


def forecast(costs: Mapping[date, int], today: date, part_of_today: float, first: date | None) -> Forecast:
    """Estimate the cost of the month at its end from the pace of the last days; `costs` are nanodollars by day.

    `part_of_today` is the part of today that is over, `first` the day of the first answer of all.
    """
    month = today.replace(day=1)
    following = (month + 32 * DAY).replace(day=1)
    so_far = sum(cost for day, cost in costs.items() if month <= day <= today)
    known = min(PACE_DAYS, max(0, (today - first).days)) if first else 0
    pace = at_end = None
    if known >= LEAST_DAYS:
        pace = sum(costs.get(today - number * DAY, 0) for number in range(1, known + 1)) // known
        at_end = so_far + round(pace * ((following - today).days - part_of_today))
    return Forecast(month, today.day, (following - month).days, so_far, known, pace, at_end)


def _moved(moment: datetime, step: timedelta) -> datetime:
    """Return a moment moved back by whole calendar days, at the same time of day, even across a clock change."""
    try:
        return moment - step
    except OverflowError:
        return moment


def _is_between(time: int | None, since: int | None, until: int | None) -> bool:
    if time is None:
        return since is None and until is None
    return (since is None or time >= since) and (until is None or time < until)
