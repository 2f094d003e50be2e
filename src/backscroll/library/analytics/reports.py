"""What every report is: rows under names, and what is to be said of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final

from backscroll.library.library import Library
from backscroll.query import Query
from backscroll.store import Reports, microseconds

QUARTER: Final = 900 * 1_000_000


@dataclass
class Report:
    """A table. `columns` are the names that programs see; each row has a value for each."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    facts: dict[str, Any] = field(default_factory=dict)
    """What was counted, what was left out: beside the rows, for programs."""
    notes: list[str] = field(default_factory=list)
    """The same for people."""
    bar: str | None = None
    """The column that is drawn as bars."""
    explanation: "Report | None" = None
    """The rows behind the numbers, where they were asked for."""

    def as_dicts(self) -> list[dict[str, Any]]:
        """The rows with their names."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class ReportRequest:
    """What a report is asked about."""

    query: Query | None = None
    since: datetime | None = None
    until: datetime | None = None
    zone: tzinfo | None = None
    """The time zone of days; the system's where there is none."""

    def local(self, moment: datetime) -> datetime:
        """A moment in that time zone."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # in the first or last hours of the calendar; some clock has gone mad
            return moment


def reports_about(library: Library, asked: ReportRequest) -> Reports:
    """What the store has for a report, to the quarter of an hour."""
    since, until = _quarter(asked.since), _quarter(asked.until)
    return library.store.reports(asked.query, library.scope, since=since, until=until)


def top(rows: Iterable[tuple[Any, ...]], column: int, limit: int | None = None) -> list[tuple[Any, ...]]:
    """The rows with the most in a column first."""
    ordered = sorted(rows, key=lambda row: (-(row[column] or 0), str(row[0])))
    return ordered[:limit]


def share(part: float, whole: float) -> float | None:
    """A part of a whole, between 0 and 1; None of nothing."""
    return part / whole if whole else None


def percentile(values: Sequence[float], part: float) -> float | None:
    """The value that such a part of the values does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(part * (len(ordered) - 1))))]


def _quarter(moment: datetime | None) -> int | None:
    """The beginning of its quarter of an hour, which is the least that is summed up."""
    value = microseconds(moment)
    return None if value is None else value // QUARTER * QUARTER
