"""What a store answers to questions about numbers."""

from collections.abc import Iterable, Iterator
from typing import Protocol

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
    """Everything that reports are made of, about the chats and the time that `Store.reports` was asked for."""

    def usage_by(self, dimension: UsageDimension) -> list[UsageByName]:
        """Tokens and money by a dimension and model."""

    def usage_over_time(self, unit: TimeUnit, ahead: int = 0) -> list[UsageByPeriod]:
        """Tokens and money by period and model, of a time zone that is `ahead` quarters of an hour ahead of UTC."""

    def usage_span(self) -> UsageSpan | None:
        """When the first and the last answer of all were; None if there are none with a time."""

    def reported_costs(self) -> ReportedCosts:
        """What the client wrote down as costs."""

    def answers(self) -> list[AnswerRow]:
        """Every answer, in the order of time."""

    def cached_answers(self) -> list[CachedAnswer]:
        """Every answer up to the end of the time, also those before its beginning, for the pauses."""

    def spent_answers(self) -> list[SpentAnswer]:
        """Every answer with its cost and what came before it, in the order of time; without the client's own."""

    def answer_tools(self) -> list[AnswerTool]:
        """Which tools each answer calls."""

    def chat_titles(self) -> dict[str, str]:
        """The titles of chats by their ids, of whatever time."""

    def moments(self) -> Iterator[ChatMoment]:
        """The rows of the chats that were active in the time, all of them: copies, and rows of other times too."""

    def prompt_moments(self) -> Iterator[ChatMoment]:
        """Those of them that were typed, or are interruptions."""

    def calls_by_tool(self) -> list[ToolCount]:
        """How often each tool was called."""

    def tool_calls(self) -> list[ToolCallRow]:
        """Every call, thread by thread, in the order of the conversation."""

    def some_tool_calls(self, ids: Iterable[int]) -> dict[int, ToolCallRow]:
        """The calls with these ids, by them; there may be others too."""

    def call_threads(self) -> list[CallThread]:
        """The same threads and calls, with less told of each."""

    def call_places(self, ids: Iterable[int]) -> dict[int, CallPlace]:
        """Where the calls with these ids stand."""

    def call_sums(self, by: ToolCallDimension) -> list[CallSums]:
        """The calls by a dimension and how they ended."""

    def unanswered_calls(self) -> list[str | None]:
        """The session of each call without a result."""

    def turn_starts(self) -> list[TurnStart]:
        """Where turns begin, file by file, of whatever time."""

    def file_paths(self) -> list[str]:
        """The paths that calls read or change, of whatever chats and time."""

    def file_calls(self, paths: Iterable[str] | None = None) -> list[FileCallRow]:
        """Every call that reads or changes a file, or only those of some paths, in the order of time."""

    def typed_prompts(self) -> list[TypedPrompt]:
        """The prompts, in the order of time, of whatever time."""

    def row_times(self) -> list[RowTime]:
        """When rows were written, of whatever time."""

    def context_parts(self) -> list[ContextPart]:
        """What chats are made of."""

    def context_passages(self) -> list[ContextPassage]:
        """Every passage of chats, in the order of time."""

    def unsized_passages(self) -> list[UnsizedPassage]:
        """The passages of chats whose size is not known."""

    def context_answers(self) -> list[ContextAnswer]:
        """The answers of chats, without those of agents, in the order of time."""

    def compactions(self) -> list[CompactionPlace]:
        """The compactions of chats, in the order of time."""
