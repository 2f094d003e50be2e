"""Tools that run commands."""

import re
from typing import Final

from backscroll.conversation.messages import CallState
from backscroll.render.html.ansi import terminal
from backscroll.render.html.code import code
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.plain import first_line
from backscroll.render.html.tools.call_view import CallReader, CallView, label, text_in


def run(called: CallReader) -> CallView:
    """Bash: the command, and what it wrote."""
    command = called.asked("command")
    description = called.asked("description")
    output, failed_with = _output(called)
    is_denied = called.state is CallState.DENIED
    said_at_once = called.told("stdout") if called.fields else "" if is_denied else output
    errors = called.told("stderr")
    facts = []
    if failed_with:
        facts.append(f"exit code {failed_with}")
    meaning = called.told("returnCodeInterpretation")
    if meaning:
        facts.append(meaning)
    background = called.told("backgroundTaskId", "shellId")
    if background:
        facts.append(f"in the background as {background}")
    parts = [called.cut(command, command_line)]
    if called.fields.get("isImage") is True:
        parts += called.pictures()
    elif said_at_once.strip():
        parts.append(written(called, said_at_once))
    parts.append(_errors(called, errors))
    if called.call.result and called.fields and not said_at_once.strip() and not errors.strip():
        parts.append(el("p", "no output", class_="muted"))
    says_error = not is_denied and bool(output or errors)
    return CallView(first_line(command), parts, ", ".join(facts), words=first_line(description), says_error=says_error)


def look(called: CallReader) -> CallView:
    """BashOutput, TaskOutput: what something in the background has written since."""
    task = called.fields.get("task")
    fields = task if isinstance(task, dict) else called.fields
    name = called.asked("bash_id", "task_id", "shell_id", "agentId")
    command, status = text_in(fields, "command"), text_in(fields, "status")
    output = text_in(fields, "stdout", "output", "result") or ("" if fields else called.output)
    errors, ended_with = text_in(fields, "stderr"), fields.get("exitCode")
    facts = [status, f"exit code {ended_with}" if isinstance(ended_with, int) and ended_with else ""]
    parts = [
        called.cut(command, command_line) if command else NOTHING,
        written(called, output) if output.strip() else NOTHING,
        _errors(called, errors),
    ]
    words, about = text_in(fields, "description"), first_line(command) or name
    shown = parts if any(parts) else [el("p", "no output yet", class_="muted")]
    return CallView(about, [] if called.has_failed else shown, ", ".join(filter(None, facts)), words=first_line(words))


def stop(called: CallReader) -> CallView:
    """KillShell, TaskStop: something in the background was ended."""
    name = called.asked("shell_id", "task_id", "bash_id")
    said = called.told("message") or ("" if called.has_failed else called.output)
    return CallView(name, [el("p", said)] if said else [])


def command_line(command: str) -> Html:
    """A command as it was typed."""
    return el("div", code(command, "bash"), class_="command")


def written(called: CallReader, text: str) -> Html:
    """What a command wrote. A line that was written over again and again is only its last state."""
    text = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n")).strip("\n")
    return called.cut(text, terminal) if text else NOTHING


def _errors(called: CallReader, text: str) -> Html:
    return (
        label("standard error", el("div", written(called, text), class_="standard-error")) if text.strip() else NOTHING
    )


def _output(called: CallReader) -> tuple[str, str]:
    """What the model was told, and the exit code if it was not 0."""
    failed = EXIT.match(called.output)
    if failed:
        return called.output[failed.end() :].lstrip("\n"), failed[1]
    return called.output, ""


EXIT: Final = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
