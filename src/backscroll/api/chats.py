"""Chats, their branches and their agents."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from backscroll.api.messages import Message, Usage, message_of
from backscroll.api.rows import Item, Items
from backscroll.errors import UsageError

if TYPE_CHECKING:
    from backscroll.api.library import Library
    from backscroll.conversation.branches import Branch as OpenedBranch
    from backscroll.library import StoredChat
    from backscroll.library.opened_chat import OpenedChat


@dataclass(frozen=True, slots=True)
class PullRequest(Item):
    """A pull request that was made in a chat."""

    COLUMNS: ClassVar = ("number", "url", "repository")

    number: int | None
    url: str | None
    repository: str | None


@dataclass(frozen=True, slots=True)
class Todo(Item):
    """An item of the model's to-do list."""

    COLUMNS: ClassVar = ("text", "status")

    text: str
    status: str | None


@dataclass(frozen=True, slots=True)
class Branch(Item):
    """One path through a chat, without what it shares with the branches before it."""

    COLUMNS: ClassVar = ("number", "turns", "left_at", "leaf", "sessions")
    SHOWN: ClassVar = ("number", "turns", "left_at", "leaf")

    number: int
    """1 is the active one, which the client would resume."""
    turns: int
    left_at: str | None
    """The turn of another branch after which it begins; None if that is before the first prompt."""
    leaf: str
    """The turn that it ends with."""
    sessions: tuple[str, ...]
    """The sessions that hold its end."""


@dataclass(frozen=True, slots=True)
class Agent(Item):
    """A sub-agent: its task and its messages."""

    COLUMNS: ClassVar = (
        "id", "type", "description", "call", "parent", "models", "started", "usage", "is_stub", "is_side_copy",
    )  # fmt: skip
    SHOWN: ClassVar = ("id", "type", "description", "started", "models")

    id: str
    type: str | None
    description: str | None
    call: str | None
    """The id of the call that started it."""
    parent: str | None
    """The agent that started it; None if the chat itself did."""
    models: tuple[str, ...]
    started: datetime | None
    usage: Usage
    is_stub: bool
    """Whether it was only warmed up."""
    is_side_copy: bool
    """Whether it is a copy that the client made for itself, to sum the chat up or to answer aside."""
    _chat: "Chat" = field(repr=False, compare=False)

    def messages(self) -> Items[Message]:
        """Its messages, in order."""
        from backscroll.render.chats import message_as_json

        opened = self._chat._open()
        agent = next((agent for agent in opened.chat.agents if agent.id == self.id), None)
        said = opened.agent_messages(agent) if agent else []
        return Items(Message, (message_of(message_as_json(message), message.when, agent=self.id) for message in said))


