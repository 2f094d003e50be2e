"""Each tool with a view of its own, and the frame that all of them share."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from backscroll.conversation.messages import CallState, Message, ToolCall
from backscroll.records.tools import FILE_TOOLS, SHELL_TOOLS
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.page_data import View
from backscroll.render.html.plain import cut, first_line
from backscroll.render.html.time_limit import timed
from backscroll.render.html.tools import agents, files, generic, lists, shell, web
from backscroll.render.html.tools.call_view import CallReader, CallView
from backscroll.render.parts import result_text
from backscroll.render.reports import duration
from backscroll.render.terminal import moment

ToolView = Callable[[CallReader], CallView]


def call_html(call: ToolCall, message: Message, view: View) -> Html:
    """One call by itself, unfolded: what takes the place of the one in the page that shows only the beginning."""
    with timed(view.clock):
        return section(call, message, view, is_open=True)


def section(call: ToolCall, message: Message, view: View, *, is_open: bool = False) -> Html:
    """A call and what came of it."""
    called = CallReader(call, message, view)
    seen = VIEWS.get(call.name, generic.generic)(called)
    error = NOTHING if seen.says_error else _error(called)
    body = el("div", seen.parts, error, _foot(called, seen), class_="tool-body")
    is_wrong = call.state is CallState.ERROR and call.name in OPEN_WHEN_WRONG and not CANCELLED.match(called.output)
    is_open = is_open or seen.is_open or is_wrong
    return el(
        "section",
        el("details", _summary(called, seen), body, open=is_open),
        class_=f"tool {call.state}",
        id=f"t-{call.id}",
        data_tool=call.name,
        data_detail="normal",
        data_since=moment(called.row.when) if call.state is CallState.RUNNING and called.row.when else None,
    )


def user_words(call: ToolCall) -> str:
    """What the user said when they did not let a call happen."""
    words = SAID.search(result_text(call)) if call.state is CallState.DENIED else None
    return words[1].strip() if words else ""


def _summary(called: CallReader, seen: CallView) -> Html:
    name = called.call.name or "tool"
    server, _, tool = name.removeprefix("mcp__").partition("__") if name.startswith("mcp__") else ("", "", name)
    seconds = called.seconds
    took = seconds is not None and seconds >= 1
    words = [
        el("span", GLYPHS.get(name, "◇" if server else "▸"), class_="glyph", aria_hidden="true"),
        el("span", tool or name, class_="tool-name", title=name if server else None),
        el("span", server, class_="tool-server") if server else None,
        el("span", seen.words, class_="tool-words") if seen.words else None,
        _about(seen) if seen.about else None,
        el("span", seen.facts, class_="tool-facts") if seen.facts else None,
        el("span", WORDS[called.state], class_="tool-state") if called.state in WORDS else None,
        el("span", duration(seconds), class_="tool-time", title=TOOK) if took else None,
    ]
    return el("summary", join([word for word in words if word], " "))


def _about(seen: CallView) -> Html:
    line = first_line(seen.about, 200)
    cut_at = max(line.rfind("/"), line.rfind("\\")) + 1 if seen.path else 0
    if not cut_at:
        return el("span", line, class_="tool-about")
    # Where there is little room, the name of a file is worth more than where it lies.
    folder, name = el("span", line[:cut_at], class_="folder"), el("span", line[cut_at:], class_="file-name")
    return el("span", folder, name, class_="tool-about path", title=seen.path)


def _error(called: CallReader) -> Html:
    if not called.has_failed or not called.output.strip():
        return NOTHING
    said = (
        DENIAL.sub("", SAID.sub("", called.output)).strip()
        if called.state is CallState.DENIED
        else called.output.strip()
    )
    if not said:
        return NOTHING
    shown, lines = (said, 0) if called.view.whole else cut(said)
    more = called.more(lines) if lines else NOTHING
    return el("div", el("pre", shown, class_="plain"), more, class_="tool-error")


def _foot(called: CallReader, seen: CallView) -> Html:
    links = called.view.links
    history = links.file(seen.path) if seen.path else None
    result = called.call.result
    ways = [
        el("a", "history of this file", href=history) if history else None,
        _raw("raw call", links.raw(called.row.uuid)),
        _raw("raw result", links.raw(result.row.uuid)) if result else None,
    ]
    shown = [way for way in ways if way]
    return el("p", join(shown, " · "), class_="tool-foot") if shown else NOTHING


def _raw(name: str, address: str | None) -> Html | None:
    return el("a", name, href=address, data_raw=True) if address else None


SHELL_LOOKS: Final = ("BashOutput", "AgentOutputTool", "TaskOutput")
VIEWS: Final[Mapping[str, ToolView]] = {
    "Edit": files.change, "MultiEdit": files.change, "Write": files.change, "NotebookEdit": files.notebook,
    "Read": files.read, "NotebookRead": files.read, "Glob": files.listing, "LS": files.listing, "Grep": files.grep,
    "Bash": shell.run, "PowerShell": shell.run, **dict.fromkeys(SHELL_LOOKS, shell.look),
    "KillShell": shell.stop, "KillBash": shell.stop, "TaskStop": shell.stop,
    "TodoWrite": lists.todos, "TaskCreate": lists.made, "TaskUpdate": lists.changed, "TaskList": lists.tasks,
    "TaskGet": lists.tasks, "AskUserQuestion": lists.questions, "ExitPlanMode": lists.plan,
    "exit_plan_mode": lists.plan, "EnterPlanMode": lists.quiet, "Task": agents.agent, "Agent": agents.agent,
    "WebFetch": web.fetch, "WebSearch": web.search, "web_search": web.search, "web_fetch": web.fetch,
    "Skill": generic.skill, "SlashCommand": generic.skill,
}  # fmt: skip
"""How each tool is shown; those that are not here are shown as what they were asked and gave back."""
GLYPHS: Final = {
    "Edit": "±", "MultiEdit": "±", "NotebookEdit": "±", "Write": "+", "Read": "≡", "NotebookRead": "≡", "Bash": "$",
    "PowerShell": "$", "BashOutput": "$", "TaskOutput": "$", "KillShell": "$", "Grep": "⌕", "Glob": "⌕", "LS": "⌕",
    "TodoWrite": "☑", "TaskCreate": "☑", "TaskUpdate": "☑", "TaskList": "☑", "TaskGet": "☑", "Task": "◎", "Agent": "◎",
    "WebFetch": "↗", "WebSearch": "↗", "web_search": "↗", "web_fetch": "↗", "AskUserQuestion": "?", "ExitPlanMode": "¶",
    "EnterPlanMode": "¶", "Skill": "✦", "SlashCommand": "✦",
}  # fmt: skip
WORDS: Final = {
    CallState.ERROR: "failed", CallState.DENIED: "denied", CallState.INTERRUPTED: "interrupted",
    CallState.RUNNING: "running", CallState.MISSING: "no result",
}  # fmt: skip
"""How a call ended, where it did not simply do what it was asked."""
OPEN_WHEN_WRONG: Final = FILE_TOOLS | SHELL_TOOLS
CANCELLED: Final = re.compile(r"(?:Error: )?(?:Sibling tool call errored|Cancelled: parallel tool call)")
"""What a call says that was not made because another one at the same time failed."""
TOOK: Final = "From the call to the result, waiting for permission included"
SAID: Final = re.compile(
    r"(?:the user said|The user provided the following reason for the rejection):\s*(.*)", re.DOTALL
)
DENIAL: Final = re.compile(
    r"The user doesn't want to (?:proceed with this tool use|take this action right now)\.[^\n]*"
)
