"""Tool calls as HTML: the frame that all calls share, and the view of each tool."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from backscroll.conversation.messages import CallState, Message, ToolCall
from backscroll.records.tools import FILE_TOOLS, SHELL_TOOLS
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.page_data import View
from backscroll.render.html.plain import first_line, truncate
from backscroll.render.html.time_limit import timed
from backscroll.render.html.tools import agents, files, generic, lists, shell, web
from backscroll.render.html.tools.call_view import CallReader, CallView
from backscroll.render.parts import result_text
from backscroll.render.reports import duration
from backscroll.render.terminal import moment

ToolView = Callable[[CallReader], CallView]


def call_html(call: ToolCall, message: Message, view: View) -> Html:
    """Return one call, expanded and in full; it replaces the truncated call in the page."""
    with timed(view.clock):
        return call_section(call, message, view, is_open=True)


def call_section(call: ToolCall, message: Message, view: View, *, is_open: bool = False) -> Html:
    """Return a call and its result."""
    reader = CallReader(call, message, view)
    call_view = VIEWS.get(call.name, generic.generic)(reader)
    error = NOTHING if call_view.says_error else _error(reader)
    body = el("div", call_view.parts, error, _foot(reader, call_view), class_="tool-body")
    is_wrong = call.state is CallState.ERROR and call.name in OPEN_WHEN_WRONG and not CANCELLED.match(reader.output)
    is_open = is_open or call_view.is_open or is_wrong
    return el(
        "section",
        el("details", _summary(reader, call_view), body, open=is_open),
        class_=f"tool {call.state}",
        id=f"t-{call.id}",
        data_tool=call.name,
        data_detail="normal",
        data_since=moment(reader.row.when) if call.state is CallState.RUNNING and reader.row.when else None,
    )


def denial_reason(call: ToolCall) -> str:
    """Return the reason that the user gave for denying a call."""
    words = DENIAL_REASON.search(result_text(call)) if call.state is CallState.DENIED else None
    return words[1].strip() if words else ""


def _summary(reader: CallReader, call_view: CallView) -> Html:
    name = reader.call.name or "tool"
    server, _, tool = name.removeprefix("mcp__").partition("__") if name.startswith("mcp__") else ("", "", name)
    seconds = reader.seconds
    took = seconds is not None and seconds >= 1
    words = [
        icon(ICONS.get(name, "plug" if server else "tool")),
        el("span", tool or name, class_="tool-name", title=name if server else None),
        el("span", server, class_="tool-server") if server else None,
        el("span", call_view.words, class_="tool-words") if call_view.words else None,
        _about(call_view) if call_view.about else None,
        el("span", call_view.facts, class_="tool-facts") if call_view.facts else None,
        el("span", STATE_WORDS[reader.state], class_="tool-state") if reader.state in STATE_WORDS else None,
        el("span", duration(seconds), class_="tool-time", title=DURATION_TITLE) if took else None,
    ]
    return el("summary", join([word for word in words if word], " "))


def _about(call_view: CallView) -> Html:
    line = first_line(call_view.about, 200)
    cut_at = max(line.rfind("/"), line.rfind("\\")) + 1 if call_view.path else 0
    if not cut_at:
        return el("span", line, class_="tool-about")
    # On a narrow screen, the file name matters more than its folder.
    folder, name = el("span", line[:cut_at], class_="folder"), el("span", line[cut_at:], class_="file-name")
    return el("span", folder, name, class_="tool-about path", title=call_view.path)


def _error(reader: CallReader) -> Html:
    if not reader.has_failed or not reader.output.strip():
        return NOTHING
    message = (
        DENIAL.sub("", DENIAL_REASON.sub("", reader.output)).strip()
        if reader.state is CallState.DENIED
        else reader.output.strip()
    )
    if not message:
        return NOTHING
    excerpt, lines = (message, 0) if reader.view.whole else truncate(message)
    more = reader.more(lines) if lines else NOTHING
    return el("div", el("pre", excerpt, class_="plain"), more, class_="tool-error")


def _foot(reader: CallReader, call_view: CallView) -> Html:
    links = reader.view.links
    history = links.file(call_view.path) if call_view.path else None
    result = reader.call.result
    ways = [
        el("a", "history of this file", href=history) if history else None,
        _raw_link("raw call", links.raw(reader.row.uuid)),
        _raw_link("raw result", links.raw(result.row.uuid)) if result else None,
    ]
    listed = [way for way in ways if way]
    return el("p", join(listed, " · "), class_="tool-foot") if listed else NOTHING


def _raw_link(name: str, address: str | None) -> Html | None:
    return el("a", name, href=address, data_raw=True) if address else None


BACKGROUND_OUTPUT_TOOLS: Final = ("BashOutput", "AgentOutputTool", "TaskOutput")
VIEWS: Final[Mapping[str, ToolView]] = {
    **dict.fromkeys(("Edit", "MultiEdit", "Write"), files.file_change), "NotebookEdit": files.notebook,
    "Read": files.read, "NotebookRead": files.read, "Glob": files.listing, "LS": files.listing, "Grep": files.grep,
    "Bash": shell.run, "PowerShell": shell.run, **dict.fromkeys(BACKGROUND_OUTPUT_TOOLS, shell.background_output),
    "KillShell": shell.stop_background, "KillBash": shell.stop_background, "TaskStop": shell.stop_background,
    "TodoWrite": lists.todos, "TaskCreate": lists.task_create, "TaskUpdate": lists.task_update, "TaskList": lists.tasks,
    "TaskGet": lists.tasks, "AskUserQuestion": lists.questions, "ExitPlanMode": lists.plan,
    "exit_plan_mode": lists.plan, "EnterPlanMode": lists.message_only, "Task": agents.agent, "Agent": agents.agent,
    "WebFetch": web.fetch, "WebSearch": web.search, "web_search": web.search, "web_fetch": web.fetch,
    "Skill": generic.skill, "SlashCommand": generic.skill, "Workflow": agents.workflow,
}  # fmt: skip
"""The view of each tool; all others use `generic`."""
ICONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("Edit", "MultiEdit", "NotebookEdit"), "edit"), "Write": "file-plus", "Read": "file",
    "NotebookRead": "file", **dict.fromkeys(("Grep", "Glob", "LS"), "search"),
    **dict.fromkeys(("Bash", "PowerShell", "KillShell", "KillBash", "TaskStop", *BACKGROUND_OUTPUT_TOOLS), "terminal"),
    **dict.fromkeys(("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"), "list"), "Task": "agent",
    "Agent": "agent", **dict.fromkeys(("WebFetch", "WebSearch", "web_search", "web_fetch"), "globe"),
    "AskUserQuestion": "question", **dict.fromkeys(("ExitPlanMode", "exit_plan_mode", "EnterPlanMode"), "plan"),
    "Skill": "spark", "SlashCommand": "slash", "Workflow": "agent",
}  # fmt: skip
"""Drawing of each tool; others have that of a tool, or of a plug if a server offers them."""
STATE_WORDS: Final = {
    CallState.ERROR: "failed", CallState.DENIED: "denied", CallState.INTERRUPTED: "interrupted",
    CallState.RUNNING: "running", CallState.MISSING: "no result",
}  # fmt: skip
"""States of calls that did not succeed."""
OPEN_WHEN_WRONG: Final = FILE_TOOLS | SHELL_TOOLS
CANCELLED: Final = re.compile(r"(?:Error: )?(?:Sibling tool call errored|Cancelled: parallel tool call)")
"""Result of a call that was cancelled because a parallel call failed."""
DURATION_TITLE: Final = "From the call to the result, waiting for permission included"
DENIAL_REASON: Final = re.compile(
    r"(?:the user said|The user provided the following reason for the rejection):\s*(.*)", re.DOTALL
)
DENIAL: Final = re.compile(
    r"The user doesn't want to (?:proceed with this tool use|take this action right now)\.[^\n]*"
)