@dataclass(frozen=True, slots=True)
class Chat(Item):
    """A conversation, over all the sessions that are part of it."""

    COLUMNS: ClassVar = (
        "id", "title", "project", "started", "last_active", "active_seconds", "message_count", "prompt_count",
        "branch_count", "agent_count", "compactions", "copies", "sessions", "leaves", "models", "versions",
        "git_branches", "tags", "files_touched", "pull_requests", "todos", "is_archived",
    )  # fmt: skip
    SHOWN: ClassVar = ("id", "title", "project", "last_active", "message_count", "models")

    id: str
    """The id of its oldest session."""
    title: str
    project: str | None
    """The folder that it was about."""
    started: datetime | None
    last_active: datetime | None
    active_seconds: int
    """How long it was worked on, without long pauses."""
    message_count: int
    prompt_count: int
    branch_count: int
    agent_count: int
    """Without those that the client started for itself."""
    compactions: int
    """How often its context was summed up."""
    copies: int
    """How many rows are in more than one session, and were folded into one."""
    sessions: tuple[str, ...]
    """The ids of its sessions, oldest first."""
    leaves: tuple[str, ...]
    """Those that are not contained in a later one, the one that was last active first."""
    models: tuple[str, ...]
    versions: tuple[str, ...]
    """Of Claude Code."""
    git_branches: tuple[str, ...]
    tags: tuple[str, ...]
    files_touched: tuple[str, ...]
    pull_requests: tuple[PullRequest, ...]
    todos: tuple[Todo, ...]
    is_archived: bool
    """Whether Claude Code has deleted it, so that it is only in the archive."""
    _library: "Library" = field(repr=False, compare=False)

    def messages(self, branch: int | None = 1) -> Items[Message]:
        """What was said on a branch, from its first prompt; None for every branch, with what they share once."""
        from backscroll.render.chats import message_as_json

        opened = self._open()
        return Items(
            Message,
            (
                message_of(message_as_json(message), message.when, branch=chosen.number)
                for chosen in _chosen(opened, branch)
                for message in opened.messages(chosen)
            ),
        )

    @property
    def branches(self) -> Items[Branch]:
        """The active branch first, then the others by where they left."""
        from backscroll.render.chats import branch_as_json

        found = [branch_as_json(branch) for branch in self._open(with_records=False).chat.branches]
        return Items(Branch, (Branch(**_values(Branch, plain)) for plain in found))

    @property
    def agents(self) -> Items[Agent]:
        """Its sub-agents, those too that the client started for itself (`is_stub`, `is_side_copy`)."""
        from backscroll.render.chats import agent_as_json

        found = [(agent_as_json(agent), agent.started) for agent in self._open(with_records=False).chat.agents]
        return Items(
            Agent,
            (
                Agent(**_values(Agent, plain) | {"started": started, "usage": Usage(**plain["usage"])}, _chat=self)
                for plain, started in found
            ),
        )

    @property
    def resume_command(self) -> list[str]:
        """The words of the command that goes on with it; NothingFound where Claude Code has deleted it."""
        from backscroll.library.chats.resume import resume_of

        library = self._library._require_open()
        return resume_of(library, library.find(self.id)).command

    def to_markdown(
        self,
        branch: int | None = 1,
        *,
        tools: Literal["full", "short", "none"] = "short",
        thinking: bool = False,
        agents: bool = False,
    ) -> str:
        """A Markdown document, the same as `backscroll show` writes into a file."""
        from backscroll.render.documents import markdown_of
        from backscroll.render.parts import PartFilter

        opened = self._open()
        return "".join(markdown_of(opened, _chosen(opened, branch), PartFilter(tools, thinking), agents=agents))

    def _open(self, *, with_records: bool = True) -> "OpenedChat":
        return self._library._opened(self.id, with_records=with_records)

    def _cell(self) -> str:
        return self.id

    def _html(self, name: str) -> str:
        from backscroll.api.html import cell

        # Seldom is more of it needed, and a notebook is narrow.
        return cell(self.id[:8]) if name == "id" else Item._html(self, name)


class Chats(Items[Chat]):
    """Some chats."""

    def __init__(self, chats: Iterable[Chat]) -> None:
        super().__init__(Chat, chats)


def chat_of(library: "Library", stored: "StoredChat") -> Chat:
    """A chat from what the library knows of it."""
    known = stored.overview
    return Chat(
        id=known.id,
        title=known.title,
        project=known.project,
        started=known.started,
        last_active=known.last_active,
        active_seconds=known.active_seconds,
        message_count=known.messages,
        prompt_count=known.prompts,
        branch_count=known.branches,
        agent_count=known.agents,
        compactions=known.compactions,
        copies=known.copies,
        sessions=tuple(known.sessions),
        leaves=tuple(known.leaves),
        models=tuple(known.models),
        versions=tuple(known.versions),
        git_branches=tuple(known.git_branches),
        tags=tuple(known.tags),
        files_touched=tuple(known.files_touched),
        pull_requests=tuple(
            PullRequest(link.pr_number, link.pr_url, link.pr_repository) for link in known.pull_requests
        ),
        todos=tuple(Todo(todo.content, todo.status) for todo in known.todos),
        is_archived=stored.archived,
        _library=library,
    )


def _chosen(opened: "OpenedChat", number: int | None) -> "list[OpenedBranch]":
    from backscroll.conversation.branch_paths import whole_branch

    branches = opened.chat.branches
    if number is None:
        return branches
    if not 1 <= number <= len(branches):
        if number == 1:
            return []  # a chat of agents only
        raise UsageError(f"there is no branch {number}", f"the branches are 1 to {len(branches)}")
    return [whole_branch(opened.chat, number)]


def _values(kind: type[Item], plain: dict[str, Any]) -> dict[str, Any]:
    """What an item takes of what `--json` says of it; lists as what does not change."""
    return {name: tuple(value) if isinstance(value := plain[name], list) else value for name in kind.COLUMNS}
