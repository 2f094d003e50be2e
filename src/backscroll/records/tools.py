"""The parts of the calls and results of particular tools that we read, by the names that Claude Code writes."""

from typing import Final, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from backscroll.records.content import ToolUse
from backscroll.records.decode import decode_line, value_of
from backscroll.records.kinds import Assistant, ProgressRecord, User
from backscroll.records.record import Record

AnyStruct = TypeVar("AnyStruct", bound=Struct)
AGENT_TOOLS: Final = frozenset({"Task", "Agent"})
"""The tools that start a sub-agent, old name and new."""
WORKFLOW_TOOL: Final = "Workflow"
"""The tool that starts a script, which starts sub-agents."""
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
    """The sub-agent in a `toolUseResult`. Its totals repeat those of the agent's own rows: never add them."""

    agent_id: str | None = None
    status: str | None = None
    run_id: str | None = None
    """Run of a workflow: the folder with its agents is named after it."""
    workflow_name: str | None = None


def agent_row(record: Record) -> User | Assistant | None:
    """Return the row of a sub-agent that a progress row repeats, as the agent's own file has it (2.1.9 to 2.1.83).

    If the agent has no file, these rows are all that is left of it. `parent_uuid` is not written there.
    """
    if not isinstance(record, ProgressRecord) or record.data is None or record.data.type != "agent_progress":
        return None
    row = decode_line(bytes(record.data.message))
    if not isinstance(row, (User, Assistant)):
        return None
    return msgspec.structs.replace(
        row,
        is_sidechain=True,
        agent_id=record.data.agent_id or record.parent_tool_use_id,
        session_id=row.session_id or record.session_id,
        timestamp=row.timestamp or record.timestamp,
        cwd=row.cwd or record.cwd,
        version=row.version or record.version,
        git_branch=row.git_branch or record.git_branch,
    )


def agent_call(call: ToolUse) -> AgentCall:
    """Return the input of a call that starts a sub-agent."""
    return _decode(call.input, AGENT_CALL, AgentCall())


def file_of_call(call: ToolUse) -> str | None:
    """Return the path that a call changes."""
    paths = _decode(call.input, FILE_CALL, FileCall())
    return paths.file_path or paths.notebook_path


def todo_call(call: ToolUse) -> TodoCall:
    """Return the change that a call makes to the to-do list."""
    return _decode(call.input, TODO_CALL, TodoCall())


def agent_result(result: Raw) -> AgentResult:
    """Return the sub-agent in a `toolUseResult`, if there is one."""
    return _decode(result, AGENT_RESULT, AgentResult())


def _decode(raw: Raw, decoder: msgspec.json.Decoder[AnyStruct], default: AnyStruct) -> AnyStruct:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    value = value_of(raw)  # not an object, or a field of the wrong type: keep the other fields
    fields = [field for field in msgspec.structs.fields(type(default)) if field.type == str | None]
    texts = {field.name: value.get(field.encode_name) for field in fields} if isinstance(value, dict) else {}
    return type(default)(**{name: text for name, text in texts.items() if isinstance(text, str)})


AGENT_CALL: Final = msgspec.json.Decoder(AgentCall)
FILE_CALL: Final = msgspec.json.Decoder(FileCall)
TODO_CALL: Final = msgspec.json.Decoder(TodoCall)
AGENT_RESULT: Final = msgspec.json.Decoder(AgentResult)
