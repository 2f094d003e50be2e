"""`query`: read-only SQL on the documented views."""

from typing import Annotated, Any, Final

from msgspec import Meta

from backscroll.errors import UsageError
from backscroll.library import StatementResult
from backscroll.mcp.answers import Quoted, ToolAnswer, fit
from backscroll.mcp.arguments import ToolArguments
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.quoting import one_line
from backscroll.render.tables import plain_value

SECONDS: Final = 10.0


class QueryArguments(ToolArguments, frozen=True, kw_only=True):
    """A statement."""

    sql: Annotated[
        str,
        Meta(
            max_length=20_000,
            description="One select on v_chats, v_sessions, v_messages, v_tool_calls, v_usage, v_files_touched, "
            "v_problems. Omit it to list their columns, and the dialect.",
        ),
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of rows.")] = 100


class QueryAnswer(ToolAnswer, kw_only=True):
    """A table."""

    dialect: str
    """The SQL that statements are written in."""
    columns: list[Quoted]
    rows: list[list[Quoted | int | float | None]]


def query(context: CallContext, wanted: QueryArguments) -> QueryAnswer:
    """Run a statement."""
    context.must_exist()
    is_schema = not wanted.sql.strip()
    if is_schema:
        views = [(f"{view.name}({', '.join(view.columns)})",) for view in context.library.views()]
        grid = StatementResult(["view"], views, is_cut=False)
    else:
        grid = _run(context, wanted)
    rows = [[cell(context, plain_value(value), is_ours=is_schema) for value in row] for row in grid.rows]
    columns = [context.frame.line(name) for name in grid.columns[:200]]

    def make(count: int, _: int | None) -> QueryAnswer:
        is_more = count < len(rows) or grid.is_cut
        return QueryAnswer(
            note=context.frame.note,
            dialect=context.library.dialect,
            columns=columns,
            rows=rows[:count],
            cut=is_more,
            rest=f"only {count} rows fit: select fewer columns, or add limit and offset {count}" if is_more else "",
        )

    return fit(make, len(rows), wanted.max_tokens)


def _run(context: CallContext, wanted: QueryArguments) -> StatementResult:
    try:
        return context.library.sql(wanted.sql, limit=wanted.limit, seconds=SECONDS)
    except UsageError as error:
        hint = "only read-only statements are allowed; call query without sql to list the views"
        raise UsageError(error.message, hint) from error


def cell(context: CallContext, value: Any, *, is_ours: bool = False) -> str | int | float | None:  # noqa: ANN401 - of any column
    """Return a value of a table."""
    if value is None or isinstance(value, (int, float)):
        return value
    return one_line(str(value), 400) if is_ours else context.frame.line(str(value), 120)
