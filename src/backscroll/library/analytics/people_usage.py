"""Tokens and costs of several people: for each, the numbers of their own `usage` reports."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from backscroll.library.analytics.periods import period_name, stretches_of
from backscroll.library.analytics.reports import QUARTER, ReportRequest, start_of_quarter
from backscroll.pricing.money import microdollars
from backscroll.store.report_rows import UsageSpan

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import PeopleSums, SpentBy


class PersonUsage(NamedTuple):
    """A row of usage: one person, one name of a dimension."""

    person: int
    by: "SpentBy"
    name: str
    answers: int
    tokens: int
    microdollars: int
    """0 if nothing has a price."""


def usage_of_people(sums: "PeopleSums", asked: ReportRequest, by: Sequence["SpentBy"]) -> Iterator[PersonUsage]:
    """Yield each person's usage by each of these dimensions. Of `asked`, only the period and the time zone apply."""
    since, until = start_of_quarter(asked.since), start_of_quarter(asked.until)
    clocks = _clocks(sums, asked, since or 0) if "day" in by else [(0, 0)]
    days: dict[int, str] = {}
    for row in sums.spent(by, since, until, clocks):
        name = row.name or "-"
        if row.by == "day":
            number = int(row.name or 0)
            name = days[number] if number in days else days.setdefault(number, period_name("day", number))
        yield PersonUsage(row.person, row.by, str(name), row.answers, row.tokens, microdollars(row.cost))


def _clocks(sums: "PeopleSums", asked: ReportRequest, since: int) -> list[tuple[int, int]]:
    span, first = sums.span() or UsageSpan(0, 0), since // QUARTER
    stretches = stretches_of(asked, UsageSpan(max(span.first, first), max(span.last, first)))
    return [(stretch.since, stretch.ahead) for stretch in stretches]
