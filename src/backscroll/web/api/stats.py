"""Reports, by their names."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from backscroll.errors import UsageError
from backscroll.library import Library
from backscroll.library.analytics import cache, context, prompts, time, tools, usage
from backscroll.library.analytics.activity import activity
from backscroll.library.analytics.blocks import blocks
from backscroll.library.analytics.compare import period_of
from backscroll.library.analytics.errors import errors
from backscroll.library.analytics.files import SORTS, files
from backscroll.library.analytics.overview import overview
from backscroll.library.analytics.reports import Asked, Report
from backscroll.library.analytics.sequences import sequences
from backscroll.query import parse, parse_moment
from backscroll.web.api.parameters import ReportWanted


class Kind(NamedTuple):
    """A report, and what it can be added up by."""

    make: Callable[[Library, Asked, str, int], Report]
    by: Collection[str] = ()
    usual: str = ""


def stats(library: Library, wanted: ReportWanted) -> dict[str, Any]:
    """A report. What it can be added up by is what the command of the same name says."""
    asked = _asked(wanted, datetime.now().astimezone())
    if wanted.report == "overview":
        found = overview(library, asked, datetime.now(UTC))
        return {name: value for name, value in found.items() if name != "notes"}
    kind = KINDS[wanted.report]
    if wanted.by and wanted.by not in kind.by:
        can = f"it can be added up by {', '.join(kind.by)}" if kind.by else "leave by out of the address"
        raise UsageError(f"{wanted.report} is not added up by {wanted.by}", can)
    report = kind.make(library, asked, wanted.by or kind.usual, wanted.limit)
    return {"rows": report.as_dicts()[: wanted.limit], **report.facts}


def _asked(wanted: ReportWanted, now: datetime) -> Asked:
    since = parse_moment(wanted.since, now) if wanted.since else None
    until = parse_moment(wanted.until, now, end=True) if wanted.until else None
    if wanted.period:
        period = period_of(wanted.period, now)
        if period is None:
            raise UsageError(f"{wanted.period} is not a period", "write 2026, 2026-01, 2026-W05, today, or from..to")
        since, until = since or period[0], until or period[1]
    return Asked(query=parse(wanted.q, now) if wanted.q else None, since=since, until=until)


KINDS: Final = {
    "usage": Kind(lambda library, asked, by, _: usage.usage(library, asked, by), usage.DIMENSIONS, "day"),
    "blocks": Kind(lambda library, asked, _, __: blocks(library, asked, datetime.now(UTC))),
    "time": Kind(lambda library, asked, by, _: time.time_spent(library, asked, by), time.DIMENSIONS, "project"),
    "prompts": Kind(lambda library, asked, by, _: prompts.prompts(library, asked, by), prompts.DIMENSIONS, "project"),
    "activity": Kind(lambda library, asked, _, __: activity(library, asked, datetime.now().astimezone().date())),
    "tools": Kind(lambda library, asked, by, _: tools.tools(library, asked, by), tools.DIMENSIONS, "tool"),
    "errors": Kind(lambda library, asked, _, limit: errors(library, asked, limit)),
    "sequences": Kind(lambda library, asked, _, __: sequences(library, asked)),
    "files": Kind(lambda library, asked, by, limit: files(library, asked, by, limit), SORTS, "edits"),
    "context": Kind(
        lambda library, asked, by, limit: context.context(library, asked, by, limit), context.DIMENSIONS, "chat"
    ),
    "cache": Kind(lambda library, asked, by, _: cache.cache(library, asked, by), cache.DIMENSIONS, "day"),
}
