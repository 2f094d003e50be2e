"""The request of a Spend page: the period, the filters, and the addresses of other periods and filters."""

from datetime import date, datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import urlencode

from backscroll.errors import UsageError
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.spend import DIMENSIONS, SpendFilter
from backscroll.library.analytics.spend_periods import SpendPeriod, compared_period
from backscroll.query.times import parse_moment
from backscroll.web.pages.stats_reports import about_of
from backscroll.web.requests import PageRequest

PERIODS: Final = {
    "today": "Today",
    "7d": "7 days",
    "last-week": "Last week",
    "30d": "30 days",
    "month": "This month",
    "last-month": "Last month",
    "90d": "90 days",
    "365d": "1 year",
    "all": "All",
}
USUAL: Final = "7d"
KEPT: Final = ("period", "since", "until", "zone", "q", *DIMENSIONS)


class SpendRequest(NamedTuple):
    """The period, the filters, and the parameters of the address."""

    about: ReportRequest
    """Query and time zone; without a time."""
    now: datetime
    period: SpendPeriod
    preset: str
    """Name of the period; empty if the address has its ends."""
    only: SpendFilter
    given: dict[str, str]

    def address(self, **changes: str) -> str:
        """Return the address of the same page with other parameters; an empty one is left out."""
        values = {name: value for name, value in {**self.given, **changes}.items() if value}
        pairs = [(name, value.encode("utf-8", "replace")) for name, value in values.items()]
        return f"/spend?{urlencode(pairs)}" if pairs else "/spend"

    def of_period(self, name: str) -> str:
        """Return the address with the same filters for another period."""
        return self.address(period="" if name == USUAL else name, since="", until="")

    def as_report(self, by: str) -> str:
        """Return the address of the report with the same scope and all rows."""
        ends = (self.period.since, self.period.until)
        since, until = (f"{self.about.local(moment):%Y-%m-%dT%H:%M}" if moment else "" for moment in ends)
        return self.address(period="", since=since, until=until, by=by).replace("/spend", "/stats/spend", 1)

    def toggled(self, dimension: str, name: str) -> str:
        """Return the address with a filter, or without it if it is already set."""
        return self.address(**{dimension: "" if getattr(self.only, dimension) == name else name})


def read_request(request: PageRequest) -> SpendRequest:
    """Read the period and the filters from the address."""
    about, now = about_of(request)
    fields = {name: request.get(name).strip() for name in KEPT if request.get(name).strip()}
    only = SpendFilter(**{name: fields.get(name, "") for name in DIMENSIONS})
    preset = "" if about.since or about.until else fields.get("period", USUAL)
    if preset:
        if preset not in PERIODS:
            raise UsageError(f"invalid period: {preset}", f"use one of {', '.join(PERIODS)}")
        since, until = bounds_of_preset(preset, now)
    else:
        since, until = about.since, about.until
    plain = ReportRequest(query=about.query, zone=about.zone)
    return SpendRequest(plain, now, compared_period(since, until, now), preset, only, fields)


def bounds_of_preset(name: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the start and the end of a preset period; days begin at midnight."""
    if name == "all":
        return None, None
    today = now.date()

    def day(moment: date) -> datetime:
        return parse_moment(f"{moment:%Y-%m-%d}", now)

    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    if name == "last-week":
        return day(monday - timedelta(days=7)), day(monday)
    if name == "last-month":
        return day((first - timedelta(days=1)).replace(day=1)), day(first)
    if name == "month":
        return day(first), None
    days = 1 if name == "today" else int(name.removesuffix("d"))
    return day(today - timedelta(days=days - 1)), None
