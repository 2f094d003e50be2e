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
    UnsizedPassage,
    UsageByName,
    UsageByPeriod,
    UsageDimension,
    UsageSpan,
)
from backscroll.store.spend_rows import AnswerTool, SpentAnswer
from backscroll.store.tool_call_rows import CallPlace, CallSums, CallThread, ToolCallDimension, ToolCallRow


class Reports(Protocol):
    """The data of all reports, for the chats and the period given to `Store.reports`."""

    def usage_by(self, dimension: UsageDimension) -> list[UsageByName]:
        """Tokens and costs by a dimension and model."""

    def usage_over_time(self, unit: TimeUnit, ahead: int = 0) -> list[UsageByPeriod]:
        """Tokens and costs by period and model, in a time zone `ahead` quarters of an hour ahead of UTC."""

    def usage_span(self) -> UsageSpan | None:
        """The quarters of the first and the last answer of all; None if no answer has a time."""

    def answer_span(self) -> tuple[int, int] | None:
        """The times of the first and the last answer in microseconds, without the client's own; None if none has."""

    def reported_costs(self) -> ReportedCosts:
        """The costs that the client recorded."""

    def answers(self) -> list[AnswerRow]:
        """Every answer, in order of time."""

    def spent_answers(self) -> list[SpentAnswer]:
        """Every answer with its cost and what came before it, in the order of time; without the client's own."""

    def answer_tools(self) -> list[AnswerTool]:
        """Which tools each answer calls."""

    def chat_titles(self) -> dict[str, str]:
        """The titles of chats by id, regardless of the period."""

    def moments(self) -> Iterator[ChatMoment]:
        """All rows of the chats that were active in the period, including copies and rows outside the period."""

    def prompt_moments(self) -> Iterator[ChatMoment]:
        """The rows of `moments` that were typed or are interruptions."""

    def calls_by_tool(self) -> list[ToolCount]:
        """How often each tool was called."""

    def tool_calls(self) -> list[ToolCallRow]:
        """Every call, thread by thread, in the order of the conversation."""

    def some_tool_calls(self, ids: Iterable[int]) -> dict[int, ToolCallRow]:
        """The calls with these ids, by them; there may be others too."""

    def call_threads(self) -> list[CallThread]:
        """The same threads and calls, with fewer columns."""

    def call_places(self, ids: Iterable[int]) -> dict[int, CallPlace]:
        """Where the calls with these ids stand."""

    def call_sums(self, by: ToolCallDimension) -> list[CallSums]:
        """The calls by a dimension and how they ended."""

    def unanswered_calls(self) -> list[str | None]:
        """The session of each call without a result."""

    def turn_starts(self) -> list[TurnStart]:
        """The first records of turns, file by file, regardless of the period."""

    def file_paths(self) -> list[str]:
        """The paths that calls read or change, in all chats and regardless of the period."""

    def file_calls(self, paths: Iterable[str] | None = None) -> list[FileCallRow]:
        """Every call that reads or changes a file, or only those of some paths, in order of time."""

    def typed_prompts(self) -> list[TypedPrompt]:
        """The prompts in order of time, regardless of the period."""

    def row_times(self) -> list[RowTime]:
        """The times of rows, regardless of the period."""

    def context_parts(self) -> list[ContextPart]:
        """The contents of chats by kind."""

    def context_passages(self) -> list[ContextPassage]:
        """Every passage of chats, in order of time."""

    def unsized_passages(self) -> list[UnsizedPassage]:
        """The passages of chats whose size is not known."""

    def context_answers(self) -> list[ContextAnswer]:
        """The answers of chats, without those of agents, in order of time."""

    def compactions(self) -> list[CompactionPlace]:
        """The compactions of chats, in order of time."""
