"""Reports, each a statement of SQL and the type of its rows.

The parameters of a statement: `:files`, the files that count as a JSON array, or null for all; `:since` and `:until`,
the time in microseconds, or null; `:ahead`, how many quarters of an hour a zone is ahead of UTC.
"""

from typing import Any, Final

import apsw

from backscroll.store.local.database import Row, select, typed
from backscroll.store.local.faults import guarded
from backscroll.store.local.reports import cache, context, files, time, tools, usage
from backscroll.store.report_rows import (
    AnswerRow,
    CachedAnswer,
    ChatMoment,
    CompactionPlace,
    ContextAnswer,
    ContextPart,
    ContextPassage,
    FileCallRow,
    ReportedCosts,
    RowTime,
    TimeUnit,
    ToolCallRow,
    ToolCount,
    TurnStart,
    TypedPrompt,
    UnsizedPassage,
    UsageByName,
    UsageByPeriod,
    UsageDimension,
    UsageSpan,
    UsageSums,
)

STATEMENTS: Final[dict[str, str]] = {
    **usage.STATEMENTS,
    **time.STATEMENTS,
    **tools.STATEMENTS,
    **files.STATEMENTS,
    **context.STATEMENTS,
    **cache.STATEMENTS,
}


class LocalReports:
    """Runs the statements about some files and a time."""

    def __init__(self, connection: apsw.Connection, files: str | None, since: int | None, until: int | None) -> None:
        self._connection = connection
        self._values = {"files": files, "since": since, "until": until}

    def usage_by(self, dimension: UsageDimension) -> list[UsageByName]:
        """Tokens and money by a dimension and model."""
        rows = self._select(f"usage by {dimension}")
        return [UsageByName(name, model, UsageSums._make(sums)) for name, model, *sums in rows]

    def usage_over_time(self, unit: TimeUnit, ahead: int = 0) -> list[UsageByPeriod]:
        """Tokens and money by period and model."""
        rows = self._select(f"usage by {unit}", ahead)
        return [UsageByPeriod(period, model, UsageSums._make(sums)) for period, model, *sums in rows]

    def usage_span(self) -> UsageSpan | None:
        """When the first and the last answer of all were."""
        ((first, last),) = self._select("usage span")
        return None if first is None else UsageSpan(first, last)

    def reported_costs(self) -> ReportedCosts:
        """What the client wrote down as costs."""
        return self._rows("reported costs", ReportedCosts)[0]

    def answers(self) -> list[AnswerRow]:
        """Every answer, in the order of time."""
        return self._rows("answers", AnswerRow)

    def cached_answers(self) -> list[CachedAnswer]:
        """Every answer up to the end of the time."""
        return self._rows("cache answers", CachedAnswer)

    def chat_titles(self) -> dict[str, str]:
        """The titles of chats by their ids."""
        return dict(self._select("titles"))

    def moments(self) -> list[ChatMoment]:
        """The rows of chats."""
        return self._rows("moments", ChatMoment)

    def prompt_moments(self) -> list[ChatMoment]:
        """Those of them that were typed, or are interruptions."""
        return self._rows("prompts", ChatMoment)

    def calls_by_tool(self) -> list[ToolCount]:
        """How often each tool was called."""
        return self._rows("calls by tool", ToolCount)

    def tool_calls(self) -> list[ToolCallRow]:
        """Every call."""
        return self._rows("calls", ToolCallRow)

    def turn_starts(self) -> list[TurnStart]:
        """Where turns begin."""
        return self._rows("turns", TurnStart)

    def file_calls(self) -> list[FileCallRow]:
        """Every call that reads or changes a file."""
        return self._rows("file calls", FileCallRow)

    def typed_prompts(self) -> list[TypedPrompt]:
        """The prompts."""
        return self._rows("file prompts", TypedPrompt)

    def row_times(self) -> list[RowTime]:
        """When rows were written."""
        return self._rows("file moments", RowTime)

    def context_parts(self) -> list[ContextPart]:
        """What chats are made of."""
        return self._rows("context parts", ContextPart)

    def context_passages(self) -> list[ContextPassage]:
        """Every passage of chats."""
        return self._rows("context rows", ContextPassage)

    def unsized_passages(self) -> list[UnsizedPassage]:
        """The passages of chats whose size is not known."""
        return self._rows("context unsized", UnsizedPassage)

    def context_answers(self) -> list[ContextAnswer]:
        """The answers of chats."""
        return self._rows("context answers", ContextAnswer)

    def compactions(self) -> list[CompactionPlace]:
        """The compactions of chats."""
        return self._rows("context compactions", CompactionPlace)

    def _rows(self, name: str, kind: type[Row]) -> list[Row]:
        return typed(kind, self._select(name))

    @guarded
    def _select(self, name: str, ahead: int = 0) -> list[Any]:
        return select(self._connection, STATEMENTS[name], {**self._values, "ahead": ahead})
