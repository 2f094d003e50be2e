"""The types of the responses, for the OpenAPI description: what `--json` prints.

Handlers answer with what `render` makes; tests keep both in step. docs/reference/json.md explains each key.
"""

from typing import Any

from msgspec import UNSET, Struct, UnsetType


class Answer(Struct, forbid_unknown_fields=True):
    """An object with these keys and no others."""


class PullRequest(Answer):
    """A pull request that a chat made."""

    number: int | None
    url: str | None
    repository: str | None


class Todo(Answer):
    """An item of the to-do list."""

    text: str
    status: str


class Chat(Answer):
    """The summary of a chat."""

    id: str
    title: str
    project: str | None
    archived: bool
    pinned: bool
    sessions: list[str]
    leaves: list[str]
    branches: int
    agents: int
    messages: int
    prompts: int
    started: str | None
    last_active: str | None
    active_seconds: int
    models: list[str]
    versions: list[str]
    git_branches: list[str]
    compactions: int
    copies: int
    tags: list[str]
    pull_requests: list[PullRequest]
    files_touched: list[str]
    todos: list[Todo]
    owner: str | UnsetType = UNSET
    """On a team server: whose it is."""
    machines: list[str] | UnsetType = UNSET
    """Only in a list, as are the next four."""
    tokens: int | UnsetType = UNSET
    cost_microdollars: int | UnsetType | None = UNSET
    unrecorded_tokens: int | UnsetType = UNSET
    """What requests without a record used, beside `tokens`."""
    unrecorded_cost_microdollars: int | UnsetType | None = UNSET


class Chats(Answer):
    """Some chats, how many there are in all, and whether there are more after these."""

    chats: list[Chat]
    total: int
    more: bool


class OneChat(Answer):
    """A chat."""

    chat: Chat


class Branch(Answer):
    """A branch, and where it forked off."""

    number: int
    active: bool
    leaf: str
    left_at: str | None
    turns: int
    sessions: list[str]


class Branches(Answer):
    """The branches of a chat, the active one first."""

    branches: list[Branch]


class SharedPart(Answer):
    """What two branches have in common."""

    messages: int
    prompts: int
    last_message: str | None
    last_prompt: str | None


class ComparedTurn(Answer):
    """A prompt on one of two branches, and what came of it."""

    message: str
    kind: str
    when: str | None
    prompt: str
    answer: str
    answer_message: str | None
    calls: int
    errors: int
    files: list[str]
    cost_microdollars: int | None


class ComparedBranch(Answer):
    """A branch after the fork."""

    number: int
    active: bool
    first_message: str | None
    prompts: int
    answers: int
    calls: int
    errors: int
    agents: int
    files: int
    added: int
    removed: int
    cost_microdollars: int | None
    started: str | None
    ended: str | None
    models: list[str]
    turns: list[ComparedTurn]


class FileChange(Answer):
    """What a branch changed in a file."""

    edits: int
    added: int
    removed: int


class ComparedFile(Answer):
    """A file, with the changes of the left and of the right branch."""

    file: str
    changes: list[FileChange | None]


class Comparison(Answer):
    """Two branches of a chat, the left one first."""

    shared: SharedPart
    branches: list[ComparedBranch]
    files: list[ComparedFile]


class Usage(Answer):
    """Token counts."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class ForkContext(Answer):
    """The conversation that a forked agent started from."""

    session: str | None
    last: str | None


class Agent(Answer):
    """A sub-agent and the call that started it."""

    id: str
    type: str | None
    description: str | None
    call: str | None
    parent: str | None
    models: list[str]
    rows: int
    started: str | None
    usage: Usage
    fork_context: ForkContext | None
    is_stub: bool
    is_side_copy: bool


class Agents(Answer):
    """The agents of a chat."""

    agents: list[Agent]


class Compaction(Answer):
    """A compaction: why it happened, its token counts, and which rows were preserved."""

    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None
    preserved: list[str]
    preserved_from: str | None
    preserved_to: str | None


class Call(Answer):
    """A tool call with its result."""

    id: str
    name: str
    input: Any
    state: str
    result: str | None
    result_uuid: str | None
    diff: str | None


class OtherText(Answer):
    """What a copy of a message says that is from another machine."""

    machine: str
    text: str


class Message(Answer):
    """A message with its calls."""

    id: str
    kind: str
    uuids: list[str | None]
    when: str | None
    text: str
    thinking: str
    model: str | None
    usage: Usage | None
    stop_reason: str | None
    compaction: Compaction | None
    calls: list[Call]
    starts_part: str | UnsetType = UNSET
    """Why a part of the conversation begins here; missing if none does."""
    conflicts: list[OtherText] | UnsetType = UNSET
    """What copies of the message from other machines say, where that is something else; missing if there are none."""
    branch: int | UnsetType = UNSET
    """Missing for an agent's messages."""


class Messages(Answer):
    """Some messages of a branch or an agent, in reading order, and their total number."""

    messages: list[Message]
    offset: int
    total: int


class Hit(Answer):
    """A passage that matches."""

    chat: str
    title: str
    project: str | None
    session: str | None
    agent: str | None
    machine: str | None
    """The machine that the text is from; null for a title."""
    message: str | None
    message_id: str | None
    block: int
    kind: str
    tool: str | None
    error: bool
    abandoned: bool
    time: str | None
    snippet: str
    highlights: list[tuple[int, int]]
    score: float


class FoundChat(Answer):
    """A chat with matches."""

    id: str
    title: str
    project: str | None
    archived: bool
    pinned: bool
    machines: list[str]
    tags: list[str]
    found: int
    owner: str | UnsetType = UNSET
    """On a team server: whose it is."""


class Correction(Answer):
    """A word that was taken for misspelt, and what was searched for as well."""

    typed: str
    also: list[str]


class Found(Answer):
    """Search results."""

    hits: list[Hit]
    chats: list[FoundChat]
    total: int
    total_chats: int
    notes: list[str]
    corrections: list[Correction]
    cursor: str | None
    pending: int
    complete: bool


class Report(Struct, frozen=True):
    """A report: its rows, and what was counted and left out. `overview` has no rows."""

    rows: list[dict[str, Any]] | UnsetType = UNSET


class Project(Answer):
    """A project with its totals."""

    project: str | None
    chats: int
    messages: int
    last_active: str | None


class Projects(Answer):
    """All projects, the most recently active first."""

    projects: list[Project]


class Status(Answer):
    """What is served, and the state of the index."""

    backscroll: str
    """The version."""
    library: str
    homes: list[str]
    indexed: bool
    """Whether there is an index yet."""
    pending: int
    """Passages that are not indexed yet."""
    live: list[str]
    """Sessions that a client has open."""
