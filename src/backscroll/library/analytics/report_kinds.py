"""The reports by name: the groupings of each, and its default."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Final, NamedTuple

from backscroll.errors import UsageError
from backscroll.library.analytics import cache, chats, context, prompts, time, tools, topics, usage
from backscroll.library.analytics.activity import activity
from backscroll.library.analytics.blocks import blocks
from backscroll.library.analytics.errors import errors
from backscroll.library.analytics.files import SORTS, files, folders
from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.sequences import sequences
from backscroll.library.analytics.spend_report import DIMENSIONS as SPEND_DIMENSIONS
from backscroll.library.analytics.spend_report import spend_report
from backscroll.library.library import Library


class ReportKind(NamedTuple):
    """A report and its groupings."""

    make: Callable[[Library, ReportRequest, str, int], Report]
    by: Collection[str] = ()
    usual: str = ""


def report_of(library: Library, name: str, asked: ReportRequest, by: str, limit: int) -> Report:
    """Return the report with a name. Only some stop at the limit by themselves; the others have all of their rows."""
    kind = KINDS[name]
    if by and by not in kind.by:
        can = f"it can be added up by {', '.join(kind.by)}" if kind.by else "leave by out"
        raise UsageError(f"{name} cannot be grouped by {by}", can)
    return kind.make(library, asked, by or kind.usual, limit)


KINDS: Final = {
    "usage": ReportKind(lambda library, asked, by, _: usage.usage(library, asked, by), usage.DIMENSIONS, "day"),
    "spend": ReportKind(
        lambda library, asked, by, _: spend_report(library, asked, by, datetime.now(UTC)), SPEND_DIMENSIONS, "why"
    ),
    "blocks": ReportKind(lambda library, asked, _, __: blocks(library, asked, datetime.now(UTC))),
    "time": ReportKind(lambda library, asked, by, _: time.time_spent(library, asked, by), time.DIMENSIONS, "project"),
    "prompts": ReportKind(
        lambda library, asked, by, _: prompts.prompts(library, asked, by), prompts.DIMENSIONS, "project"
    ),
    "chats": ReportKind(lambda library, asked, by, _: chats.chats(library, asked, by), chats.DIMENSIONS, "project"),
    "topics": ReportKind(lambda library, asked, by, _: topics.topics(library, asked, by), topics.DIMENSIONS, "project"),
    "activity": ReportKind(lambda library, asked, _, __: activity(library, asked, datetime.now().astimezone().date())),
    "tools": ReportKind(lambda library, asked, by, _: tools.tools(library, asked, by), tools.DIMENSIONS, "tool"),
    "errors": ReportKind(lambda library, asked, _, limit: errors(library, asked, limit)),
    "sequences": ReportKind(lambda library, asked, _, __: sequences(library, asked)),
    "files": ReportKind(lambda library, asked, by, limit: files(library, asked, by, limit), SORTS, "edits"),
    "folders": ReportKind(lambda library, asked, by, _: folders(library, asked, by), SORTS, "edits"),
    "context": ReportKind(
        lambda library, asked, by, _: context.context(library, asked, by), context.DIMENSIONS, "chat"
    ),
    "cache": ReportKind(lambda library, asked, by, _: cache.cache(library, asked, by), cache.DIMENSIONS, "day"),
}
"""The reports by name, without `overview` and `compare`, which take other arguments."""
