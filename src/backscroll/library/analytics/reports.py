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
    """A table. `columns` are the names that programs see; each row has a value for each."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    facts: dict[str, Any] = field(default_factory=dict)
    """What was counted and left out, for programs."""
    notes: list[str] = field(default_factory=list)
    """The same for people."""
    bar: str | None = None
    """The column that is drawn as bars."""
    explanation: "Report | None" = None
    """The rows behind the numbers, if requested."""

    def as_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class ReportRequest:
    """What a report covers."""

    query: Query | None = None
    since: datetime | None = None
    until: datetime | None = None
    zone: tzinfo | None = None
    """The time zone of days; by default the system's."""

    def local(self, moment: datetime) -> datetime:
        """A time in that time zone."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # in the first or last hours of the calendar: a broken clock
            return moment


def reports_about(library: Library, asked: ReportRequest) -> Reports:
    """The store's data for a report, to the quarter of an hour."""
    return library.reader.reports(asked.query, since=start_of_quarter(asked.since), until=start_of_quarter(asked.until))


def top(rows: Iterable[tuple[Any, ...]], column: int, limit: int | None = None) -> list[tuple[Any, ...]]:
    """The rows with the most in a column first."""
    ordered = sorted(rows, key=lambda row: (-(row[column] or 0), str(row[0])))
    return ordered[:limit]


def share(part: float, whole: float) -> float | None:
    """A share between 0 and 1; None if the whole is 0."""
    return part / whole if whole else None


def percentile(values: Sequence[float], part: float) -> float | None:
    """The value that this share of the values does not exceed."""
    if not values:
        return None
    return sorted(values)[max(0, ceil(round(part * len(values), 9)) - 1)]


def start_of_quarter(moment: datetime | None) -> int | None:
    """The start of its quarter of an hour, the smallest unit of sums, in microseconds."""
    value = microseconds(moment)
    return None if value is None else value // QUARTER * QUARTER
