"""Tools that run commands."""

import re
from typing import Final

from backscroll.conversation.messages import CallState
from backscroll.render.html.ansi import terminal_html
from backscroll.render.html.code import code
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.plain import first_line
from backscroll.render.html.tools.call_view import CallReader, CallView, first_text, label


def run(reader: CallReader) -> CallView:
    """Bash, PowerShell: the command and its output."""
    command = reader.input_text("command")
    description = reader.input_text("description")
    output, failed_with = _output(reader)
    is_denied = reader.state is CallState.DENIED
    said_at_once = reader.detail_text("stdout") if reader.details else "" if is_denied else output
    errors = reader.detail_text("stderr")
    facts = []
    if failed_with:
        facts.append(f"exit code {failed_with}")
    meaning = reader.detail_text("returnCodeInterpretation")
    if meaning:
        facts.append(meaning)
    background = reader.detail_text("backgroundTaskId", "shellId")
    if background:
        facts.append(f"in the background as {background}")
    parts = [reader.truncate(command, command_line)]
    if reader.details.get("isImage") is True:
        parts += reader.pictures()
    elif said_at_once.strip():
        parts.append(terminal_output(reader, said_at_once))
    parts.append(_errors(reader, errors))
    if reader.call.result and reader.details and not said_at_once.strip() and not errors.strip():
        parts.append(el("p", "no output", class_="muted"))
    says_error = not is_denied and bool(output or errors)
    return CallView(first_line(command), parts, ", ".join(facts), words=first_line(description), says_error=says_error)


def background_output(reader: CallReader) -> CallView:
    """BashOutput, TaskOutput: new output of a background task."""
    task = reader.details.get("task")
    fields = task if isinstance(task, dict) else reader.details
    name = reader.input_text("bash_id", "task_id", "shell_id", "agentId")
    command, status = first_text(fields, "command"), first_text(fields, "status")
    output = first_text(fields, "stdout", "output", "result") or ("" if fields else reader.output)
    errors, ended_with = first_text(fields, "stderr"), fields.get("exitCode")
    facts = [status, f"exit code {ended_with}" if isinstance(ended_with, int) and ended_with else ""]
    parts = [
        reader.truncate(command, command_line) if command else NOTHING,
        terminal_output(reader, output) if output.strip() else NOTHING,
        _errors(reader, errors),
    ]
    words, about = first_text(fields, "description"), first_line(command) or name
    body = parts if any(parts) else [el("p", "no output yet", class_="muted")]
    return CallView(about, [] if reader.has_failed else body, ", ".join(filter(None, facts)), words=first_line(words))


def stop_background(reader: CallReader) -> CallView:
    """KillShell, TaskStop: the message about a background task that was stopped."""
    name = reader.input_text("shell_id", "task_id", "bash_id")
    message = reader.detail_text("message") or ("" if reader.has_failed else reader.output)
    return CallView(name, [el("p", message)] if message else [])


def command_line(command: str) -> Html:
    """Return the command, highlighted."""
    return el("div", code(command, "bash"), class_="command")


def terminal_output(reader: CallReader, text: str) -> Html:
    """Return the output of a command. Of a line that was overwritten, such as a progress bar, only the last state is
    shown."""
    text = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n")).strip("\n")
    return reader.truncate(text, terminal_html) if text else NOTHING


def _errors(reader: CallReader, text: str) -> Html:
    return (
        label("standard error", el("div", terminal_output(reader, text), class_="standard-error"))
        if text.strip()
        else NOTHING
    )


def _output(reader: CallReader) -> tuple[str, str]:
    """Return the output for the model, and the exit code if it was not 0."""
    failed = EXIT.match(reader.output)
    if failed:
        return reader.output[failed.end() :].lstrip("\n"), failed[1]
    return reader.output, ""


EXIT: Final = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
