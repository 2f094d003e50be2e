"""The queries of a store for reports."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from backscroll.store.report_rows import (
    AnswerRow,
    ChatMoment,
    CompactionPlace,
    ContextAnswer,
    ContextPart,
    ContextPassage,
    FileCallRow,
    ReportedCosts,
    RowTime,
    TimeUnit,
    ToolCount,
    TurnStart,
    TypedPrompt,
    UnrecordedUsage,
    UnsizedPassage,
    UsageByName,
    UsageByPeriod,
    UsageDimension,
    UsageSpan,
)
from backscroll.store.spend_rows import AnswerTool, SpentAnswer
from backscroll.store.tool_call_rows import CallPlace, CallSums, CallThread, ToolCallDimension, ToolCallRow


class Reports(Protocol):
    """The data of all reports, for the chats and the period passed to `StoreReader.reports`."""

    def usage_by(self, dimension: UsageDimension) -> list[UsageByName]:
        """Return tokens and costs by a dimension and model."""

    def usage_over_time(self, unit: TimeUnit, ahead: int = 0) -> list[UsageByPeriod]:
        """Return tokens and costs by period and model, in a time zone `ahead` quarters of an hour ahead of UTC."""

    def usage_span(self) -> UsageSpan | None:
        """Return the quarters of the first and the last answer of all; None if no answer has a time."""

    def answer_span(self) -> tuple[int, int] | None:
        """Return the times of the first and the last answer in microseconds, without the client's own; None without
        times.
        """

    def reported_costs(self) -> ReportedCosts:
        """Return the costs that the client recorded."""

    def unrecorded(self) -> list[UnrecordedUsage]:
        """Return tokens and costs of requests without a record, by model, chat and project."""

    def answers(self) -> list[AnswerRow]:
        """Return every answer, in order of time."""

    def spent_answers(self) -> list[SpentAnswer]:
        """Return every answer with its cost and the answer before it, in order of time; without the client's own."""

    def answer_tools(self) -> list[AnswerTool]:
        """Return the tools that each answer calls."""

    def chat_titles(self) -> dict[str, str]:
        """Return the titles of chats by id, regardless of the period."""

    def moments(self) -> Iterator[ChatMoment]:
        """Yield all rows of the chats that were active in the period, including copies and rows outside the period."""

    def prompt_moments(self) -> Iterator[ChatMoment]:
        """Yield the rows of `moments` that were typed or are interruptions."""

    def calls_by_tool(self) -> list[ToolCount]:
        """Return the number of calls of each tool."""

    def tool_calls(self) -> list[ToolCallRow]:
        """Return every call, thread by thread, in the order of the conversation."""

    def some_tool_calls(self, ids: Iterable[int]) -> dict[int, ToolCallRow]:
        """Return the calls with these ids, by id; it may return others too."""

    def call_threads(self) -> list[CallThread]:
        """Return the threads and calls of `tool_calls`, with fewer columns."""

    def call_places(self, ids: Iterable[int]) -> dict[int, CallPlace]:
        """Return the positions of the calls with these ids."""

    def call_sums(self, by: ToolCallDimension) -> list[CallSums]:
        """Return sums of calls by a dimension and by how they ended."""

    def unanswered_calls(self) -> list[str | None]:
        """Return the session of each call without a result."""

    def turn_starts(self) -> list[TurnStart]:
        """Return the first records of turns, file by file, regardless of the period."""

    def file_paths(self) -> list[str]:
        """Return the paths that calls read or change, in all chats and regardless of the period."""

    def file_calls(self, paths: Iterable[str] | None = None) -> list[FileCallRow]:
        """Return every call that reads or changes a file, or only those of some paths, in order of time."""

    def typed_prompts(self) -> list[TypedPrompt]:
        """Return the prompts in order of time, regardless of the period."""

    def row_times(self) -> list[RowTime]:
        """Return the times of rows, regardless of the period."""

    def context_parts(self) -> list[ContextPart]:
        """Return the contents of chats by kind."""

    def context_passages(self) -> list[ContextPassage]:
        """Return every passage of chats, in order of time."""

    def unsized_passages(self) -> list[UnsizedPassage]:
        """Return the passages of chats whose size is not known."""

    def context_answers(self) -> list[ContextAnswer]:
        """Return the answers of chats, without those of agents, in order of time."""

    def compactions(self) -> list[CompactionPlace]:
        """Return the compactions of chats, in order of time."""
