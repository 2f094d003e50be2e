"""The form of every report: named columns, rows, and notes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from math import ceil
from typing import Any, Final

from backscroll.library.library import Library
from backscroll.query.tree import Query
from backscroll.store.batches import microseconds
from backscroll.store.reports import Reports

QUARTER: Final = 900 * 1_000_000


@dataclass
class Report:
    """A table. `columns` are the names for programs; each row has a value for each."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    facts: dict[str, Any] = field(default_factory=dict)
    """Counts of the rows included and left out, for programs."""
    notes: list[str] = field(default_factory=list)
    """Remarks about the counts, for people."""
    bar: str | None = None
    """The column that is drawn as bars."""
    explanation: "Report | None" = None
    """The rows behind the numbers, if requested."""

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class ReportRequest:
    """The scope of a report: query, period and time zone."""

    query: Query | None = None
    since: datetime | None = None
    until: datetime | None = None
    zone: tzinfo | None = None
    """The time zone of days; by default the system's."""

    def local(self, moment: datetime) -> datetime:
        """Return a time in the report's time zone."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # in the first or last hours of the calendar: a broken clock
            return moment


def reports_about(library: Library, asked: ReportRequest) -> Reports:
    """Return the store's data for a report, to the quarter of an hour."""
    return library.reader.reports(asked.query, since=start_of_quarter(asked.since), until=start_of_quarter(asked.until))


def top(rows: Iterable[tuple[Any, ...]], column: int, limit: int | None = None) -> list[tuple[Any, ...]]:
    """Return the rows sorted by a column, the largest value first."""
    ordered = sorted(rows, key=lambda row: (-(row[column] or 0), str(row[0])))
    return ordered[:limit]


def share(part: float, whole: float) -> float | None:
    """Return a share between 0 and 1; None if the whole is 0."""
    return part / whole if whole else None


def percentile(values: Sequence[float], part: float) -> float | None:
    """Return the value that this share of the values does not exceed."""
    if not values:
        return None
    return sorted(values)[max(0, ceil(round(part * len(values), 9)) - 1)]


def start_of_quarter(moment: datetime | None) -> int | None:
    """Return the start of a moment's quarter of an hour, the smallest unit of sums, in microseconds."""
    value = microseconds(moment)
    return None if value is None else value // QUARTER * QUARTER
