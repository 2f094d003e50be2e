"""The tools: names, descriptions, arguments and answers."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple

from backscroll.mcp.answers import ToolAnswer, schema_of
from backscroll.mcp.arguments import ToolArguments
from backscroll.mcp.call_context import CallContext


class Tool(NamedTuple):
    """A tool. Its module is imported on first use."""

    name: str
    title: str
    description: str

    @property
    def _module(self) -> Any:  # noqa: ANN401
        return import_module(f"backscroll.mcp.tools.{self.name}")

    @property
    def _stem(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def arguments(self) -> type[ToolArguments]:
        """The type of its arguments."""
        return getattr(self._module, f"{self._stem}Arguments")  # type: ignore[no-any-return]

    @property
    def answer(self) -> type[ToolAnswer]:
        """The type of its answer."""
        return getattr(self._module, f"{self._stem}Answer")  # type: ignore[no-any-return]

    @property
    def run(self) -> Callable[[CallContext, Any], ToolAnswer]:
        """The function that runs it."""
        return getattr(self._module, self.name)  # type: ignore[no-any-return]

    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Its arguments and its answer, as JSON Schema."""
        takes = schema_of(self.arguments)
        takes["properties"]["max_tokens"] = takes["properties"].pop("max_tokens")  # least important last
        return takes, schema_of(self.answer)


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool(
            "recall",
            "Recall",
            "Answer a question in plain words (what did we decide about X, how did I set up Y) with the best "
            "passages of the user's earlier Claude Code conversations, each with chat, message and time to cite. "
            "Start here.",
        ),
        Tool(
            "search",
            "Search",
            "Search earlier conversations by words, phrases and fields; results are grouped by chat. Use it when "
            "you know a word, a file, a tool or a time. Read the results with read.",
        ),
        Tool(
            "read",
            "Read",
            "Read an earlier conversation page by page: from its start, around a message, a sub-agent's part, or "
            "the full output of a tool call.",
        ),
        Tool(
            "timeline",
            "Timeline",
            "List the conversations of a project and a period, newest first: what was worked on recently, "
            "yesterday, last week.",
        ),
        Tool(
            "similar_errors",
            "Similar errors",
            "Find where an error occurred before and what solved it. Pass the error message before you try to "
            "solve it again.",
        ),
        Tool(
            "file_history",
            "File history",
            "What earlier conversations did to a file: when, for which prompt, and how many lines were added and "
            "removed.",
        ),
        Tool(
            "stats",
            "Statistics",
            "Reports over all conversations: tokens and costs, tools, error patterns, loops and rework, files, "
            "time. For retrospectives and questions of how much and how often.",
        ),
        Tool(
            "query",
            "SQL",
            "Query the index of all conversations with read-only SQL, for what no other tool answers. Without "
            "sql, it lists the views and their columns.",
        ),
    )
}
