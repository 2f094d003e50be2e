"""Reports of the API, by name."""

from datetime import UTC, datetime
from typing import Any

from backscroll.errors import UsageError
from backscroll.library.analytics.compare import period_of
from backscroll.library.analytics.overview import overview
from backscroll.library.analytics.report_kinds import report_of
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.spend_periods import DEFAULT_SINCE
from backscroll.library.library import Library
from backscroll.query.parse import parse
from backscroll.query.times import parse_moment
from backscroll.web.api.parameters import ReportParameters


def stats(library: Library, wanted: ReportParameters) -> dict[str, Any]:
    """Get a report. It can be grouped as the command of the same name says."""
    scope = _report_request(wanted, datetime.now().astimezone())
    if wanted.report == "overview":
        totals = overview(library, scope, datetime.now(UTC))
        return {name: value for name, value in totals.items() if name != "notes"}
    report = report_of(library, wanted.report, scope, wanted.by, wanted.limit)
    return {"rows": report.as_dicts()[: wanted.limit], **report.facts}


def _report_request(wanted: ReportParameters, now: datetime) -> ReportRequest:
    is_open = not (wanted.since or wanted.until or wanted.period)
    start = DEFAULT_SINCE if is_open and wanted.report == "spend" else wanted.since
    since = parse_moment(start, now) if start else None
    until = parse_moment(wanted.until, now, end=True) if wanted.until else None
    if wanted.period:
        period = period_of(wanted.period, now)
        if period is None:
            raise UsageError(f"invalid period {wanted.period}", "use 2026, 2026-01, 2026-W05, today, or from..to")
        since, until = since or period[0], until or period[1]
    return ReportRequest(query=parse(wanted.q, now) if wanted.q else None, since=since, until=until)
