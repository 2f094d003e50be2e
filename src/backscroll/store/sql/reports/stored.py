"""Reports, each a statement of SQL and the type of its rows.

The parameters of a statement: `:files`, the files that count as a JSON array, or null for all; `:since` and `:until`,
the time in microseconds, or null; `:ahead`, the quarters of an hour by which a zone is ahead of UTC; `:paths`, the
paths of files as a JSON array.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, Final

import msgspec

from backscroll.store import report_rows, spend_rows, tool_call_rows
from backscroll.store.sql.reports import context, files, spend, time, tools, usage
from backscroll.store.sql.statements import Row, ScopedRows, array, select, typed

STATEMENTS: Final[dict[str, str]] = {
    **usage.STATEMENTS,
    **time.STATEMENTS,
    **tools.STATEMENTS,
    **files.STATEMENTS,
    **context.STATEMENTS,
    **spend.STATEMENTS,
}
ROWS_AT_ONCE: Final = 1000
"""The number of rows that are read together, where all at once could be too many."""
NESTED: Final = functools.reduce(lambda inner, _: rf"(?:[^()]|\({inner}\))*", range(4), "[^()]*")
"""Text with pairs of parentheses, up to four deep."""
CONDITION: Final = re.compile(rf"\(:(?P<value>\w+) is null or (?P<condition>{NESTED})\)")


class StoredReports:
    """Runs the statements on some files and a period."""

    statements: ClassVar[Mapping[str, str]] = STATEMENTS
    """The statements by name; an engine may have its own for some."""

    def __init__(self, rows: ScopedRows, files: str | None, since: int | None, until: int | None) -> None:
        self._visible = rows
        self._files, self._since, self._until = files, since, until
        self._values = {"files": files, "since": since, "until": until}

    def usage_by(self, dimension: report_rows.UsageDimension) -> list[report_rows.UsageByName]:
        """Return tokens and costs by a dimension and model."""
        rows = self._select(f"usage by {dimension}")
        return [report_rows.UsageByName(name, model, report_rows.UsageSums._make(sums)) for name, model, *sums in rows]

    def usage_over_time(self, unit: report_rows.TimeUnit, ahead: int = 0) -> list[report_rows.UsageByPeriod]:
        """Return tokens and costs by period and model."""
        rows = self._select(f"usage by {unit}", ahead=ahead)
        return [
            report_rows.UsageByPeriod(period, model, report_rows.UsageSums._make(sums)) for period, model, *sums in rows
        ]

    def usage_span(self) -> report_rows.UsageSpan | None:
        """Return the quarters of the first and the last answer of all."""
        ((first, last),) = self._select("usage span")
        return None if first is None else report_rows.UsageSpan(first, last)

    def answer_span(self) -> tuple[int, int] | None:
        """Return the times of the first and the last answer."""
        ((first, last),) = self._select("answer span")
        return None if first is None else (first, last)

    def reported_costs(self) -> report_rows.ReportedCosts:
        """Return the costs that the client recorded."""
        return self._rows("reported costs", report_rows.ReportedCosts)[0]

    def unrecorded(self) -> list[report_rows.UnrecordedUsage]:
        """Return tokens and costs of requests without a record, by model, chat and project."""
        return self._rows("unrecorded", report_rows.UnrecordedUsage)

    def answers(self) -> list[report_rows.AnswerRow]:
        """Return every answer, in order of time."""
        return self._rows("answers", report_rows.AnswerRow)

    def spent_answers(self) -> list[spend_rows.SpentAnswer]:
        """Return every answer with its cost."""
        return self._rows("spent answers", spend_rows.SpentAnswer)

    def answer_tools(self) -> list[spend_rows.AnswerTool]:
        """Return the tools that each answer calls."""
        return self._rows("answer tools", spend_rows.AnswerTool)

    def chat_titles(self) -> dict[str, str]:
        """Return the titles of chats by id."""
        return dict(self._select("titles"))

    def moments(self) -> Iterator[report_rows.ChatMoment]:
        """Yield the rows of chats."""
        return self._each("moments", report_rows.ChatMoment)

    def prompt_moments(self) -> Iterator[report_rows.ChatMoment]:
        """Yield the rows of `moments` that were typed or are interruptions."""
        return self._each("prompts", report_rows.ChatMoment)

    def calls_by_tool(self) -> list[report_rows.ToolCount]:
        """Return the number of calls of each tool."""
        return self._rows("calls by tool", report_rows.ToolCount)

    def tool_calls(self) -> list[tool_call_rows.ToolCallRow]:
        """Return every call, thread by thread."""
        with self._visible.transaction():  # all statements read the same state
            known, shared = self._shared_calls()
            plain = tools.paired(self._select("paired calls"), known)
        return tools.in_order([*plain, *shared], known)

    def some_tool_calls(self, ids: Iterable[int]) -> dict[int, tool_call_rows.ToolCallRow]:
        """Return some of the calls, by id."""
        with self._visible.transaction():
            known, shared = self._shared_calls()
            plain = tools.paired(self._select("some calls", calls=array(ids)), known)
        return {call.id: call for call in (*plain, *shared)}

    def call_threads(self) -> list[tool_call_rows.CallThread]:
        """Return every call, thread by thread, with fewer columns."""
        with self._visible.transaction():
            known, shared = self._shared_calls()
            steps = self._rows("call steps", tool_call_rows.CallStep)
        return tools.threads_of(steps, shared, known)

    def call_places(self, ids: Iterable[int]) -> dict[int, tool_call_rows.CallPlace]:
        """Return the positions of some of the calls."""
        rows = self._select("call places", calls=array(ids))
        return {place.id: place for place in typed(tool_call_rows.CallPlace, rows)}

    def call_sums(self, by: tool_call_rows.ToolCallDimension) -> list[tool_call_rows.CallSums]:
        """Return sums of calls by a dimension and by how they ended."""
        with self._visible.transaction():
            _, shared = self._shared_calls()
            rows = self._select(f"calls by {by} and state")
        sums = [tool_call_rows.CallSums._make((*row, msgspec.json.decode(took))) for *row, took in rows]
        return sums + tools.sums_of(shared, by)

    def unanswered_calls(self) -> list[str | None]:
        """Return the session of each call without a result."""
        with self._visible.transaction():
            _, shared = self._shared_calls()
            plain = [session for (session,) in self._select("unanswered")]
        return plain + [call.session for call in shared if call.state is None]

    def _shared_calls(self) -> tuple[tools.Files, list[tool_call_rows.ToolCallRow]]:
        """Return the columns of files that calls need, and the calls that exist several times."""
        since, until = self._since, self._until
        files = None if self._files is None else frozenset(msgspec.json.decode(self._files, type=list[int]))

        def is_asked(file: int, time: int | None) -> bool:
            is_late_enough = since is None or (time is not None and time >= since)
            is_early_enough = until is None or (time is not None and time < until)
            return is_late_enough and is_early_enough and (files is None or file in files)

        known = {file: tuple(file_columns) for file, *file_columns in self._select("files of calls")}
        inputs, outputs = self._select("shared inputs"), self._select("shared outputs")
        is_all = since is None and until is None and files is None
        return known, tools.chosen(inputs, outputs, known, None if is_all else is_asked)

    def turn_starts(self) -> list[report_rows.TurnStart]:
        """Return the first records of turns."""
        return self._rows("turns", report_rows.TurnStart)

    def file_paths(self) -> list[str]:
        """Return the paths that calls read or change."""
        return [path for (path,) in self._select("paths")]

    def file_calls(self, paths: Iterable[str] | None = None) -> list[report_rows.FileCallRow]:
        """Return every call that reads or changes a file."""
        if paths is None:
            return self._rows("file calls", report_rows.FileCallRow)
        return typed(report_rows.FileCallRow, self._select("calls of paths", paths=array(paths)))

    def typed_prompts(self) -> list[report_rows.TypedPrompt]:
        """Return the prompts in order of time."""
        return self._rows("file prompts", report_rows.TypedPrompt)

    def row_times(self) -> list[report_rows.RowTime]:
        """Return the times of rows."""
        return self._rows("file moments", report_rows.RowTime)

    def context_parts(self) -> list[report_rows.ContextPart]:
        """Return the contents of chats by kind."""
        return self._rows("context parts", report_rows.ContextPart)

    def context_passages(self) -> list[report_rows.ContextPassage]:
        """Return every passage of chats."""
        return self._rows("context rows", report_rows.ContextPassage)

    def unsized_passages(self) -> list[report_rows.UnsizedPassage]:
        """Return the passages of chats whose size is not known."""
        return self._rows("context unsized", report_rows.UnsizedPassage)

    def context_answers(self) -> list[report_rows.ContextAnswer]:
        """Return the answers of chats."""
        return self._rows("context answers", report_rows.ContextAnswer)

    def compactions(self) -> list[report_rows.CompactionPlace]:
        """Return the compactions of chats."""
        return self._rows("context compactions", report_rows.CompactionPlace)

    def _rows(self, name: str, kind: type[Row]) -> list[Row]:
        return typed(kind, self._select(name))

    def _each(self, name: str, kind: type[Row]) -> Iterator[Row]:
        """Yield rows one after another: there may be too many of them for memory."""
        cursor = iter(self._visible.execute(self._statement(name, self._values), self._values))
        while rows := list(islice(cursor, ROWS_AT_ONCE)):
            yield from typed(kind, rows)

    def _select(self, name: str, **values: int | str) -> list[Any]:
        bound = {**self._values, **values}
        return select(self._visible, self._statement(name, bound), bound)

    def _statement(self, name: str, given: Mapping[str, Any]) -> str:
        return _decided(self.statements[name], frozenset(name for name, value in given.items() if value is None))


@functools.cache
def _decided(statement: str, nulls: frozenset[str]) -> str:
    """Return a statement without the conditions that its null values decide: only then can indexes answer it."""

    def decide(found: re.Match[str]) -> str:
        return "true" if found["value"] in nulls else f"({found['condition']})"

    return CONDITION.sub(decide, statement)
