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
        """Type of the tool's arguments."""
        return getattr(self._module, f"{self._stem}Arguments")  # type: ignore[no-any-return]

    @property
    def answer(self) -> type[ToolAnswer]:
        """Type of the tool's answer."""
        return getattr(self._module, f"{self._stem}Answer")  # type: ignore[no-any-return]

    @property
    def run(self) -> Callable[[CallContext, Any], ToolAnswer]:
        """Function that runs the tool."""
        return getattr(self._module, self.name)  # type: ignore[no-any-return]

    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the schemas of the tool's arguments and answer, as complete JSON Schema."""
        return schema_of(self.arguments), schema_of(self.answer)

    def listed_schema(self) -> dict[str, Any]:
        """Return the schema of the arguments as a client sees it.

        Every session of every client pays for this text, whether it uses the tool or not. So it leaves out the meaning
        of what is `SHARED`, and limits, which the server checks anyway.
        """
        whole = schema_of(self.arguments)
        listed: dict[str, Any] = {"type": "object", "properties": {}}
        for name, argument in whole["properties"].items():
            is_shared = name in SHARED and (self.name, name) != ("read", "offset")  # which counts messages
            left_out = (*LIMITS, "description") if is_shared else LIMITS
            kept = {key: value for key, value in argument.items() if key not in left_out}
            if not kept.get("default") or name == "max_tokens" or "enum" in kept:
                kept.pop("default", None)  # nothing, or said elsewhere
            listed["properties"][name] = kept
        listed["properties"]["max_tokens"] = listed["properties"].pop("max_tokens")  # least important last
        return {**listed, "required": whole["required"]} if whole.get("required") else listed


LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "pattern")
SHARED: Final = frozenset({"since", "until", "limit", "offset", "include_current", "max_tokens"})
"""Arguments that mean the same in every tool: the server's instructions explain them."""

TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool(
            "recall",
            "Recall",
            "Answer a question in plain words (what did we decide about X, how did I set up Y) with the best "
            "passages of the user's earlier Claude Code conversations, and their sources. Start here. A passage has "
            "the words of the question, but may not answer it: then say that nothing was found.",
        ),
        Tool(
            "search",
            "Search",
            "Search earlier conversations by words, phrases and fields. Use it when you know a word, a file, a "
            "tool or a time; then read.",
        ),
        Tool(
            "read",
            "Read",
            "Read an earlier conversation: from its start, around a message, a sub-agent's part, or the full "
            "output of a tool call.",
        ),
        Tool(
            "timeline",
            "Timeline",
            "List the conversations of a project and a period, newest first: what was worked on yesterday, last week.",
        ),
        Tool(
            "similar_errors",
            "Similar errors",
            "Find where an error occurred before and what solved it. Use it before you try to solve it again.",
        ),
        Tool(
            "file_history",
            "File history",
            "What earlier conversations did to a file: when, for which prompt, how many lines.",
        ),
        Tool(
            "stats",
            "Statistics",
            "Reports over all conversations: tokens, costs, tools, errors, loops, files, time. For how much and "
            "how often.",
        ),
        Tool(
            "query",
            "SQL",
            "Query the index of all conversations with read-only SQL, for what no other tool answers.",
        ),
    )
}
