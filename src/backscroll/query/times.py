"""Times as people write them: `2026-01-05`, `2026-02`, `yesterday`, `last week`, `mon`, `3d`, `3mo`, `1y`.

The only parser of times, for the options of every command, the fields of a query, the pages and the tools.
"""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NamedTuple

from backscroll.errors import UsageError

HINT: Final = (
    "write a date (2026-01-05, 2026-02, 2026), a date and time (2026-01-05T10:00), a day (today, yesterday, mon),"
    ' "last week", "last month", or an age (12h, 3d, 2w, 3mo, 1y)'
)


class Period(NamedTuple):
    """A day, week, month or year: from its first moment to the first moment after it."""

    start: datetime
    end: datetime


def parse_moment(text: str, now: datetime, *, end: bool = False) -> datetime:
    """Return the moment that `text` means, in the time zone of `now`. For a period its start; with `end`, its end."""
    try:
        if period := parse_period(text, now):
            return period.end if end else period.start
        if age := AGE.fullmatch(text.strip().lower()):
            return _age_ago(now, int(age["count"]), UNITS[age["unit"]])
    except (ValueError, OverflowError):
        raise UsageError(f"not in the calendar: {text}", HINT) from None
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment if moment.tzinfo else _in_zone(moment, now)
    except (ValueError, OverflowError):
        raise UsageError(f"not a time: {text}", HINT) from None


def parse_period(text: str, now: datetime) -> Period | None:
    """Return the day, week, month or year that `text` names; None if none. ValueError if it is not in the calendar."""
    text = text.strip().lower()
    words = re.sub(r"[\s_-]+", " ", text)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if words in DAYS:
        return _days(today - timedelta(days=DAYS[words]), 1, now)
    if named := NAMED.fullmatch(words):
        return _named(named["which"] == "last", named["unit"], today, now)
    if weekday := WEEKDAY.fullmatch(words):
        back = (today.weekday() - WEEKDAYS.index(weekday["day"][:3])) % 7
        return _days(today - timedelta(days=back or (7 if weekday["last"] else 0)), 1, now)
    if date := DATE.fullmatch(text):
        return _days(datetime(int(date[1]), int(date[2]), int(date[3])), 1, now)  # noqa: DTZ001 - gets its zone there
    if week := WEEK.fullmatch(text):
        return _days(datetime.fromisocalendar(int(week[1]), int(week[2]), 1), 7, now)
    if month := MONTH.fullmatch(text):
        return _months(int(month[1]), int(month[2]), 1, now)
    if year := YEAR.fullmatch(text):
        return _months(int(year[1]), 1, 12, now)
    return None


def _named(last: bool, unit: str, today: datetime, now: datetime) -> Period:
    if unit == "week":
        return _days(today - timedelta(days=today.weekday() + 7 * last), 7, now)
    if unit == "month":
        before = _before(today.replace(day=1), int(last), (1, timedelta()))
        return _months(before.year, before.month, 1, now)
    return _months(today.year - last, 1, 12, now)


def _days(first: datetime, count: int, now: datetime) -> Period:
    return Period(_in_zone(first, now), _in_zone(first + timedelta(days=count), now))


def _months(year: int, month: int, count: int, now: datetime) -> Period:
    first = datetime(year, month, 1)  # noqa: DTZ001 - gets its zone right there
    return Period(_in_zone(first, now), _in_zone(_before(first, -count, (1, timedelta())), now))


def _before(moment: datetime, count: int, unit: tuple[int, timedelta]) -> datetime:
    """Subtract `count` units: months by the calendar, where the 31st becomes the last day of a shorter month."""
    months, length = unit
    if months:
        year, month = divmod(12 * moment.year + moment.month - 1 - count * months, 12)
        moment = moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
    return moment - count * length


def _age_ago(now: datetime, count: int, unit: tuple[int, timedelta]) -> datetime:
    """Return the moment this long before `now`: hours and minutes as they pass, days and more by the calendar."""
    months, length = unit
    if months or length >= A_DAY:
        return _in_zone(_before(now.replace(tzinfo=None), count, unit), now)
    return (now.astimezone(UTC) - count * length).astimezone(now.tzinfo)


def _in_zone(moment: datetime, now: datetime) -> datetime:
    """Put a local time into the zone of `now`, whose offset may differ by an hour in another season."""
    zone = now.tzinfo
    if isinstance(zone, timezone) and zone is not UTC and _is_local(now):
        return moment.astimezone()  # a fixed offset, as from astimezone(), ignores summer time
    return moment.replace(tzinfo=zone)


def _is_local(now: datetime) -> bool:
    return now.astimezone().utcoffset() == now.utcoffset()


A_DAY: Final = timedelta(days=1)
MONTHS_OF: Final = {"mo": 1, "mon": 1, "month": 1, "y": 12, "yr": 12, "year": 12}
LENGTHS: Final = {
    "m": timedelta(minutes=1), "min": timedelta(minutes=1), "minute": timedelta(minutes=1),
    "h": timedelta(hours=1), "hr": timedelta(hours=1), "hour": timedelta(hours=1),
    "d": timedelta(days=1), "day": timedelta(days=1),
    "w": timedelta(weeks=1), "wk": timedelta(weeks=1), "week": timedelta(weeks=1),
}  # fmt: skip
UNITS: Final = {
    **{name: (months, timedelta()) for name, months in MONTHS_OF.items()},
    **{name: (0, length) for name, length in LENGTHS.items()},
}
"""Each unit of an age in months of the calendar, or as a length."""
AGE: Final = re.compile(rf"(?P<count>\d+)[\s_-]*(?P<unit>{'|'.join(UNITS)})s?(?:[\s_-]+ago)?")
DAYS: Final = {"today": 0, "yesterday": 1}
NAMED: Final = re.compile(r"(?P<which>this|last) (?P<unit>week|month|year)")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAY: Final = re.compile(
    r"(?P<last>last )?(?P<day>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?"
    r"|sat(?:urday)?|sun(?:day)?)"
)
DATE: Final = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
WEEK: Final = re.compile(r"(\d{4})-w(\d{2})")
MONTH: Final = re.compile(r"(\d{4})-(\d{2})")
YEAR: Final = re.compile(r"((?:19|20|21)\d{2})")
