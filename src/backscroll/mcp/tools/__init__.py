"""The tools: what each is called, what it says of itself, what it takes and what it answers."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple

from backscroll.mcp.answers import ToolAnswer, schema_of
from backscroll.mcp.arguments import ToolArguments
from backscroll.mcp.call_context import CallContext


class Tool(NamedTuple):
    """A tool, whose module is imported when it is first needed."""

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
        """What it takes."""
        return getattr(self._module, f"{self._stem}Arguments")  # type: ignore[no-any-return]

    @property
    def answer(self) -> type[ToolAnswer]:
        """What it answers with."""
        return getattr(self._module, f"{self._stem}Answer")  # type: ignore[no-any-return]

    @property
    def run(self) -> Callable[[CallContext, Any], ToolAnswer]:
        """What it does."""
        return getattr(self._module, self.name)  # type: ignore[no-any-return]

    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What it takes and answers, as JSON Schema."""
        takes = schema_of(self.arguments)
        takes["properties"]["max_tokens"] = takes["properties"].pop("max_tokens")  # what matters least comes last
        return takes, schema_of(self.answer)


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool(
            "recall",
            "Recall",
            "Remember: the best passages of the user's earlier Claude Code conversations for a question in plain words "
            "(what did we decide about X, how did I set up Y), each with its chat, message and time to cite. Start "
            "here.",
        ),
        Tool(
            "search",
            "Search",
            "Find earlier conversations by exact words, phrases and fields; grouped by chat. Use it when you know a "
            "word that was said, a file, a tool or a time. Read what you find with read.",
        ),
        Tool(
            "read",
            "Read",
            "Read an earlier conversation: from its beginning, around a message, a sub-agent's part, or the whole "
            "output of a tool call. Page by page.",
        ),
        Tool(
            "timeline",
            "Timeline",
            "Which conversations there were in a project and a time, the newest first: what was worked on lately, "
            "yesterday, last week.",
        ),
        Tool(
            "similar_errors",
            "Similar errors",
            "Where an error was met before and what was done until it went well. Give it the error's text before you "
            "try to solve it anew.",
        ),
        Tool(
            "file_history",
            "History of a file",
            "What earlier conversations did to a file: when, what was asked for, how many lines came and went.",
        ),
        Tool(
            "stats",
            "Statistics",
            "Counted reports on all conversations: tokens and costs, tools, error patterns, loops and rework, files, "
            "time. For retrospectives and questions of how much and how often.",
        ),
        Tool(
            "query",
            "SQL",
            "Ask the index of all conversations in SQL, only reading, for what no other tool answers. Without sql it "
            "tells the views and their columns.",
        ),
    )
}
