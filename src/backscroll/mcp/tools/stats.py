"""`stats`: the reports that the command line has, by the same names and dimensions."""

import math
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field

from backscroll.errors import UsageError
from backscroll.library.analytics.compare import compare
from backscroll.library.analytics.overview import overview
from backscroll.library.analytics.report_kinds import report_of
from backscroll.library.analytics.reports import Report
from backscroll.mcp.answers import Quoted, ToolAnswer, fit, rest_of
from backscroll.mcp.arguments import Offset, Query, Since, ToolArguments, Until
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.quoting import one_line
from backscroll.mcp.tools.query import cell
from backscroll.render.tables import plain_value

MAX_ROWS: Final = 1000


class StatsArguments(ToolArguments, frozen=True, kw_only=True):
    """Which report, of what."""

    report: Annotated[
        Literal[
            "overview", "usage", "spend", "tools", "errors", "files", "folders", "time", "prompts", "chats", "topics",
            "activity", "blocks", "sequences", "context", "cache", "compare",
        ],
        Meta(
            description="spend: what changed and why; errors: patterns, and how often the next attempt succeeded; "
            "sequences: loops and rework; context: what filled it."
        ),
    ]  # fmt: skip
    by: Annotated[
        str,
        Meta(
            max_length=32,
            description="day, week, month, hour, model, project, chat, agent, tool …, as the report allows.",
        ),
    ] = ""
    query: Annotated[Query, Meta(description="Which chats: project:shop, model:opus.")] = ""
    versus: Annotated[Query, Meta(description="compare: the other query or period.")] = ""
    since: Since = ""
    until: Until = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS, description="Maximum number of rows.")] = 20
    offset: Offset = 0


class StatsAnswer(ToolAnswer, kw_only=True):
    """A table, and what was counted."""

    columns: list[str]
    rows: list[list[Quoted | int | float | None]]
    counted: Annotated[list[Quoted], Meta(description="What was counted and what was left out.")] = field(
        default_factory=list
    )


def stats(context: CallContext, wanted: StatsArguments) -> StatsAnswer:
    """Make a report."""
    context.must_exist()
    report = _report(context, wanted)
    rows = report.rows[wanted.offset : wanted.offset + wanted.limit]
    cells = [[cell(context, _value(value)) for value in row] for row in rows]
    counted = [context.frame.line(note, 60) for note in report.notes[:4]]
    total = report.facts.get("patterns", len(report.rows))  # errors stop at the limit by themselves

    def make(count: int, _: int | None) -> StatsAnswer:
        rest = rest_of(wanted.offset + count, total, "more rows")
        return StatsAnswer(
            note=context.frame.note,
            columns=list(report.columns),
            rows=cells[:count],
            counted=counted,
            cut=bool(rest),
            rest=rest,
        )

    return fit(make, len(cells), wanted.max_tokens)


def _report(context: CallContext, wanted: StatsArguments) -> Report:
    now = datetime.now().astimezone()
    if wanted.report == "compare":
        if not wanted.query or not wanted.versus:
            raise UsageError("compare needs two queries or periods", "put one into query and the other into versus")
        return compare(context.library, context.asked("", wanted.since, wanted.until), wanted.query, wanted.versus, now)
    if wanted.versus:
        raise UsageError(f"{wanted.report} does not take versus", "leave out versus, or use report=compare")
    scope = context.asked(wanted.query, wanted.since, wanted.until)
    if wanted.report == "overview":
        return _flat(overview(context.library, scope, datetime.now(UTC)))
    by = one_line(wanted.by)  # errors are not framed
    return report_of(context.library, wanted.report, scope, by, wanted.offset + wanted.limit + 1)


def _flat(found: dict[str, Any]) -> Report:
    """Flatten nested values into rows of names and values."""
    notes = found.pop("notes", [])
    rows: list[tuple[Any, ...]] = []

    def take(name: str, value: Any) -> None:  # noqa: ANN401 - whatever a report holds
        if isinstance(value, dict):
            for inner, item in value.items():
                take(f"{name}.{inner}" if name else str(inner), item)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                take(f"{name}.{number}", item)
        else:
            rows.append((name, value))

    found.pop("last_days", None)  # thirty rows that `activity` also has
    take("", found)
    return Report(("measure", "value"), rows, {}, notes)


def _value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(map(str, value))
    return round(value, 4) if isinstance(value, float) and math.isfinite(value) else plain_value(value)
