"""The parts of the calls and results of particular tools that we read, by the names that Claude Code writes."""

from typing import Final, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from backscroll.records.content import ToolUse, Usage
from backscroll.records.decode import value_of
from backscroll.records.kinds import ProgressRecord

AnyStruct = TypeVar("AnyStruct", bound=Struct)
AGENT_TOOLS: Final = frozenset({"Task", "Agent"})
"""The tools that start a sub-agent, old name and new."""
FILE_TOOLS: Final = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
"""The tools that change a file."""
READING_TOOLS: Final = frozenset({"Read", "NotebookRead"})
"""The tools that read a file."""
SHELL_TOOLS: Final = frozenset({"Bash", "PowerShell"})
"""The tools that run a command."""
TODO_TOOLS: Final = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})
"""The tools that keep the to-do list: the old one writes the whole list, the new ones single items."""


class AgentCall(Struct, frozen=True, kw_only=True):
    """The task of a sub-agent."""

    prompt: str | None = None
    description: str | None = None
    subagent_type: str | None = None


class FileCall(Struct, frozen=True, kw_only=True):
    """The file that is changed."""

    file_path: str | None = None
    notebook_path: str | None = None


class Todo(Struct, frozen=True, kw_only=True):
    """An item of the to-do list: `pending`, `in_progress`, `completed`."""

    content: str = ""
    status: str = "pending"


class TodoCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """A change to the to-do list."""

    todos: list[Todo] = field(default_factory=list)
    subject: str | None = None
    task_id: str | None = None
    status: str | None = None


class AgentResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What `toolUseResult` says about a sub-agent. Its totals repeat what the agent's own rows say: never add them."""

    agent_id: str | None = None
    status: str | None = None


class AgentAnswer(Struct, frozen=True, kw_only=True):
    """The usage of a sub-agent's answer."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class AgentProgress(Struct, frozen=True, kw_only=True):
    """A row of a sub-agent as the main session repeats it (2.1.12 to 2.1.83). Where the agent's file is gone it is all
    that is left of it."""

    type: str | None = None
    uuid: str | None = None
    message: AgentAnswer | None = None


def agent_answer(progress: ProgressRecord) -> AgentProgress | None:
    """The sub-agent's answer in a progress row, if it has one with its usage."""
    if progress.data is None or progress.data.type != "agent_progress":
        return None
    found = _decode(progress.data.message, AGENT_PROGRESS, AgentProgress())
    return found if found.type == "assistant" and found.message and found.message.usage else None


def agent_call(call: ToolUse) -> AgentCall:
    """The input of a call that starts a sub-agent."""
    return _decode(call.input, AGENT_CALL, AgentCall())


def file_of_call(call: ToolUse) -> str | None:
    """The path that a call changes."""
    found = _decode(call.input, FILE_CALL, FileCall())
    return found.file_path or found.notebook_path


def todo_call(call: ToolUse) -> TodoCall:
    """The change that a call makes to the to-do list."""
    return _decode(call.input, TODO_CALL, TodoCall())


def agent_result(result: Raw) -> AgentResult:
    """The sub-agent in a `toolUseResult`, if there is one."""
    return _decode(result, AGENT_RESULT, AgentResult())


def _decode(raw: Raw, decoder: msgspec.json.Decoder[AnyStruct], default: AnyStruct) -> AnyStruct:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    value = value_of(raw)  # not an object, or a field of the wrong type: that costs the field
    fields = [field for field in msgspec.structs.fields(type(default)) if field.type == str | None]
    texts = {field.name: value.get(field.encode_name) for field in fields} if isinstance(value, dict) else {}
    return type(default)(**{name: text for name, text in texts.items() if isinstance(text, str)})


AGENT_CALL: Final = msgspec.json.Decoder(AgentCall)
FILE_CALL: Final = msgspec.json.Decoder(FileCall)
TODO_CALL: Final = msgspec.json.Decoder(TodoCall)
AGENT_PROGRESS: Final = msgspec.json.Decoder(AgentProgress)
AGENT_RESULT: Final = msgspec.json.Decoder(AgentResult)
